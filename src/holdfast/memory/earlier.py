"""Earlier sessions that edited the same files: for the pack of a new session, and for a prompt that names a file.

Hooks load this module: it imports nothing heavy, reads the index as it is and brings nothing up to date.
"""

from __future__ import annotations

import os

import apsw

from holdfast.clients.launcher import folder_of_user
from holdfast.clients.table import own_id, title_of
from holdfast.kernel import config
from holdfast.kernel.plain_file import read_plain, write_aside
from holdfast.kernel.text import command, literal, quoted
from holdfast.memory.hooks import INDEX, RECALL
from holdfast.session import session_files, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.kernel.workspace import Workspace

FORMAT = 1
SETTING = "memory.remind"
TITLE = "Earlier sessions here, on the same files"
# The section's letters, and those of one line of it; a prompt's reminder.
LONGEST_SECTION, LONGEST_LINE, LONGEST_REQUEST = 600, 280, 100
MOST_SESSIONS, MOST_FILES, MOST_NAMED = 3, 12, 8
# Files whose names the launcher compares with each prompt.
MOST_RECALLED, LARGEST_LIST = 100, 1 << 20
# A session is told of so many files at most.
MOST_TOLD = 6
# A file that so many sessions edited says nothing of any of them. A session is told that shares so many files, of
# which others have so few: with one file, two of three lines were about files that the new session did not touch.
TOO_MANY, FEWEST_SHARED, SHARED = 12, 2, 0.5
# Under this name the session's files keep what it was reminded of.
RECALLED = "recalled"
_AROUND = "`'\"()[]{}<>,;!?*@#"


def tell_pack(workspace: Workspace, _since: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the section about the earlier sessions that edited the files of the newest one here."""
    index = _open()
    if index is None:
        return [], []
    try:
        subject, files = _subject(workspace, index)
        if not files or not config.settings_of(workspace)[SETTING]:
            return [], []
        lines = _lines(workspace, index, files, but=(subject, own_id()))
    except apsw.Error:
        return [], []  # it is being made, or damaged: the next search sees to that
    finally:
        index.close()
    return [], [(TITLE, lines)] if lines else []


def recall_at_prompt(workspace: Workspace, session: str, prompt: str) -> str:
    """Return one line about the earlier sessions that edited a file that the prompt names, once for each file."""
    return _recall(workspace, session, files_named(prompt))


def recall_paths(workspace: Workspace, session: str, paths: Sequence[str]) -> str:
    """Return one line about the earlier sessions that edited one of these files, once for each file. The launcher asks
    for none of them again."""
    said = _recall(workspace, session, paths)
    path = os.path.join(workspace.private, RECALL)
    try:
        left = read_plain(path, LARGEST_LIST).decode().splitlines()
        names = [os.path.relpath(one, workspace.root) for one in paths]
        _write_list(path, [name for name in left if name not in names])
    except (OSError, ValueError):
        pass  # the next start writes it
    return said


def list_recalled(workspace: Workspace, session: str) -> None:
    """Write the list by which the launcher knows a prompt or an edit that Python may have a line for."""
    path = os.path.join(workspace.prepare_private(), RECALL)
    index = _open() if config.settings_of(workspace)[SETTING] else None
    names: list[str] = []
    if index is not None:
        root = workspace.root
        sql = (
            "SELECT file.path FROM file JOIN session ON session.id = file.session "
            "WHERE file.path > ? AND file.path < ? AND session.session != ? "
            "GROUP BY file.path ORDER BY max(session.ended) DESC LIMIT ?"
        )
        try:
            told = _told(workspace, session)
            most = MOST_RECALLED if len(told) < MOST_TOLD else 0
            rows = index.execute(sql, (f"{root}/", f"{root}0", session, most)).fetchall()
            found = [str(one) for (one,) in rows if one not in told]
            names = [os.path.relpath(one, root) for one in found if "\n" not in str(one)]
        except apsw.Error:
            pass  # it is being made, or damaged: the next search sees to that
        finally:
            index.close()
    _write_list(path, names)


def _write_list(path: str, names: Sequence[str]) -> None:
    """Write the list, or remove it when it is empty: the launcher looks for the file first."""
    try:
        if names:
            write_aside(path, "".join(f"{name}\n" for name in names).encode())
        elif os.path.lexists(path):
            os.unlink(path)
    except (OSError, ValueError):
        return


def _told(workspace: Workspace, session: str) -> list[str]:
    known = session_files.read(workspace, session, RECALLED).get("files")
    return [str(one) for one in known] if isinstance(known, list) else []


def _recall(workspace: Workspace, session: str, named: Sequence[str]) -> str:
    index = _open() if named and session else None
    if index is None:
        return ""
    try:
        told = _told(workspace, session)
        for name in named if len(told) < MOST_TOLD else ():
            said, path = _line_of_file(workspace, index, name, session)
            if said and path not in told and config.settings_of(workspace)[SETTING]:
                session_files.keep(workspace, session, RECALLED, {"files": [*told, path]})
                return said
    except (apsw.Error, OSError):
        return ""
    finally:
        index.close()
    return ""


def _open() -> apsw.Connection | None:
    path = os.path.join(folder_of_user(), INDEX)
    if not os.path.isfile(path):
        return None
    try:
        index = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        if index.execute("PRAGMA user_version").fetchone() == (FORMAT,):
            return index
        index.close()
    except apsw.Error:
        pass
    return None


def _subject(workspace: Workspace, index: apsw.Connection) -> tuple[str, list[str]]:
    """Return the newest session here and the files that it edited, most first."""
    for state in sessions.here(workspace) if workspace.exists() else ():
        observed: Any = state.get("observed")
        if observed and state["session"] != own_id():
            seen = observed["seen"]["files"]
            edited = sorted((-one["edits"], path) for path, one in seen.items() if one["edits"])
            return state["session"], [os.path.join(workspace.root, path) for _, path in edited]
    sql = "SELECT id, session, path FROM session WHERE cwd = ? AND session != ? ORDER BY ended DESC LIMIT 1"
    for id, session, transcript in index.execute(sql, (workspace.root, own_id())).fetchall():
        if os.path.exists(str(transcript)):
            rows = index.execute(
                "SELECT path FROM file WHERE session = ? ORDER BY edits DESC", (id,)
            )
            return str(session), [str(path) for (path,) in rows]
    return "", []


def _lines(
    workspace: Workspace, index: apsw.Connection, files: Sequence[str], *, but: Sequence[str]
) -> list[str]:
    shared: dict[int, list[str]] = {}
    worth: dict[int, float] = {}
    for path in files[:MOST_FILES]:
        with_it = [
            id for (id,) in index.execute("SELECT session FROM file WHERE path = ?", (path,))
        ]
        for id in with_it if len(with_it) <= TOO_MANY else ():
            shared.setdefault(id, []).append(path)
            worth[id] = worth.get(id, 0.0) + 1 / len(with_it)
    ids = ",".join(map(str, shared))
    rows: list[Any] = index.execute(
        f"SELECT id, client, session, request, ended FROM session WHERE id IN ({ids}) ORDER BY ended DESC"
    ).fetchall()
    rows = [
        row
        for row in rows
        if row[2] not in but and worth[row[0]] >= SHARED and len(shared[row[0]]) >= FEWEST_SHARED
    ]
    rows.sort(key=lambda row: -worth[row[0]])
    lines: list[str] = []
    for id, client, session, request, ended in rows[:MOST_SESSIONS]:
        names = [literal(os.path.relpath(path, workspace.root)) for path in shared[id]]
        edited = f"{', '.join(names[:2])}{f' and {len(names) - 2} more' if len(names) > 2 else ''}"
        about = f"{str(ended)[:10]} {title_of(client)} {str(session)[:8]}"
        said = f"- {about}: {quoted(str(request), LONGEST_REQUEST)}; edited {edited}"
        line = said + _what_it_left(workspace, str(session))
        if len(line) > LONGEST_LINE:
            line = said[:LONGEST_LINE]
        if sum(map(len, lines)) + len(lines) + len(line) <= LONGEST_SECTION - len(TITLE):
            lines.append(line)
    return lines


def _what_it_left(workspace: Workspace, session: str) -> str:
    """Return the last ruling and the last failure of a session, as far as the journal knows it."""
    state = sessions.read_or_new(workspace, session)
    observed: Any = state.get("observed")
    seen = observed["seen"] if observed else {}
    said = [
        f"; ruled {quoted(one['text'], LONGEST_REQUEST)}" for one in seen.get("rulings", [])[-1:]
    ]
    said += [f"; left failing {quoted(one['text'], 60)}" for one in seen.get("failures", [])[-1:]]
    return "".join(said)


def files_named(prompt: str) -> list[str]:
    """Return what in a prompt looks like the name of a file."""
    found = []
    for word in prompt[:20_000].split():
        name = word.strip(_AROUND).rstrip(".:").partition(":")[0].strip(_AROUND)
        end = name.rpartition("/")[2].rpartition(".")[2]
        if "." in name[:-1] and 0 < len(end) <= 5 and end.isalnum() and "//" not in name:
            found.append(name.removeprefix("./"))
    return list(dict.fromkeys(found))[:MOST_NAMED]


def _line_of_file(
    workspace: Workspace, index: apsw.Connection, name: str, session: str
) -> tuple[str, str]:
    """Return the line about a file, and its path; empty where no other session edited it, or it may be several."""
    root = workspace.root
    tail = name.replace("~", "~~").replace("%", "~%").replace("_", "~_")
    sql = "SELECT DISTINCT path FROM file WHERE path > ? AND path < ? AND (path = ? OR path LIKE ? ESCAPE '~')"
    whole = os.path.normpath(os.path.join(root, name))
    found = [
        str(path) for (path,) in index.execute(sql, (f"{root}/", f"{root}0", whole, f"%/{tail}"))
    ]
    path = whole if whole in found else found[0] if len(found) == 1 else ""
    if not path:
        return "", ""
    rows: list[Any] = index.execute(
        "SELECT session.client, session.request, session.ended FROM file JOIN session ON session.id = file.session "
        "WHERE file.path = ? AND session.session != ? ORDER BY session.ended DESC",
        (path, session),
    ).fetchall()
    if not rows:
        return "", path
    client, request, ended = rows[0]
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    shown = os.path.relpath(path, root)
    return (
        f"Holdfast: an earlier session edited {literal(shown)}: {str(ended)[:10]} {title_of(client)}, "
        f"{quoted(str(request), LONGEST_REQUEST)}{more}. `{command('why', shown)}` tells what was ruled and checked."
    ), path
