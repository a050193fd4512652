"""The sessions before one that only goes on with their work: a session that began with "continue" was given its
request and its rules by another, which may have been given them in the same way."""

from __future__ import annotations

from holdfast.kernel import clock, config
from holdfast.observe.lineage import goes_on, inherit, request_in
from holdfast.pack.pack import one_line, shorten
from holdfast.session import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession
    from holdfast.kernel.workspace import Workspace
    from holdfast.observe.model import Observation
    from holdfast.session.rules.model import SessionState

MOST_BEFORE = 12
LONGEST_REQUEST = 400


def with_lineage(seen: Observation, before: Iterable[Observation]) -> Observation:
    """The observation with what it has from those before it, the latest first, as far as each only went on."""
    last = seen
    for one in before:
        if not goes_on(last):
            break
        seen, last = inherit(seen, one), one
    return seen


def request_line(seen: Observation | None) -> str:
    """Return the request under way in one line; empty where none is known."""
    request = request_in(seen) if seen is not None else None
    return shorten(one_line(request["text"]), LONGEST_REQUEST) if request else ""


def seen_before(
    workspace: Workspace, state: SessionState, found: FoundSession | None
) -> Iterator[Observation]:
    """What was seen of the sessions before one in this worktree and branch, the latest first: those that the
    journal knows, else those of which there are transcripts."""
    known = False
    for before in _states_before(workspace, state):
        seen = _seen_of(workspace, before)
        if seen is not None:
            known = True
            yield seen
    if not known and found is not None:
        from holdfast.clients.discovery import sessions_in

        rules = config.load(workspace, None)["redact.rules"]
        yield from transcripts_before(found, sessions_in(workspace.root), rules)


def transcripts_before(
    found: FoundSession, others: Iterable[FoundSession], rules: Any = None
) -> Iterator[Observation]:
    """What the transcripts of earlier sessions say, the latest first."""
    from holdfast.session.observation import read_once

    older = [one for one in others if one["modified"] < found["modified"]]
    for one in sorted(older, key=lambda one: -one["modified"])[:MOST_BEFORE]:
        seen = read_once(one, rules)
        if seen is not None:
            yield seen


def _states_before(workspace: Workspace, state: SessionState) -> Iterator[SessionState]:
    """The chain of sessions that took each other over, else those captured earlier on the same branch."""
    if not workspace.exists():
        return
    told = {state["session"]}
    adopted = sessions.taken_over_by(workspace, state)
    while adopted and adopted not in told and len(told) < MOST_BEFORE:
        before = sessions.read(workspace, adopted)
        told.add(adopted)
        yield before
        adopted = sessions.taken_over_by(workspace, before)
    if len(told) > 1:
        return
    known = sessions.here(workspace)
    ids = [one["session"] for one in known]
    own = ids.index(state["session"]) + 1 if state["session"] in ids else 0
    for one in known[own : own + MOST_BEFORE]:
        began_before = _began(one) <= _began(state) or not _began(state)
        if began_before and (_branch_of(one) == _branch_of(state) or not state["last"]):
            yield one


def _seen_of(workspace: Workspace, state: SessionState) -> Observation | None:
    """What was recorded of a session, else what its transcript says: one that was killed early has no record."""
    observed: Any = state.get("observed")
    if observed is not None:
        return observed["seen"]  # type: ignore[no-any-return]
    from holdfast.session.observation import look

    looked = look(workspace, state["session"], now=clock.now()) if not state["captures"] else None
    return looked["seen"] if looked else None


def _began(state: SessionState) -> str:
    observed = state.get("observed")
    return str(observed["seen"]["started_at"]) if observed else ""


def _branch_of(state: SessionState) -> str | None:
    return state["last"]["world"]["branch"] if state["last"] else None
