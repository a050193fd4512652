"""Pictures that an agent attaches to a gate: what it saw, for the person who answers.

The record names them by their digest. The bytes lie in a folder of the gate, in the workspace's home; where
an agent may not write there, in its own worktree. What is read is what was recorded, or nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence

from holdfast.gates import lookup
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules import picture as picture_rules
from holdfast.gates.rules.gate import GateState, withdrawn_of
from holdfast.gates.rules.picture import Picture
from holdfast.kernel import clock
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError, NotFound, Usage, from_os_error
from holdfast.kernel.plain_file import open_plain, write_synced
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.workspace import TOOL_FOLDER, Workspace, worktrees

FOLDER = "pictures"
# So long may what belongs to no gate belong to one that is just being asked.
LEFTOVER_AGE = clock.DAY


def load(paths: Sequence[str]) -> list[tuple[Picture, bytes]]:
    """The pictures in these files, each once; Usage for what is none, too large, or too many."""
    found: dict[str, tuple[Picture, bytes]] = {}
    for path in paths:
        content = _content_of(path)
        type = picture_rules.type_of(content)
        if type is None:
            raise Usage(
                f"{path} is no picture that can be attached.",
                hint="PNG, JPEG, WebP or GIF, as its bytes say; not SVG, not HTML.",
            )
        if picture_rules.points_of(content) > picture_rules.MOST_POINTS:
            raise Usage(
                f"{path} has more points than a browser shows.",
                hint=f"At most {picture_rules.MOST_POINTS // 1_000_000} million; make it smaller.",
            )
        known = digest(content).hex()
        name = picture_rules.shorten(os.path.basename(path))
        picture: Picture = {"name": name, "type": type, "digest": known, "bytes": len(content)}
        found.setdefault(known, (picture, content))
        if len(found) > picture_rules.MOST:
            raise Usage(
                "These pictures are too many.", hint=f"A gate has at most {picture_rules.MOST}."
            )
    return list(found.values())


def keep(workspace: Workspace, id: str, pictures: Sequence[tuple[Picture, bytes]]) -> None:
    """Keep them for a gate. Before its record, so that no record names what is not there."""
    if not pictures:
        return
    try:
        try:
            _write(os.path.join(workspace.home, FOLDER, id), pictures)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            # Beside the inbox, in which the gate itself waits then.
            workspace.prepare_tool_folder(FOLDER)
            for picture, content in pictures:
                name = f"{TOOL_FOLDER}/{FOLDER}/{id}/{picture_rules.file_of(picture)}"
                TreeFile(workspace.root, name, is_strict=True).write(content, 0o600)
    except OSError as error:
        raise from_os_error(error, "keeping the gate's pictures") from error


def _write(folder: str, pictures: Sequence[tuple[Picture, bytes]]) -> None:
    os.makedirs(folder, 0o700, exist_ok=True)
    for picture, content in pictures:
        write_synced(os.path.join(folder, picture_rules.file_of(picture)), content)


def path_of(workspace: Workspace, state: GateState, picture: Picture) -> str:
    """Where a picture of a gate lies on this machine; nothing where it does not."""
    for home in (workspace.home, os.path.join(state["asked"]["worktree"], TOOL_FOLDER)):
        path = os.path.join(home, FOLDER, state["id"], picture_rules.file_of(picture))
        if os.path.isfile(path) and not os.path.islink(path):
            return path
    return ""


def read(workspace: Workspace, state: GateState, wanted: str) -> tuple[Picture, bytes]:
    """A picture and its bytes, exactly as they were attached."""
    known = [one for one in rules.pictures_of(state) if one["digest"] == wanted]
    path = path_of(workspace, state, known[0]) if known else ""
    if not path:
        raise NotFound(
            "This picture is not here.",
            hint="It was attached on another machine, or removed with `gc` or `purge`.",
        )
    content = _content_of(path)
    # An agent can write its worktree: what it puts there later is not what was asked with.
    if digest(content).hex() != wanted or picture_rules.type_of(content) != known[0]["type"]:
        raise NotFound("This picture is not what was attached.", hint="Its file was changed since.")
    return known[0], content


def remove_old(workspace: Workspace, before: int, now: int) -> int:
    """Remove the pictures of gates that were answered before an instant, and of those that are no
    gates; how many that were."""
    removed = 0
    for id, folder in _folders(workspace):
        if not _is_over(workspace, id, folder, before, now):
            continue
        for path in _pictures_in(folder):
            os.unlink(path)
            removed += 1
        if not os.listdir(folder):
            os.rmdir(folder)
    return removed


def find(workspace: Workspace, streams: Sequence[str], text: str) -> list[str]:
    """Return the pictures of these gates: what has to go from a gate's text may be in its pictures."""
    return [
        path
        for id, folder in _folders(workspace)
        if f"gate:{id}" in streams
        for path in _pictures_in(folder)
    ]


def _is_over(workspace: Workspace, id: str, folder: str, before: int, now: int) -> bool:
    try:
        state = lookup.read(workspace, id)
    except NotFound:
        return os.stat(folder).st_mtime * 1000 < now - LEFTOVER_AGE
    except HoldfastError:
        return False
    end = state["answer"] or withdrawn_of(state)
    return end is not None and clock.parse(end["at"]) < before


def _folders(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Gates with pictures on this machine, and where they lie."""
    homes = [workspace.home]
    homes += [os.path.join(root, TOOL_FOLDER) for root in worktrees(workspace)]
    for home in dict.fromkeys(homes):
        top = os.path.join(home, FOLDER)
        for id in sorted(os.listdir(top)) if _is_folder(top) else []:
            folder = os.path.join(top, id)
            if _is_folder(folder):
                yield id, folder


def _pictures_in(folder: str) -> list[str]:
    """Nothing else: an agent can put a link in the place of its folder, and we remove what we find."""
    names = sorted(os.listdir(folder))
    known = [name for name in names if picture_rules.is_digest(name.partition(".")[0])]
    return [os.path.join(folder, name) for name in known]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _content_of(path: str) -> bytes:
    """Never a pipe or a device, of which the end might not come, and never more than is allowed."""
    try:
        descriptor = open_plain(path, follow=True)
    except (OSError, ValueError) as error:
        raise Usage(f"{path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(picture_rules.LARGEST + 1)
    if len(content) > picture_rules.LARGEST:
        raise Usage(
            f"{path} is larger than {picture_rules.LARGEST // 1_000_000} MB.",
            hint="A picture of the part that matters is easier to judge, too.",
        )
    return content
