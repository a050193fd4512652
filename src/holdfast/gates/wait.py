"""Wait for people: list what waits for them, and read a gate again until they answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from holdfast.gates import lookup, notices
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import inert
from holdfast.gates.rules.gate import GateState
from holdfast.kernel import clock
from holdfast.kernel.errors import Declined, NotFound, Waiting
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0
RECORDS_PAUSE = 0.05


def list_gates(context: GateContext) -> list[GateState]:
    """The open gates, the longest waiting first. Gates whose time is over are closed first, and people
    are told of those that wait for them."""
    ids = [state["id"] for state in lookup.open_gates(context.workspace)]
    looked = [lookup.read_now(context.workspace, id, now=context.now) for id in ids]
    found = [state for state in looked if rules.is_open(state)]
    presented = [state for state in found if state["presented_at"]]
    notices.announce(context.workspace, presented, now=context.now)
    return found


def wait(workspace: Workspace, ids: Sequence[str], *, seconds: float | None) -> list[GateState]:
    """The gates once all are answered, or as they are when the time is over; None sets no limit.
    Raises Stopped while a stop holds. An answer counts as received then: see `ask`."""
    deadline = None if seconds is None else time.monotonic() + seconds
    pause = FIRST_PAUSE
    while True:
        refuse_stopped(workspace)
        now = clock.now()
        states = [lookup.read_now(workspace, id, now=now) for id in ids]
        waiting = [state for state in states if rules.is_open(state)]
        left = None if deadline is None else deadline - time.monotonic()
        if not waiting or (left is not None and left <= 0):
            for state in states:
                if rules.is_over(state) and not lookup.is_closed(workspace, state["id"]):
                    lookup.close(workspace, state["id"], now=now)
            return states
        notices.announce(workspace, waiting, now=now)
        time.sleep(pause if left is None else max(0.0, min(pause, left)))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def until_answered(
    workspace: Workspace,
    ids: Sequence[str],
    seconds: float,
    *,
    pause: Callable[[int, float], bool],
    enough: Callable[[], bool],
) -> None:
    """Until one of these gates is answered, it is `enough`, or the time is over. `pause` waits for what
    is committed after a sequence number, as the journal does: on PostgreSQL by LISTEN."""
    deadline = time.monotonic() + seconds
    while True:
        newest = workspace.journal.latest(limit=1)
        # Before the gates are read: an answer between the two ends the pause at once.
        seq = newest[0]["seq"] if newest else 0
        states = [lookup.read_now(workspace, id, now=clock.now()) for id in ids]
        left = deadline - time.monotonic()
        if enough() or left <= 0 or not all(rules.is_open(state) for state in states):
            return
        if pause(seq, left):
            time.sleep(RECORDS_PAUSE)  # others write, too, and perhaps all the time


def present(context: GateContext, phase: str) -> list[str]:
    """At the end of a phase, ask people all the questions that were collected for it; their ids."""
    waiting = lookup.open_gates(context.workspace)
    collected = [state for state in waiting if state["batch"] and state["phase"] == phase]
    if not collected:
        raise NotFound(
            f"Nothing is collected for the phase {phase!r}." if phase else "Nothing is collected.",
            hint="`holdfast gate list` lists what waits.",
        )
    writer = open_writer(context.workspace)
    for state in collected:
        stream = rules.stream_of(state["id"])
        writer.execute(stream, {"do": "present"}, actor=context.actor, now=context.now)
    return [state["id"] for state in collected]


def conclude(states: Sequence[GateState]) -> None:
    """Waiting while one is open; Declined when a person said no to one, Conflict when its question was
    taken back."""
    refused = [state for state in states if state["answer"] and state["answer"]["verdict"] == "no"]
    waiting = [state for state in states if rules.is_open(state)]
    if refused:
        raise Declined(
            "; ".join(_no(state) for state in refused) + ".",
            hint="Mend what was found and ask again; the same question is then a new gate.",
        )
    taken_back = [state for state in states if rules.withdrawn_of(state)]
    if taken_back:
        raise rules.already(taken_back[0])
    if waiting:
        names = [f"{state['id']} ({inert(state['content']['title'])})" for state in waiting]
        raise Waiting(
            f"Waiting for a person: {', '.join(names)}.",
            hint="They answer with: holdfast gate answer " + waiting[0]["id"],
        )


def _no(state: GateState) -> str:
    answer = state["answer"]
    assert answer is not None
    who = answer["person"]["name"] if answer["person"] else "no person in time"
    return f"{state['id']}: {inert(answer['text']) or 'no'} ({who})".rstrip(".")
