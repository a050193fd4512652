"""The edits of a session that the work tree lacks: show them as a diff, and make them again on demand.

A client's transcript holds each edit word for word. The edits are made again on the version of the file
that git had when the session first edited it; what comes out is merged with the work tree as it is now.
So an edit that is there already, or was committed, changes nothing, and what changed since is never
overwritten. Nothing of this is stored, and no path outside of the work tree is touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypedDict

from holdfast.clients import transcripts
from holdfast.clients.claude.sessions import of_path as claude_files
from holdfast.clients.claude.transcript import read_sidechains
from holdfast.clients.conversation import SessionEvent
from holdfast.clients.discovery import sessions_in
from holdfast.clients.kept import size_when_kept
from holdfast.clients.lines import NewLines, Unread
from holdfast.clients.table import own_id, title_of, titles
from holdfast.git import snapshot
from holdfast.git.repository import GitError, locate
from holdfast.git.run import run
from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.patterns import compile_later
from holdfast.kernel.redact import Redactor
from holdfast.kernel.tree_file import is_git_name
from holdfast.kernel.workspace import Workspace
from holdfast.observe.fold import observe
from holdfast.session import sessions
from holdfast.session.edit_replay import EditState, ReplayedFile, file_at, read_text, work_out
from holdfast.session.rules.replay import EditProblem, SessionEdit, diff_of, undone_by
from holdfast.session.session_choice import found_at
from holdfast.session.world import is_own

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession
    from holdfast.observe.model import Observation


MOST_FILES = 200
# Settings of clients that Holdfast does not write itself.
CLIENT_SETTINGS = (".claude/settings.json",)
# Settings that start programs and are not hidden, by how their names end.
VISIBLE_SETTINGS = (".code-workspace", "opencode.json", "opencode.jsonc")
# So many sessions are looked through for one that edited files.
MOST_SESSIONS = 8
# A resume compares at most so much, to answer at once; `holdfast edits` has no such limits.
LARGEST_COMPARED = 16 << 20
MOST_CALLS_COMPARED = 5000
MOST_COMPARED = 40
# What makes a file come and go, and commands that do.
_MOVES_FILES = frozenset(("place", "edit", "read", "run", "result"))
_REMOVES = compile_later(r"\b(?:rm|mv) ")
UNKNOWN_END = "the transcript does not say that it succeeded"


class EditsRequest(TypedDict, total=False):
    """Which edits. Without `session` and `transcript`: the newest session here that edited files.
    `files` are paths; a folder means all files in it. Without any: all. A file that can hold settings
    which start programs is written only if it is named itself."""

    session: str
    transcript: str
    files: Sequence[str]


class EditedFile(TypedDict):
    """A file that the session edited. `why` explains a conflict; `problems` are single edits that could
    not be made again; `diff` leads from the work tree to the file with the edits, without secrets."""

    path: str
    state: EditState
    edits: int
    why: str
    problems: list[EditProblem]
    diff: str
    is_redacted: bool


class SessionEdits(TypedDict):
    """The edits of a session, file by file."""

    session: str
    client: str
    transcript: str
    modified: int
    files: list[EditedFile]


class AppliedEdits(SessionEdits):
    """The same, after what was missing has been written. `before` is the snapshot that undoes it."""

    written: list[str]
    before: str


def show_edits(
    workspace: Workspace | None, folder: str, request: EditsRequest, *, now: int
) -> SessionEdits:
    """What the work tree lacks of a session's edits. Nothing is written."""
    found, files = _look(workspace, folder, request)
    return _describe(workspace, found, files)


def apply_edits(
    workspace: Workspace | None, folder: str, request: EditsRequest, *, now: int
) -> AppliedEdits:
    """Write the edits that are missing, after a snapshot of the work tree: restore it to undo them."""
    found, files = _look(workspace, folder, request)
    told = _describe(workspace, found, files)
    top = _top(folder)
    if top is None:
        raise HoldfastError(
            "This folder is in no git repository, so there would be no way back.",
            hint="`holdfast edits` prints the edits as a diff.",
            kind="no_repository",
        )
    missing = [file for file in files if file.state == "missing"]
    if not missing:
        return {**told, "written": [], "before": ""}
    before = snapshot.create(top, session=found["session"], now=now)
    held = set(snapshot.names(top, before["tree"]))
    written = []
    for file, shown in zip(files, told["files"], strict=True):
        if file.state != "missing":
            continue
        problem = _write(top, file, held)
        if problem:
            shown["state"], shown["why"] = "conflict", problem
        else:
            written.append(file.path)
    return {**told, "written": written, "before": before["id"]}


class ComparedEdits(TypedDict):
    """The files that lack edits of a session, and whether each file has all of them."""

    lacking: list[str]
    has_all: bool


def compare_edits(
    workspace: Workspace, found: FoundSession, seen: Observation, *, named: bool = False
) -> ComparedEdits | None:
    """Compare the work tree with a session's edits, for the verdict of a resume; None where that would take
    too long, or cannot be done. `named`: the transcript may be of another clone."""
    try:
        size = 0 if found["client"] == "opencode" else _size_of(found)
        if size > LARGEST_COMPARED or seen["calls"] > MOST_CALLS_COMPARED:
            return None
        top = _top(workspace.root)
        root = top or workspace.root
        files = _gather(found, read_all(found), root, named=named)
        if len(files) > MOST_COMPARED:
            return None
        work_out(files, top, root)
    except (HoldfastError, OSError):
        return None
    return {
        "lacking": [file.path for file in files if _is_lacking(file)],
        "has_all": all(file.state in ("present", "removed") for file in files),
    }


def _size_of(found: FoundSession) -> int:
    if not os.path.exists(found["path"]):
        return size_when_kept(found)
    sources = claude_files(found["path"]) if found["client"] == "claude" else [found]
    return sum(os.stat(source["path"]).st_size for source in sources)


def _is_lacking(file: ReplayedFile) -> bool:
    """Whether edits are missing that the session did not take back itself. A file that is as git had it
    before has none of them, even if they cannot be made again."""
    if file.is_undone:
        return False
    if file.state in ("missing", "guarded"):
        return True
    is_as_before = file.is_base_known and bool(file.states) and file.present == file.base
    return file.state == "conflict" and is_as_before


# Which session


def _look(
    workspace: Workspace | None, folder: str, request: EditsRequest
) -> tuple[FoundSession, list[ReplayedFile]]:
    top, root = _top(folder), root_of(folder)
    found, events = _choose(workspace, folder, request)
    # A transcript that was named may be of another clone of the repository.
    named = bool(request.get("transcript"))
    files = _gather(found, events, root, named=named)
    wanted = [_from_root(os.path.join(folder, one), root) for one in request.get("files") or ()]
    if wanted:
        files = [one for one in files if any(_is_below(one.path, each) for each in wanted)]
        if not files:
            raise NotFound(
                f"Session {found['session'][:12]} edited none of these: {', '.join(wanted)}.",
                hint="`holdfast edits` lists what it edited.",
            )
    if len(files) > MOST_FILES:
        raise HoldfastError(
            f"The session edited {len(files)} files; at most {MOST_FILES} are compared at once.",
            hint="Name files or folders: holdfast edits src",
        )
    hooks = _hooks_folders(top)
    for file in files:
        file.guard = "" if file.path in wanted else _guard(file.path, hooks)
    work_out(files, top, root)
    return found, files


def _choose(
    workspace: Workspace | None, folder: str, request: EditsRequest
) -> tuple[FoundSession, list[SessionEvent]]:
    """The session that is meant, and everything that happened in it."""
    if request.get("transcript"):
        found = found_at(request["transcript"])
        return found, read_all(found)
    if workspace is not None and not sessions.reads_transcripts(workspace):
        raise NotFound(
            "Transcripts are not read here: `session.observe` is false.",
            hint="`holdfast edits --transcript FILE` reads one.",
        )
    wanted = request.get("session", "")
    here = sessions_in(workspace.root if workspace else folder)
    own = own_id() if not wanted else ""
    matching = [one for one in here if one["session"].startswith(wanted) and one["session"] != own]
    for found in matching[: 1 if wanted else MOST_SESSIONS]:
        events = read_all(found)
        if wanted or any(event.kind == "edit" for event in events):
            return found, events
    what = f"There is no transcript of a session {wanted} here." if wanted else ""
    hint = (
        "`holdfast resume --list` shows the sessions of this folder."
        if here
        else "No session worked in this folder. `holdfast edits --transcript FILE` reads one of elsewhere."
    )
    raise NotFound(what or f"No session of {titles()} edited files here.", hint=hint)


def read_all(found: FoundSession) -> list[SessionEvent]:
    """All that happened in a session, with the edits and commands of its subagents."""
    try:
        events = transcripts.read_new(found, whole=True)["events"]
        return _in_order(events, *read_subagents(found))
    except Unread as error:
        raise NotFound(
            f"The transcript of session {found['session'][:12]} of {title_of(found['client'])} {error}.",
            hint=f"It was {found['path']}.",
        ) from error


def read_subagents(found: FoundSession) -> list[list[SessionEvent]]:
    """Return the edits and commands of a session's subagents, from each file that the client writes for them."""
    if found["client"] != "claude" or not os.path.exists(found["path"]):
        return []
    files = [NewLines(source["path"], None) for source in claude_files(found["path"])]
    return [*map(read_sidechains, files)]


def _in_order(*parts: Sequence[SessionEvent]) -> list[SessionEvent]:
    """The events of several files by their time; one without a time stays behind the one before it."""
    if len(parts) == 1:
        return list(parts[0])
    timed = [
        pair
        for events in parts
        for pair in zip(accumulate((one.at for one in events), max), events, strict=True)
    ]
    return [event for _, event in sorted(timed, key=lambda one: one[0])]


# What it edited


def _gather(
    found: FoundSession, events: Iterable[SessionEvent], root: str, *, named: bool
) -> list[ReplayedFile]:
    """The edits of each file, in their order. One that failed or was refused is none."""
    events = list(events)
    ends = {event.id: event.failed for event in events if event.kind == "result"}
    wholes = {event.id: event.exact for event in events if event.kind == "result" and event.exact}
    files: dict[str, ReplayedFile] = {}
    places = (event.path for event in events if event.kind == "place")
    folder, number = found["cwd"] or next(places, ""), 0
    # Where the session worked counts as the root of this work tree, if its transcript was named.
    start = folder if named else ""
    for event in events:
        if event.kind == "place":
            folder = event.path
        if event.kind == "run" and not ends.get(event.id):
            undone = [_from_root(one, root, start) for one in undone_by(event.text, folder)]
            for file in files.values():
                file.is_undone |= any(_is_below(file.path, one) for one in undone)
        if event.kind != "edit":
            continue
        number += 1
        if event.id in ends and ends[event.id] is not False:
            continue
        path = _from_root(os.path.join(folder, event.path), root, start)
        file = files.setdefault(path, ReplayedFile(path))
        edit: SessionEdit = {
            "number": number,
            "at": event.at,
            "path": path,
            "origin": "",
            "change": event.change,
            "exact": wholes.get(event.id, event.exact),
        }
        if event.about:
            edit["origin"] = _from_root(os.path.join(folder, event.about), root, start)
        file.edits.append(edit)
        file.is_undone = False
        if event.id not in ends:
            file.misfits.append((edit, UNKNOWN_END))
    removed = _removed_by_commands(events, root, start)
    for file in files.values():
        file.why = _refusal(file.path, root)
        if file.why:
            file.state = "elsewhere"
        elif file.path in removed and file.edits[-1]["change"] != "deleted":
            file.state, file.why = "removed", "the session removed it later"
    return list(files.values())


def _removed_by_commands(events: Iterable[SessionEvent], root: str, start: str) -> set[str]:
    """The files that the session edited and that one of its commands removed since. What was said, changed and
    printed matters nothing here, and takes most of the time."""
    events = [event for event in events if event.kind in _MOVES_FILES]
    if not any(event.kind == "run" and _REMOVES.search(event.text) for event in events):
        return set()
    ends = [event if event.kind in ("place", "run") else _without_text(event) for event in events]
    seen = observe(None, ends)
    return {
        _from_root(os.path.join(seen["cwd"], path), root, start)
        for path, file in seen["files"].items()
        if file["state"] == "deleted"
    }


def _without_text(event: SessionEvent) -> SessionEvent:
    return SessionEvent(
        event.kind,
        id=event.id,
        path=event.path,
        change=event.change,
        failed=event.failed,
        again=event.again,
        end=event.end,
    )


def _from_root(path: str, root: str, session_root: str = "") -> str:
    """A path as it is seen from the root of the work tree; an absolute one where it is outside.

    `session_root` is where the session worked, if that was another clone of the same files.
    """
    whole = os.path.normpath(os.path.join(root, path))
    if whole == root:
        return "."
    for start in filter(None, (root, session_root)):
        if whole.startswith(f"{start}/"):
            return whole[len(start) + 1 :]
    # The client may have written a name of the folder that leads through a link.
    real = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
    return real[len(root) + 1 :] if real.startswith(f"{root}/") else whole


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/") or folder in (".", "")


def _refusal(path: str, root: str) -> str:
    """Why we do not write this file; empty where we may."""
    if os.path.isabs(path) or path.startswith(".."):
        return "it is outside of this work tree"
    parts = path.split("/")
    if any(map(is_git_name, parts)):
        return "it is git's own"
    if not path.isprintable():
        return "its name has control characters"
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    if any(is_own(tail) or tail in CLIENT_SETTINGS for tail in tails):
        return "settings, which can start programs, and the files that holdfast writes are edited by hand"
    for count in range(1, len(parts) + 1):
        if os.path.islink(os.path.join(root, *parts[:count])):
            return "it is a link, or is behind one"
    return ""


def _guard(path: str, hooks: Sequence[str]) -> str:
    """Why a file is written only if it is named itself; empty where it is like any other.

    Editors, shells, clients and git start programs that settings name, and new ones of them appear every year.
    By convention they are hidden, so no list of names decides, but the shape.
    """
    if any(part.startswith(".") for part in path.split("/")):
        return "a hidden file or folder can hold settings that start programs"
    if any(_is_below(path, folder) for folder in hooks):
        return "git starts the programs of this folder"
    if path.lower().endswith(VISIBLE_SETTINGS):
        return "it can hold settings that start programs"
    return ""


def _hooks_folders(top: str | None) -> list[str]:
    """Return the folders of the work tree that `core.hooksPath` names, in any settings of git."""
    if top is None:
        return []
    named = run(top, "config", "-z", "--type=path", "--get-all", "core.hooksPath").output
    found = [_from_root(path, top) for path in os.fsdecode(named).split("\0") if path]
    return [path for path in found if not os.path.isabs(path)]


# What is shown


def _describe(
    workspace: Workspace | None, found: FoundSession, files: Sequence[ReplayedFile]
) -> SessionEdits:
    rules = config.settings_of(workspace)["redact.rules"] if workspace else {}
    redactor = Redactor(rules=rules)
    return {
        "session": found["session"],
        "client": found["client"],
        "transcript": found["path"],
        "modified": found["modified"],
        "files": [_describe_file(file, redactor) for file in files],
    }


def _describe_file(file: ReplayedFile, redactor: Redactor) -> EditedFile:
    is_lacking = file.state in ("missing", "guarded")
    exact = diff_of(file.path, file.present, file.wanted) if is_lacking else ""
    diff = redactor.text(exact)
    return {
        "path": file.path,
        "state": file.state,
        "edits": len(file.edits),
        "why": file.why,
        "problems": [
            {"number": edit["number"], "at": edit["at"], "why": why}
            for edit, why in file.misfits
            if is_lacking or file.state == "conflict"
        ],
        "diff": diff,
        "is_redacted": diff != exact,
    }


# Writing


def root_of(folder: str) -> str:
    """Return the folder from which the paths of edits are seen: the top of the work tree, or this one."""
    return _top(folder) or os.path.realpath(folder)


def _top(folder: str) -> str | None:
    try:
        return locate(folder).top
    except GitError:
        return None


def _write(top: str, file: ReplayedFile, held: set[str]) -> str:
    """Why a file was not written; empty when it was."""
    target = file_at(top, file.path)
    try:
        present, _ = read_text(top, file.path)
        if present != file.present or _refusal(file.path, top):
            return "it changed just now"
        if present is not None and file.path not in held:
            return "no snapshot holds what is there now: git ignores it, or it is too large"
        if file.wanted is None:
            target.remove()
            return ""
        text = file.wanted.replace("\n", "\r\n") if file.has_crlf else file.wanted
        status = target.status()
        mode = status.st_mode & 0o777 if status is not None else None
        target.write(text.encode(), mode, is_new=present is None)
    except FileExistsError:
        return "it changed just now"
    except OSError as error:
        return f"it cannot be written: {error.strerror}"
    return ""
