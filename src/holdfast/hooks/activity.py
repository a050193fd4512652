"""What the features do at a client's events. Each gives functions by these names in its `hooks`:

- `seen(workspace, session, now)`: a session was seen at work, which is looked at once a minute at most; `turn(...)`: it
  starts, stops, or is about to be compacted. Both return what to remind the agent of.
- `prompted(workspace, session, prompt, now)`: the person asked for something. Returns what to tell the agent.
- `edits(workspace, session, paths)`: a tool is about to change these files. Returns what to tell the agent.
- `spent(workspace, session, now)`: what a session spent is known, because a turn ended.
- `spends(workspace)`: return whether it matters what the sessions of this worktree spend. If so, `paid(workspace, session,
  now)`: before a tool is used, the client has written down what the last call cost.
- `asking(workspace)`: a person asked a session for something, and `asked` is about to run. `asked(workspace, client,
  session, prompt, now)` and `ended(workspace, client, session, means, now)`: it did, and its turn or the session ended; in
  processes that no client waits for. `changes(workspace)`: before a tool that may change something.
- `asks(event, client, workspace, now)`: the client asks its person something. Returns the answer that a person gave
  elsewhere, as an outcome; the hook waits for it.
- `held(workspace, session)`: return why the session may use no tool until a person answers.
- `waits(workspace)`: return whether a person is asked for something that this worktree's work needs.
- `disturbs(workspace)`: return whether any session is held. `is_busy(workspace)`: return whether the sessions of this
  worktree are looked at while they work. The launcher starts Python for these, and for no others.

A text is empty where there is nothing to say.
"""

from __future__ import annotations

import os

from holdfast import registry
from holdfast.kernel import clock
from holdfast.kernel.plain_file import modified_at
from holdfast.session import session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.kernel.workspace import Workspace

EVERY = clock.MINUTE
# Held at an alert, an agent is looked at more often: a person may have raised a limit.
EVERY_WHEN_HELD = 10_000
LOOKED, SPENT = "looked", "spent"


def look(session: str, workspace: Workspace, now: int, *, every: int = EVERY) -> str:
    """Let the features see a session at work. Return what to remind the agent of."""
    if not session_files.is_due(workspace, session, LOOKED, every, now):
        return ""
    return remind("seen", workspace, session, now)


def remind(event: str, workspace: Workspace, session: str, now: int) -> str:
    """Return what the features say to the agent at `seen` or `turn`."""
    said = [react(workspace, session, now) for react in registry.load_named("hooks", event)]
    return "\n".join(filter(None, said))


def tell_prompted(workspace: Workspace, session: str, prompt: str, now: int) -> str:
    """Return what the features say to the agent about what the person asks for."""
    said = [
        react(workspace, session, prompt, now) for react in registry.load_named("hooks", "prompted")
    ]
    return "\n".join(filter(None, said))


def tell_edits(workspace: Workspace, session: str, folder: str, paths: Sequence[str]) -> str:
    """Return what the features say to the agent before it changes files, which are named from a folder."""
    whole = [os.path.normpath(os.path.join(folder or workspace.root, path)) for path in paths]
    said = [react(workspace, session, whole) for react in registry.load_named("hooks", "edits")]
    return "\n".join(filter(None, said))


def follow_spending(session: str, workspace: Workspace, now: int) -> None:
    """Let the features check what a session spent, if its client wrote anything since the last look."""
    if not session or not is_any("spends", workspace):
        return
    from holdfast.clients.discovery import files_of

    looked = session_files.seen_at(workspace, session, SPENT)
    # A database has what is new in its log.
    paths = [source["path"] + end for source in files_of(session) for end in ("", "-wal")]
    written = [modified_at(path) for path in paths]
    if written and (looked is None or max(written) >= looked):
        session_files.is_due(workspace, session, SPENT, 0, now)
        for check in registry.load_named("hooks", "paid"):
            check(workspace, session, now)


def begin_turn(workspace: Workspace, client: str, session: str, prompt: str, now: int) -> None:
    """Tell the features that a person asked a session for something."""
    for react in registry.load_named("hooks", "asked"):
        react(workspace, client, session, prompt, now)


def end_turn(workspace: Workspace, client: str, session: str, means: str, now: int) -> None:
    """Tell the features that a turn ended (`stop`), or the session."""
    for react in registry.load_named("hooks", "ended"):
        react(workspace, client, session, means, now)


def tell(event: str, workspace: Workspace) -> None:
    """Tell the features of `asking` or `changes`."""
    for react in registry.load_named("hooks", event):
        react(workspace)


def find_hold(workspace: Workspace, session: str) -> str:
    """Return why the session may use no tool until a person answers; empty when it may."""
    return "\n".join(
        filter(None, (why(workspace, session) for why in registry.load_named("hooks", "held")))
    )


def is_any(event: str, workspace: Workspace) -> bool:
    """Return whether a feature says yes to `waits`, `disturbs`, `is_busy` or `spends`."""
    return any(ask(workspace) for ask in registry.load_named("hooks", event))


def tell_spent(workspace: Workspace, session: str, now: int) -> None:
    """Let the features check what a session spent."""
    for check in registry.load_named("hooks", "spent"):
        check(workspace, session, now)
