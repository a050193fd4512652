"""The files that users of the CCC protocol already have: `.ccc-state.json`, `.ccc-preferences.yaml`.

`.ccc-state.json` belongs to the execution engine; of its keys we write two, and leave the others and
a file that cannot be read as they are.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.canonical_json import table_of
from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage, from_os_error
from holdfast.kernel.git_index import is_tracked
from holdfast.kernel.plain_file import is_nested_deeper
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.text import one_line
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.trust import ISSUE, is_known_here, is_trusted, remember_here, trust
from holdfast.kernel.views.files import Unreadable, identity_of, read_file, text_of
from holdfast.session.rules import progress
from holdfast.session.rules.fields import UNKNOWN_ISSUE
from holdfast.session.rules.model import PROGRESS_FILE, STATE_FILE, is_issue_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import Progress

    class Preferences(TypedDict):
        max_task_iterations: int
        default_mode: str


PREFERENCES_FILE = ".ccc-preferences.yaml"
DEEPEST_PREFERENCES = 50
LARGEST_PREFERENCES = 1 << 20
MOST_ITERATIONS = 20
UNFOLLOWED = (
    "{name} came with the repository and is not followed until a person runs: holdfast trust"
)
FILES = (STATE_FILE, PROGRESS_FILE)
ISSUE_KEYS = ("linearIssue", "activeIssue")
# Before the name of a file that a person trusted, among the words of `kernel.trust`.
FOLLOWED = "file:"
COMMENT, COMMENT_ISSUE = "checkpointCommentId", "checkpointCommentIssue"
TRIES = 5


def folder_of(workspace: Workspace) -> str:
    """Where the protocol's files are, seen from the worktree's top: CCC_PROJECT_ROOT, or the top."""
    wanted = os.environ.get("CCC_PROJECT_ROOT")
    if not wanted:
        return ""
    real = os.path.realpath(wanted)
    if real == workspace.root:
        return ""
    if not real.startswith(workspace.root + os.sep):
        raise NotAllowed(
            f"CCC_PROJECT_ROOT is {wanted}, outside of the workspace {workspace.root}.",
            hint="Run holdfast in that project, or unset it.",
        )
    return os.path.relpath(real, workspace.root)


def read_progress(workspace: Workspace) -> Progress:
    """What `.ccc-progress.md` says; OSError, Unreadable or Unparsable where it says nothing."""
    _, content = read_file(_file(workspace, PROGRESS_FILE))
    return progress.parse(text_of(content))


def broken_progress(workspace: Workspace) -> str:
    """Why the progress file cannot be read as it stands now; empty where it can, or is not there."""
    try:
        read_progress(workspace)
    except (FileNotFoundError, NotAllowed):
        return ""
    except (OSError, Unreadable, Unparsable) as problem:
        return f"{PROGRESS_FILE} cannot be read: {problem}"
    return ""


def read_state(workspace: Workspace) -> dict[str, Any]:
    """What `.ccc-state.json` says; nothing when it is missing, or came with the repository and is not
    trusted; HoldfastError when it is damaged."""
    state = _read_state(workspace)
    return state if not state or is_followed(workspace, STATE_FILE) else {}


def _read_state(workspace: Workspace) -> dict[str, Any]:
    try:
        _, content = read_file(_file(workspace, STATE_FILE))
    except FileNotFoundError:
        return {}
    except Unreadable as problem:
        raise _make_damaged_error(str(problem)) from None
    return _parse(content)


def issue_of_file(workspace: Workspace) -> str:
    """What the progress file names, when no record knows it yet; AMB-CCC-26."""
    is_named = is_followed(workspace, PROGRESS_FILE)
    return _issue_in_progress(workspace) if is_named else UNKNOWN_ISSUE


def _issue_in_progress(workspace: Workspace) -> str:
    try:
        return read_progress(workspace)["issue"]
    except (OSError, Unreadable, Unparsable):
        return UNKNOWN_ISSUE


def is_followed(workspace: Workspace, name: str) -> bool:
    """Whether a file of the protocol counts. One that git tracks came with the repository: its author would
    choose the issue that is commented on with this user's key. It counts once a person trusted it, for as
    long as it names no other issue. One that git does not track is the user's own."""
    folder = os.path.realpath(os.path.join(workspace.root, folder_of(workspace)))
    if not os.path.lexists(os.path.join(folder, name)) or not is_tracked(folder, name):
        return True
    if name == STATE_FILE and not is_trusted(workspace, FOLLOWED + name):
        return False
    return all(is_known_here(workspace, ISSUE + issue) for issue in issues_named(workspace, name))


def issues_named(workspace: Workspace, name: str) -> list[str]:
    """Return the issues that a file of the protocol names."""
    if name == PROGRESS_FILE:
        named = [_issue_in_progress(workspace)]
    else:
        try:
            state = _read_state(workspace)
        except HoldfastError:
            return []
        named = [str(state.get(key) or UNKNOWN_ISSUE) for key in ISSUE_KEYS]
    return sorted({issue for issue in named if issue != UNKNOWN_ISSUE})


def list_unfollowed(workspace: Workspace) -> list[str]:
    """Return the files of the protocol that came with the repository and do not count yet."""
    try:
        return [name for name in FILES if not is_followed(workspace, name)]
    except NotAllowed:  # CCC_PROJECT_ROOT is elsewhere; what reads the files says so
        return []


def follow(workspace: Workspace, name: str, at: str) -> None:
    """Let a file that came with the repository count, as a person said."""
    if name == STATE_FILE:
        trust(workspace, FOLLOWED + name, at)
    for issue in issues_named(workspace, name):
        remember_here(workspace, ISSUE + issue)


def refuse_bad_issue(issue: str) -> None:
    """Any name is allowed that looks like one; whether a tracker knows it is the tracker's affair."""
    if not is_issue_name(issue):
        shown = ascii(issue if len(issue) <= 40 else issue[:40] + "...")
        raise Usage(
            f"{shown} is not the name of an issue.",
            hint="Names are like ENG-123, owner/repository#12 or fix-quotes.",
            kind="bad_issue",
        )


def read_preferences(workspace: Workspace) -> Preferences:
    """What `.ccc-preferences.yaml` says about the loop; its defaults where it says nothing useful.

    YAML is loaded only when there is such a file: hooks read this too.
    """
    found: Preferences = {"max_task_iterations": 5, "default_mode": ""}
    try:
        content = _file(workspace, PREFERENCES_FILE).read(LARGEST_PREFERENCES)
    except (OSError, NotAllowed):
        return found
    import yaml

    if is_nested_deeper(content.decode(errors="replace"), DEEPEST_PREFERENCES):
        return found
    try:
        # BaseLoader: everything is text, nothing is code.
        document = yaml.load(content, yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError):
        return found
    execution = table_of(table_of(document).get("execution"))
    # Not of a list: an alias of aliases is a small text, and written out a large one.
    found["default_mode"] = one_line(canonical_json.text_of(execution.get("default_mode")))
    wanted = canonical_json.text_of(execution.get("max_task_iterations")).lstrip("0")
    # Python reads no number of thousands of digits.
    is_short = wanted.isascii() and wanted.isdigit() and len(wanted) < 3
    if is_short and int(wanted) <= MOST_ITERATIONS:
        found["max_task_iterations"] = int(wanted)
    return found


def store_comment(workspace: Workspace, comment: str, issue: str) -> None:
    """Write the comment's id into `.ccc-state.json`, every other field untouched. A file that does not count
    stays as it is.

    The same exchange as for a view: a write of the engine's in between is seen and tried again.
    """
    if not is_followed(workspace, STATE_FILE):
        return
    from holdfast.kernel.views.asides import Asides
    from holdfast.kernel.views.edits import put_away
    from holdfast.kernel.views.projection import put_in_place, stage

    asides = Asides(workspace, path_of(workspace, STATE_FILE))
    try:
        for _ in range(TRIES):
            found, state = identity_of(asides.target), {}
            if found is not None:
                found, content = read_file(asides.target)
                state = _parse(content)
            if state.get(COMMENT) == comment and state.get(COMMENT_ISSUE) == issue:
                return
            stored = {**state, COMMENT: comment, COMMENT_ISSUE: issue}
            placed = stage(asides, _serialize(stored))
            if put_in_place(asides, placed, found, 0) == "placed":
                gone: list[TreeFile] = []
                put_away(asides, asides.displaced(placed), found, 0, gone)
                for displaced in gone:
                    displaced.remove()
                return
            # The engine wrote in between: its file goes back into place, and we begin anew.
            for file, _ in asides.edits():
                file.rename(asides.target)
        raise HoldfastError(f"{STATE_FILE} is being written all the time.", kind="busy_file")
    except Unreadable as problem:
        raise _make_damaged_error(str(problem)) from None
    except OSError as error:
        raise from_os_error(error, f"writing {STATE_FILE}") from error


def path_of(workspace: Workspace, name: str) -> str:
    """The path of a file of the protocol, seen from the worktree's top."""
    return os.path.join(folder_of(workspace), name)


def _file(workspace: Workspace, name: str) -> TreeFile:
    return TreeFile(workspace.root, path_of(workspace, name))


def _parse(content: bytes) -> dict[str, Any]:
    try:
        value = canonical_json.loads(text_of(content))
    except (ValueError, Unreadable) as problem:
        raise _make_damaged_error(str(problem)) from None
    if not isinstance(value, dict):
        raise _make_damaged_error("not an object")
    return value


def _serialize(state: dict[str, Any]) -> bytes:
    import json

    try:
        return f"{json.dumps(state, indent=2, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # half a letter, which JSON allows and UTF-8 does not
        return f"{json.dumps(state, indent=2)}\n".encode()


def _make_damaged_error(why: str) -> HoldfastError:
    return HoldfastError(
        f"{STATE_FILE} is damaged: {why}.",
        hint="Correct it, or remove it to begin again.",
        kind="damaged_state_file",
    )
