"""The side of the agent that asks: open a gate, and withdraw it.

A gate opens once, however often its agent starts again, and its answer reaches the agent that asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from holdfast import registry
from holdfast.clients.table import own_id
from holdfast.gates import lookup, notices, pictures
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import Content
from holdfast.gates.rules.gate import GateState
from holdfast.gates.rules.lint import findings
from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.streams import open_writer
from holdfast.kernel.trust import notice_arrival
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.people import person as people
from holdfast.usage.spending import measure_session

SHORT = 12
UNITS = {"s": 1000, "min": clock.MINUTE, "h": clock.HOUR, "d": clock.DAY}


@dataclass(frozen=True, kw_only=True)
class AskRequest:
    """A question and its terms. `attach` are files of pictures; `expires` is a time such as `30min`.
    `strict` refuses the short form of a decision; `once` asks the question once for good."""

    content: Content
    name: str = ""
    batch: bool = False
    phase: str = ""
    holds: str = ""
    agent: str = ""
    expires: str = ""
    expires_at: str = ""
    default: str = ""
    attach: Sequence[str] = ()
    strict: bool = False
    once: bool = False
    dry_run: bool = False


class AskResult(TypedDict):
    """The gate, whether it was asked already, and where it waits when the journal cannot be written."""

    id: str
    state: GateState
    again: bool
    queued: str
    warnings: list[str]


def ask(context: GateContext, request: AskRequest) -> AskResult:
    """Open a gate. The same question from the same worktree is the same gate, with the pictures that it
    had, until its asker has received the answer; with `once`, for good."""
    workspace, content = context.workspace, request.content
    now = lookup.agreed_time(workspace, context.now)
    refuse_stopped(workspace)
    if not request.dry_run:
        notice_arrival(workspace)
    expires_at = request.expires_at or expiry(request.expires, now)
    attached = pictures.load(request.attach)
    command = {
        "do": "open",
        "content": content,
        "pictures": [picture for picture, _ in attached],
        "batch": request.batch,
        "phase": request.phase,
        "holds": request.holds,
        "cost_tokens": None if request.batch else _context(workspace, now),
        "expires_at": expires_at,
        "default": request.default,
        "strict": request.strict,
        "asked": {
            "by": context.actor,
            "session": own_id(),
            "agent": request.agent or _agent_here(workspace),
            "worktree": workspace.root,
        },
    }
    digest = rules.digest_of(content)
    base = request.name or id_of(f"{workspace.root}\n{digest}")[:SHORT]
    id, before = _find_round(workspace, base)
    last = lookup.drop_uncounted(workspace, before) if before else None
    if last is not None and last["answer"] is not None:
        if request.once and last["digest"] != digest:
            raise rules.taken(last["id"])
        if request.once or _is_due(workspace, last, digest):
            return _make_result(last, again=True)
    # Before anything is queued or written: a refusal must reach the agent that asks.
    planned = rules.decide(_present(workspace, id), command, now)
    again = not planned.records
    if request.dry_run:
        at, before = clock.stamp(now), _present(workspace, id)
        return _make_result(lookup.after(before, planned.records, at, context.actor), again=again)
    if planned.records:
        if before is not None:
            lookup.close(workspace, before["id"], now=now)
        pictures.keep(workspace, id, attached)
    writer = open_writer(workspace)
    outcome = writer.execute(rules.stream_of(id), command, actor=context.actor, now=now)
    state = lookup.read(workspace, id)
    if not outcome["queued"]:
        notices.announce(workspace, [state], now=now)
    return _make_result(state, again=again, queued=outcome["queued"])


def withdraw(
    context: GateContext, gate: str, reason: str, *, person: Person | None = None
) -> GateState:
    """Withdraw a gate, as a person: an agent that could would get past every question. Without a `person`, the one at
    the terminal of this process is asked to identify themselves."""
    if not reason.strip():
        raise Usage("Why is it withdrawn?", hint="--reason says it to the agent that asked.")
    writer = open_writer(context.workspace)
    state = lookup.find_open(context, gate, writer)
    purpose = f"withdraw gate {state['id']}"
    shown = [f"Gate {state['id']}: {state['content']['title']}", f"Because: {reason}"]
    person = people.require(context.workspace, purpose, shown, now=context.now, person=person)
    return withdraw_as(context, state["id"], reason, person, writer)


def withdraw_as(
    context: GateContext, id: str, reason: str, person: Person, writer: Writer | None = None
) -> GateState:
    """Withdraw a gate as a person who was seen. Not through the inbox: the caller must know that it
    is done."""
    command = {"do": "withdraw", "person": person, "why": reason.strip()}
    order = Order(rules.stream_of(id), command)
    writer = writer or open_writer(context.workspace)
    commit(writer, [order], actor=context.actor, now=context.now)
    lookup.close(context.workspace, id, now=context.now)
    return lookup.drop_uncounted(context.workspace, writer.remembered[order.stream].state)


def expiry(text: str, now: int) -> str:
    """When a gate expires that expires after `30min`; empty when it never does."""
    if not text:
        return ""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = UNITS.get(text[len(number) :])
    if unit is None or not number.isascii() or not number.isdigit() or not 0 < int(number) < 10_000:
        raise Usage(f"{text!r} is no time.", hint="Such as 90s, 30min, 2h or 1d.")
    return clock.stamp(now + int(number) * unit)


def _context(workspace: Workspace, now: int) -> int | None:
    """How many tokens of context the session that asks would have to rebuild, when that is known."""
    if not own_id():
        return None
    try:
        return measure_session(workspace, session=own_id(), now=now)["context_tokens"]
    except (HoldfastError, OSError):
        return None


def _agent_here(workspace: Workspace) -> str:
    """The agent that the client's session is. A program outside of any client names its own."""
    if not own_id():
        return ""
    agents = [
        name
        for list_agents in registry.offers("agents_of_session")
        for name in list_agents(workspace, own_id())
    ]
    return agents[0] if len(agents) == 1 else ""


def _find_round(workspace: Workspace, base: str) -> tuple[str, GateState | None]:
    """The id under which a question is asked now: its base, or `.2` and so on once it is over; and the
    round before, if that was the last."""
    rules.stream_of(base)
    id, number, before = base, 1, None
    while rules.is_over(state := _present(workspace, id)):
        number, before = number + 1, state
        id = f"{base}.{number}"
    return id, None if rules.is_asked(state) else before


def _is_due(workspace: Workspace, state: GateState, digest: str) -> bool:
    """Whether the answer of a gate is still to reach its asker: no process waited for it yet. A session
    that asks the same twice learned the answer from its hooks, and asks anew."""
    session = state["asked"]["session"]
    return (
        state["answer"] is not None
        and state["digest"] == digest
        and not (session and session == own_id())
        and not lookup.is_closed(workspace, state["id"])
    )


def _present(workspace: Workspace, id: str) -> GateState:
    try:
        return lookup.read_recorded(workspace, id)
    except NotFound:
        return rules.initial(rules.stream_of(id))


def _make_result(state: GateState, *, again: bool, queued: str = "") -> AskResult:
    warnings = [f"{one['what']}. {one['instead']}" for one in findings(state["content"])]
    return AskResult(id=state["id"], state=state, again=again, queued=queued, warnings=warnings)
