"""Which files of a worktree git tracks, read from its index without a git process.

A file that came with a repository is tracked. What the inbox holds of such files is no agent's word.
"""

from __future__ import annotations

import os

from holdfast.kernel.plain_file import read_plain

LARGEST = 1 << 28
_HEADER = 12
# Times, device, inode, mode, owner and size of an entry; its object id and flags follow.
_STATUS = 40


def tracked_below(root: str, folder: str) -> set[str]:
    """Return the paths below a folder that git tracks, from the root on; none outside of git. A disk may not tell
    small letters from capital ones: a folder that git knows as `.Holdfast` is `.holdfast`, too."""
    top = _find_top(root)
    inside = os.path.relpath(root, top) if top else "."
    prefix = os.fsencode(folder if inside == "." else f"{inside}/{folder}") + b"/"
    return {
        f"{folder}/{os.fsdecode(name[len(prefix) :])}"
        for _, name in _entries_in(_read_index(top), prefix)
        if name[: len(prefix)].lower() == prefix.lower()
    }


def is_tracked(root: str, path: str) -> bool:
    """Return whether git tracks a file, named from the root on."""
    folder, _, name = path.rpartition("/")
    if folder:
        return any(each.lower() == path.lower() for each in tracked_below(root, folder))
    top = _find_top(root)
    inside = os.path.relpath(root, top) if top else "."
    wanted = os.fsencode(name if inside == "." else f"{inside}/{name}").lower()
    return any(name.lower() == wanted for _, name in _entries_in(_read_index(top), wanted))


def is_from_git(root: str, path: str) -> bool:
    """Return whether a file is as git wrote it into the work tree, by time, inode and size."""
    top = _find_top(root)
    try:
        status = os.lstat(os.path.join(root, path))
    except OSError:
        return False
    name = os.fsencode(os.path.relpath(os.path.join(root, path), top)) if top else b""
    seconds, rest = divmod(status.st_mtime_ns, 10**9)
    known = [seconds, rest, status.st_dev, status.st_ino, status.st_size]
    for entry in _entries_in(_read_index(top), name):
        numbers = [int.from_bytes(entry[0][at : at + 4], "big") for at in (8, 12, 16, 20, 36)]
        if entry[1] == name and numbers == [number & 0xFFFFFFFF for number in known]:
            return True
    return False


def _entries_in(content: bytes, part: bytes) -> list[tuple[bytes, bytes]]:
    """Return status and name of each entry of an index; none where no name can hold the part."""
    if content[:4] != b"DIRC":
        return []
    version = int.from_bytes(content[4:8], "big")
    if version < 4 and part.lower() not in content.lower():
        return []
    for length in (20, 32):  # SHA-1, SHA-256
        try:
            return _entries(content, version, length)
        except (IndexError, ValueError):
            continue
    return []


def _find_top(root: str) -> str:
    """Return the folder at or above the root that has a `.git`; empty outside of git."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
    return folder


def _read_index(top: str) -> bytes:
    if not top:
        return b""
    entry = os.path.join(top, ".git")
    try:
        if os.path.isfile(entry):
            pointer = os.fsdecode(read_plain(entry, 4096)).strip().removeprefix("gitdir: ")
            entry = os.path.join(top, pointer)
        return read_plain(os.path.join(entry, "index"), LARGEST)
    except OSError:
        return b""


def _entries(content: bytes, version: int, id_length: int) -> list[tuple[bytes, bytes]]:
    """Status and name of all entries, in the three formats that git writes."""
    count = int.from_bytes(content[8:12], "big")
    at, name, entries = _HEADER, b"", []
    for _ in range(count):
        start = at
        at += _STATUS + id_length
        flags = int.from_bytes(content[at : at + 2], "big")
        at += 4 if version >= 3 and flags & 0x4000 else 2
        if version >= 4:
            # A name begins as the one before it, without so many of its last bytes.
            dropped, at = _number(content, at)
            end = content.index(b"\0", at)
            name = name[: len(name) - dropped] + content[at:end]
            at = end + 1
        else:
            end = content.index(b"\0", at)
            name = content[at:end]
            at = start + (end - start + 8) // 8 * 8
        if flags & 0xFFF != min(len(name), 0xFFF):
            raise ValueError("the length of a name is another one")
        entries.append((content[start : start + _STATUS], name))
    return entries


def _number(content: bytes, at: int) -> tuple[int, int]:
    byte = content[at]
    value = byte & 0x7F
    at += 1
    while byte & 0x80:
        byte = content[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
        at += 1
    return value, at
