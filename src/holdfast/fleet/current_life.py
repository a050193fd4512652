"""Which life an agent's process is, and what hooks see of it.

`start` and `resume` leave a file in the worktree's private folder for the commands after them, or, from a sandbox,
in the tree. A client's session finds
its own life there by the id that the client gives it; every other process in the worktree is the life
that began there last.
"""

from __future__ import annotations

import os

from holdfast.clients.table import own_id
from holdfast.fleet.rules import agent as rules
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.clock import instant_of
from holdfast.kernel.digest import id_of
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.state import load
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import TOOL_FOLDER, worktrees
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class CurrentLife(TypedDict):
        session: str
        fence: int

    class AgentLives(TypedDict):
        """One agent's lives in this worktree, by the client's session that began them."""

        stream: str
        lives: dict[str, CurrentLife]


FOLDER = "lives"
MAX_FILE = 1 << 20
_ANY_SESSION = ""


def remember(worktree: Workspace, stream: str, life: CurrentLife, *, is_own: bool = True) -> None:
    """From now on every process in the worktree is this life. If it `is_own`, the client's session that
    calls stays this life, also after another one begins here."""
    lives = _read_agent(worktree, stream)["lives"]
    lives.pop(own_id(), None)
    lives |= {_ANY_SESSION: life, **({own_id(): life} if is_own else {})}
    content = canonical_json.dumps({"stream": stream, "lives": lives}).encode()
    name = f"{id_of(stream)}.json"
    try:
        write_synced(os.path.join(worktree.prepare_private(FOLDER), name), content)
    except OSError:
        # A sandbox lets a process write only in its tree.
        worktree.prepare_tool_folder(FOLDER)
        from holdfast.kernel.tree_file import TreeFile

        TreeFile(worktree.root, f"{TOOL_FOLDER}/{FOLDER}/{name}", is_strict=True).write(
            content, 0o600
        )


def recall(worktree: Workspace, stream: str) -> CurrentLife | None:
    """The life that this process is; None when none began in the worktree."""
    return _of_session(_read_agent(worktree, stream), own_id())


def lives_of_session(worktree: Workspace, session: str) -> list[tuple[str, CurrentLife]]:
    """The agents that a client's session is: their streams and lives."""
    found = [(each["stream"], _of_session(each, session)) for each in _read_all(worktree)]
    return [(stream, life) for stream, life in found if life is not None]


def streams_begun_here(workspace: Workspace) -> set[str]:
    """The streams of the agents that began in a worktree of this machine."""
    trees = map(workspace.at, filter(os.path.isdir, worktrees(workspace)))
    return {stream for tree in trees for stream in streams_begun_in(tree)}


def streams_begun_in(worktree: Workspace) -> set[str]:
    """The streams of the agents that began in this worktree."""
    return {each["stream"] for each in _read_all(worktree)} - {""}


def _of_session(kept: AgentLives, session: str) -> CurrentLife | None:
    return kept["lives"].get(session) or kept["lives"].get(_ANY_SESSION)


def _read_agent(worktree: Workspace, stream: str) -> AgentLives:
    """Return the lives of one agent; what was written last counts."""
    name = f"{id_of(stream)}.json"
    files = [path for path in _list_files(worktree) if os.path.basename(path) == name]
    return _read(files[-1]) if files else {"stream": "", "lives": {}}


def _read_all(worktree: Workspace) -> list[AgentLives]:
    """Return the lives of all agents, by the name of their file."""
    newest = {os.path.basename(path): path for path in _list_files(worktree)}
    return [_read(newest[name]) for name in sorted(newest)]


def _list_files(worktree: Workspace) -> list[str]:
    """Return the files of all agents, the newest last. Those in the tree are a sandboxed agent's; one that came
    with the repository is none."""
    found = _list_folder(os.path.join(worktree.private, FOLDER))
    in_tree = worktree.list_in_tree(FOLDER)
    return sorted([*found, *in_tree], key=_time_of) if in_tree else found


def _list_folder(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".json")]


def _time_of(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _read(path: str) -> AgentLives:
    try:
        kept = canonical_json.loads(read_plain(path, MAX_FILE, follow=False).decode())
        return {"stream": str(kept["stream"]), "lives": dict(kept["lives"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"stream": "", "lives": {}}


def record_activity(worktree: Workspace, session: str, now: int) -> str:
    """Record that a hook saw the agents of a session at work; the reminders for them, if any.

    Activity is a sign of life of its own: it never moves a checkpoint, which is the agent's own word.
    After 15 minutes without a heartbeat the agent is reminded. AMB-FLEET-28
    """
    lives = lives_of_session(worktree, session)
    if not lives or not worktree.exists():
        return ""
    from holdfast.fleet.rules.verdict import age_minutes, is_due

    journal = worktree.journal
    now = server_time.known(worktree, now)
    reminders = []
    for stream, own in lives:
        state, head = load(journal, rules, stream)
        life, saved = state["life"], state["checkpoint"]
        if head is None:
            continue
        if life is None or saved is None or life["session"] != own["session"]:
            # Only the session that was this life: other processes may work here by now.
            if session and session in _read_agent(worktree, stream)["lives"]:
                reminders.append(
                    f"{state['agent']} was taken over: this life can write no more. Stop here, and tell "
                    "your person what you have not saved."
                )
            continue
        if life.get("awaits"):
            # The Primary works here, and another session will be this life.
            continue
        if not journal.read_only:
            journal.touch(stream, clock.precise(now))
        last = instant_of(saved.get("last_checkpoint"))
        if last is not None and saved.get("status") != "COMPLETE" and is_due(last, now):
            reminders.append(
                f"{state['agent']}: your last checkpoint is {age_minutes(last, now)} minutes old. "
                f"Update it: holdfast agent beat {quote(state['agent'])} --step '...' --recovery '...'"
            )
    return "\n".join(reminders)
