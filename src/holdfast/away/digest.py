"""What one session did, and what of it needs a person. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from holdfast.clients.conversation import request_under_way
from holdfast.kernel import clock
from holdfast.kernel.text import one_line, without_order
from holdfast.observe.lineage import is_trivial
from holdfast.observe.model import telling_lines
from holdfast.observe.open_calls import cut_off
from holdfast.session.client_process import SILENT_AFTER
from holdfast.session.client_questions import ECHO
from holdfast.session.rules.handover import (
    edits_since,
    is_unsettled,
    spoke_before_request,
    title_of,
)

if TYPE_CHECKING:
    from holdfast.away.tree import TreeState
    from holdfast.clients.usage.amounts import Cost
    from holdfast.observe.model import Observation
    from holdfast.session.client_questions import WaitingSession
    from holdfast.session.rules.model import SessionState

State = Literal["waits", "limit", "cut_off", "failing", "unfinished", "at_work", "done", "trivial"]
# In the order in which they need a person.
STATES: tuple[State, ...] = State.__args__  # type: ignore[attr-defined]
# These stand still until a person looks.
URGENT: tuple[State, ...] = ("waits", "cut_off", "failing")
LONGEST_REQUEST, LONGEST_COMMAND, LONGEST_OUTPUT, LONGEST_WORDS = 200, 80, 120, 200
MOST = 3


class FailedCommand(TypedDict):
    """A command that failed, what it printed, and how many edits came since without another run."""

    command: str
    says: str
    edits_since: int
    is_settled: bool


class PassedCheck(TypedDict):
    check: str
    edits_since: int


class AwaySession(TypedDict):
    """What one session did. `state` says what of it needs a person. `root` is its work tree, `project` the name of
    that folder. `is_open`: its client still runs. `waits` is what the client asks, since `waits_since`; `limit` says
    when its usage limit ends. `edited` are files, the last first; `commits` the newest ones. `uncommitted` are
    files that it edited and that are not committed. `cost` is None where it is not known. `next` goes on with it."""

    state: State
    session: str
    client: str
    project: str
    root: str
    at: str
    began: str
    is_open: bool
    request: str
    waits: str
    waits_since: str
    limit: str
    cut_off: list[str]
    failed: list[FailedCommand]
    edits: int
    edited: list[str]
    commits: list[str]
    passed: PassedCheck | None
    said: str
    open_tasks: int
    next_task: str
    cost: float | None
    cost_at_least: float
    tree: TreeState | None
    uncommitted: int
    continued_by: str
    next: str


class Known(NamedTuple):
    """All that is known of one session. `state` is what its journal knows, `seen` what its transcript says,
    `says_limit` when its usage limit ends, `is_alive` whether its client runs, `next` the command to go on."""

    client: str
    session: str
    root: str
    cwd: str
    modified: int
    state: SessionState | None
    seen: Observation | None
    cost: Cost
    waiting: WaitingSession | None
    says_limit: str
    is_alive: bool
    tree: TreeState | None
    next: str


def digest(known: Known, now: int) -> AwaySession:
    """Return what a session did, and what of it needs a person."""
    seen, state = known.seen, known.state
    waiting = None if is_idle(known) else known.waiting
    calls = [one_line(one["text"], LONGEST_COMMAND) for one in cut_off(seen)] if seen else []
    tasks = (
        [one["text"] for one in seen["tasks"] if one["state"] in ("open", "active")] if seen else []
    )
    is_at_work = known.is_alive and bool(calls or now - known.modified < SILENT_AFTER)
    found: AwaySession = {
        "state": "done",
        "session": known.session,
        "client": known.client,
        "project": os.path.basename(known.root) or known.root,
        "root": known.root,
        "at": clock.stamp(known.modified),
        "began": seen["started_at"] if seen else "",
        "is_open": known.is_alive,
        "request": one_line(_request(state, seen), LONGEST_REQUEST),
        "waits": waiting["asks"] if waiting else "",
        "waits_since": waiting["at"] if waiting else "",
        "limit": known.says_limit,
        "cut_off": [] if known.is_alive else calls[:MOST],
        "failed": _failed(seen) if seen else [],
        "edits": seen["edits"] if seen else 0,
        "edited": _edited(seen) if seen else [],
        "commits": [one_line(one["text"], LONGEST_COMMAND) for one in seen["commits"]]
        if seen
        else [],
        "passed": _passed(seen) if seen else None,
        "said": _last_words(seen) if seen else "",
        "open_tasks": len(tasks),
        "next_task": one_line(tasks[0], LONGEST_COMMAND) if tasks else "",
        # A transcript without a word of what its answers used is no session that cost nothing.
        "cost": known.cost["cost"] or (0.0 if known.cost["sure"] == "exact" else None),
        "cost_at_least": known.cost["cost_at_least"],
        "tree": known.tree,
        "uncommitted": _count_uncommitted(known),
        "continued_by": state["adopted_by"] if state else "",
        "next": known.next,
    }
    found["state"] = _state(found, is_at_work=is_at_work, did_nothing=not seen or is_trivial(seen))
    return found


def is_idle(known: Known) -> bool:
    """Return whether a client only waits for the next request: it repeats what it asks in general words, too, but
    then a call has no result yet."""
    asked, seen = known.waiting, known.seen
    return asked is not None and asked["event"] == ECHO and seen is not None and not cut_off(seen)


def _state(found: AwaySession, *, is_at_work: bool, did_nothing: bool) -> State:
    if found["waits"]:
        return "waits"
    if found["limit"]:
        return "limit"
    if is_at_work:
        return "at_work"
    if did_nothing and not found["commits"]:
        return "trivial"
    tree = found["tree"]
    is_unpushed = bool(found["commits"] and tree and tree["has_remote"] and tree["ahead"] != 0)
    is_left = bool(found["uncommitted"]) or is_unpushed
    if found["continued_by"]:
        # What failed and what was open is the next session's now.
        return "unfinished" if is_left else "done"
    if found["cut_off"]:
        return "cut_off"
    if any(one["is_settled"] for one in found["failed"]):
        return "failing"
    return "unfinished" if is_left or found["failed"] or found["open_tasks"] else "done"


def _request(state: SessionState | None, seen: Observation | None) -> str:
    """Return what the person asked for, as lists of sessions have it."""
    observed: Any = state.get("observed") if state else None
    if state is not None:
        fresh: Any = (
            {**state, "observed": {**observed, "seen": seen}} if observed and seen else state
        )
        titled = title_of(fresh)
        if titled:
            return titled
    asked = [seen["first"], *seen["earlier"], seen["request"]] if seen else []
    return without_order(request_under_way([one["text"] for one in asked if one]))


def _failed(seen: Observation) -> list[FailedCommand]:
    """Return what failed and is not known to pass now, the newest first."""
    found: list[FailedCommand] = []
    for one in reversed(seen["failures"][-MOST:]):
        lines = [line.strip() for line in one["end"].split("\n") if line.strip()]
        found.append(
            {
                "command": one_line(one["text"], LONGEST_COMMAND),
                "says": one_line(telling_lines(lines, 1)[0], LONGEST_OUTPUT) if lines else "",
                "edits_since": edits_since(seen, one),
                "is_settled": not is_unsettled(seen, one),
            }
        )
    return found


def _passed(seen: Observation) -> PassedCheck | None:
    """Return the last check that passed, without the lines that its program draws."""
    green = seen.get("green")
    if green is None:
        return None
    check = " ".join(word for word in green["text"].split() if word.strip("=-"))
    return {"check": check, "edits_since": edits_since(seen, green)}


def _edited(seen: Observation) -> list[str]:
    """Return the files that were edited, the last first."""
    files = seen["files"]
    edited = [name for name, one in files.items() if one["edits"]]
    return [
        one_line(name, LONGEST_COMMAND)
        for name in sorted(edited, key=lambda one: -files[one]["call"])
    ]


def _last_words(seen: Observation) -> str:
    """Return how the agent ended: its question, or the first words of its last message."""
    if not seen["said"] or spoke_before_request(seen):
        return ""
    text = one_line(seen["said"][-1]["text"])
    if text.endswith("?"):
        text = text[max(text.rfind(end, 0, -1) for end in (". ", "! ", "? ", ": ")) + 1 :].strip()
    return one_line(text, LONGEST_WORDS)


def _count_uncommitted(known: Known) -> int:
    """Return how many of the files that a session edited are not committed."""
    if known.seen is None or known.tree is None:
        return 0
    cwd, files = known.seen["cwd"] or known.cwd, known.seen["files"]
    names = (os.path.relpath(path, cwd) for path in known.tree["changed"])
    return sum(name in files and files[name]["edits"] > 0 for name in names)
