"""One file of a client's settings: with what is ours, without it, and as it was before.

What a file was is kept in the workspace's home. As long as no other program touched the file since, taking ours
out puts those bytes back; otherwise the pieces that were put in are taken out, and nothing else. Without the pieces, files
of five clients that their user had edited since did not come back byte for byte.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any, Literal, Protocol, TypedDict

from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError, from_os_error
from holdfast.kernel.plain_file import modified_at, read_plain, write_synced
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.workspace import Workspace, worktrees

Status = Literal["installed", "already", "left", "removed", "restored", "absent"]


class Put(TypedDict):
    """The text of a file with our entries, the entries that were added, and notes on those that were
    not."""

    text: str
    pieces: list[str]
    notes: list[str]


class Part(Protocol):
    """What we want of one file, and how its format takes it."""

    @property
    def path(self) -> str: ...

    def put(self, text: str) -> Put:
        """Idempotent; HoldfastError when the file is not what it should be."""
        ...

    def has_ours(self, text: str) -> bool: ...

    def take(self, text: str) -> str:
        """Without ours, wherever it stands; the same text when nothing of ours is there."""
        ...

    def programs(self, text: str) -> list[str]:
        """What the commands of ours in it start, and the scripts that they give it."""
        ...


class KeptFile(TypedDict):
    """What a file was, and what we made of it. `created`: it was not there before the first time,
    nor were so many of the folders around it."""

    original: str
    installed: str
    pieces: list[str]
    created: bool
    folders: int


class SettingsChange(TypedDict):
    """What is to be done to a file. None: it is not there. `kept` is what to remember of it."""

    path: str
    status: Status
    before: str | None
    after: str | None
    kept: KeptFile | None
    notes: list[str]


def plan_install(workspace: Workspace, part: Part) -> SettingsChange:
    """Put in what is missing; everything else in the file stays."""
    path = _inside(workspace, part.path)
    if not path:
        real = os.path.realpath(part.path)
        raise HoldfastError(
            f"{part.path} is a link to {real}, outside of the project. Nothing was written.",
            hint="If the link is yours, put holdfast into that file by hand; else remove the link.",
            kind="linked_settings",
        )
    before = _read_inside(workspace, path)
    put = part.put(before or "")
    change: SettingsChange = {
        "path": path,
        "status": "already",
        "before": before,
        "after": put["text"],
        "kept": None,
        "notes": put["notes"],
    }
    if put["text"] == (before or ""):
        is_ours = part.take(put["text"]) != put["text"]
        return {**change, "status": "already" if is_ours else "left"}
    return {**change, "status": "installed", "kept": _to_keep(workspace, part, path, before, put)}


def _inside(workspace: Workspace, named: str) -> str:
    """Return where a file of the project really is; empty where a link leads out of it, which a repository can
    hold: to a file of the user's, or to one of git's own."""
    path = os.path.realpath(named)
    try:
        return path if _file_at(workspace, path) else ""
    except HoldfastError:
        return ""


def _file_at(workspace: Workspace, path: str) -> TreeFile | None:
    """Return the file of a real path, to be reached from the root of its worktree; None outside of them."""
    for root in worktrees(workspace):
        top = os.path.realpath(root)
        if path.startswith(f"{top}/"):
            return TreeFile(top, path[len(top) + 1 :], is_strict=True)
    return None


def _read_inside(workspace: Workspace, path: str) -> str | None:
    """Return the text of a file of the project; None where there is none."""
    file = _file_at(workspace, path)
    try:
        return _text(file.read()) if file else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise from_os_error(error, f"reading {path}") from error


def _to_keep(workspace: Workspace, part: Part, path: str, before: str | None, put: Put) -> KeptFile:
    known = _kept(workspace, path)
    if known is not None and known["installed"] == before:
        original = known["original"]
    else:
        # Edited since, or installed by another copy of holdfast: without ours is the best to be given back.
        original = part.take(before or "")
    # A file that we made stays one that we made, however often it is edited and installed again.
    made = known if known is not None and before is not None else None
    return {
        "original": original,
        "installed": put["text"],
        "pieces": put["pieces"],
        # Also one in which there is nothing but ours, though no record says who made it.
        "created": made["created"] if made else before is None or bool(before and not original),
        "folders": made["folders"] if made else _missing_folders(path),
    }


def plan_uninstall(workspace: Workspace, part: Part) -> SettingsChange:
    """Put the file back as it was; when another program changed it since, only ours is taken out."""
    path = _inside(workspace, part.path)
    # Behind a link out of the project stands nothing that `init` put there.
    present = _read_inside(workspace, path) if path else None
    kept = _kept(workspace, path) if path else None
    change: SettingsChange = {
        "path": path or part.path,
        "status": "absent",
        "before": present,
        "after": present,
        "kept": kept,
        "notes": [],
    }
    if present is None:
        return change
    untouched = kept is not None and kept["installed"] == present
    without = kept["original"] if kept and untouched else _without(part, present, kept)
    if not untouched and without == present:
        return change
    if _is_empty(without) and (kept["created"] if kept else not without):
        return {**change, "status": "restored", "after": None}
    return {**change, "status": "restored" if untouched else "removed", "after": without}


def _without(part: Part, present: str, kept: KeptFile | None) -> str:
    """The very pieces, where they still stand as they were put in; else whatever is ours."""
    text = present
    # The last one first: a later piece may stand inside an earlier one.
    for piece in reversed(kept["pieces"]) if kept is not None else ():
        if text.count(piece) != 1:
            return part.take(present)
        text = text.replace(piece, "")
    try:
        if part.take(text) == text:
            return text
    except HoldfastError:
        pass  # what others wrote around a piece of ours needs another comma
    return part.take(present)


def _is_empty(text: str) -> bool:
    return "".join(text.strip("\ufeff").split()) in ("", "{}")


def is_outdated(workspace: Workspace, change: SettingsChange) -> bool:
    """Whether its file is another one by now: another program wrote it, or two clients' files are one."""
    path = change["path"]
    return _inside(workspace, path) != path or _read_inside(workspace, path) != change["before"]


def carry_out(workspace: Workspace, change: SettingsChange) -> None:
    path, status = change["path"], change["status"]
    if status in ("already", "left"):
        return
    kept, after, file = change["kept"], change["after"], _file_at(workspace, path)
    if file is None:
        return
    if status == "installed" and kept is not None:
        # Before the file: after a crash in between it is still known how to take ours out.
        _keep(workspace, path, kept)
    try:
        if after is None:
            if change["before"] is not None:
                _remove(file, kept["folders"] if kept else 0)
        elif after != change["before"]:
            found = file.status()
            mode = stat.S_IMODE(found.st_mode) if found else 0o644
            file.write(after.encode(errors="surrogateescape"), mode)
    except OSError as error:
        raise from_os_error(error, f"writing {path}") from error
    if status != "installed" and kept is not None:
        change["notes"] += forget(workspace, path)


def _keep(workspace: Workspace, path: str, kept: KeptFile) -> None:
    record = _record(workspace, path)
    try:
        os.makedirs(os.path.dirname(record), 0o700, exist_ok=True)
        write_synced(record, json.dumps(kept).encode())
    except OSError as error:
        raise from_os_error(error, f"writing {record}") from error


def forget(workspace: Workspace, path: str) -> list[str]:
    """Drop what is kept of a file. What cannot be dropped does no harm: the client's file is as it should be."""
    record = _record(workspace, path)
    try:
        os.unlink(record)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"{record} is of no more use, and stays: {error.strerror}."]
    return []


def _remove(file: TreeFile, folders: int) -> None:
    file.remove()
    parts = file.path.split("/")[:-1]
    while parts and folders > 0:
        # One that another program put something into stays.
        TreeFile(file.root, "/".join(parts), is_strict=True).remove_folder()
        parts, folders = parts[:-1], folders - 1


def _missing_folders(path: str) -> int:
    """How many folders have to be made for a file."""
    count, folder = 0, os.path.dirname(path)
    while not os.path.isdir(folder):
        count, folder = count + 1, os.path.dirname(folder)
    return count


def _record(workspace: Workspace, path: str) -> str:
    # By the way from the workspace's home: a repository that is moved or copied takes that along.
    way = os.path.relpath(path, os.path.realpath(workspace.home))
    return os.path.join(folder_of(workspace), f"{id_of(way)}.json")


def folder_of(workspace: Workspace) -> str:
    """Where it is kept what files were."""
    return os.path.join(workspace.home, "clients")


def drop_empty_folder(workspace: Workspace) -> None:
    """After `uninstall`, in a workspace that recorded nothing, leave no empty folder."""
    for folder in (folder_of(workspace), workspace.home):
        try:
            os.rmdir(folder)
        except OSError:
            return  # something is in it, or it was never made


def kept_at(workspace: Workspace, path: str) -> int:
    """When ours was last put into a file, in milliseconds; 0 when that is not known."""
    return modified_at(_record(workspace, os.path.realpath(path)))


def has_ours(part: Part, *, if_unreadable: bool) -> bool:
    """Whether something of ours is in a part's file."""
    try:
        text = read(os.path.realpath(part.path))
        return text is not None and part.has_ours(text)
    except HoldfastError:
        return if_unreadable


def is_created(workspace: Workspace, path: str) -> bool:
    """Whether `init` made a file."""
    kept = _kept(workspace, os.path.realpath(path))
    return kept is not None and kept["created"]


def _kept(workspace: Workspace, path: str) -> KeptFile | None:
    try:
        value: Any = json.loads(read_plain(_record(workspace, path)))
        return {
            "original": str(value["original"]),
            "installed": str(value["installed"]),
            "pieces": [str(piece) for piece in value["pieces"]],
            "created": bool(value["created"]),
            "folders": int(value["folders"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read(path: str) -> str | None:
    try:
        content = read_plain(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os_error(error, f"reading {path}") from error
    return _text(content)


def _text(content: bytes) -> str:
    return content.decode(errors="surrogateescape")


def not_settings(path: str, why: str) -> HoldfastError:
    return HoldfastError(
        f"{path} {why}.", hint="Correct it first; nothing was changed.", kind="bad_settings"
    )
