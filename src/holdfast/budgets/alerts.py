"""Alerts that wait for a person, beside the latch: a hook denies tools by them without the journal.

The journal has the alerts too; these files only tell hooks to deny tools.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json, latch
from holdfast.kernel.digest import id_of
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.stops import find_own_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from holdfast.kernel.workspace import Workspace

LARGEST_ALERT = 65536
FOLDER = "alerts"
# An alert without a known session holds every session.
EVERY_SESSION = ""


def keep(
    workspace: Workspace, session: str, waiting: Mapping[str, str], unknown: Collection[str] = ()
) -> None:
    """Replace the alerts that hold a session: each type, and the words for it. An alert of a type whose
    value is `unknown` stays."""
    path = _path(workspace, session)
    before = {type: words for type, words in _read(path).items() if type and type in unknown}
    waiting = {**before, **waiting}
    if waiting:
        _write(workspace, path, waiting)
        return
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def is_waiting(workspace: Workspace, session: str, type: str) -> bool:
    """Whether the alert of a type holds a session; a file that cannot be understood still holds."""
    found = _read(_path(workspace, session))
    return type in found or "" in found


def add(workspace: Workspace, session: str, type: str, words: str) -> None:
    """Let the alert of a type hold a session, besides those that hold it."""
    path = _path(workspace, session)
    _write(workspace, path, {**_read(path), type: words})


def read(workspace: Workspace, session: str) -> dict[str, str]:
    """The alerts that hold a session, those of the repository's own home included. A file that cannot be
    understood still holds."""
    found: dict[str, str] = {}
    own = find_own_home(workspace)
    for each in (own, workspace) if own is not None else (workspace,):
        for name in dict.fromkeys((EVERY_SESSION, session)):
            found.update(_read(_path(each, name)))
    return found


def are_waiting(workspace: Workspace) -> bool:
    """Whether an alert holds any session."""
    own = find_own_home(workspace)
    return bool(_files(workspace) or (own is not None and _files(own)))


def types(workspace: Workspace) -> set[str]:
    """The types of all alerts that wait for a person, in any session."""
    return {type for path in _files(workspace) for type in _read(path) if type}


def settle(workspace: Workspace, type: str) -> None:
    """A person acknowledged this type, for every session."""
    for path in _files(workspace):
        left = {name: words for name, words in _read(path).items() if name != type}
        if left:
            write_synced(path, canonical_json.dumps(left).encode())
        else:
            os.unlink(path)


def clear(workspace: Workspace) -> None:
    for path in _files(workspace):
        os.unlink(path)


def _path(workspace: Workspace, session: str) -> str:
    name = id_of(session.encode("utf-8", "replace").decode()) if session else "anybody"
    return os.path.join(workspace.home, FOLDER, f"{name}.json")


def _write(workspace: Workspace, path: str, waiting: Mapping[str, str]) -> None:
    folder = os.path.dirname(path)
    if os.path.islink(folder) or not os.path.isdir(folder):
        try:
            os.unlink(folder)  # a program put something else in its place
        except FileNotFoundError:
            pass
    os.makedirs(folder, 0o700, exist_ok=True)
    write_synced(path, canonical_json.dumps(waiting).encode())
    latch.disturb(workspace)


def _files(workspace: Workspace) -> list[str]:
    folder = os.path.join(workspace.home, FOLDER)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith(".json")]


def _read(path: str) -> dict[str, str]:
    try:
        text = read_plain(path, LARGEST_ALERT).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        return {"": f"an alert that cannot be read: {error.strerror}"}
    try:
        value = canonical_json.loads(text)
        return {str(type): str(words) for type, words in value.items()}
    except (ValueError, AttributeError):
        return {"": "an alert whose text is damaged"}
