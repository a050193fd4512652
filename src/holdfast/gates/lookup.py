"""Which gates there are, which one is meant, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import registry
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import inert
from holdfast.gates.rules.gate import GateState
from holdfast.kernel import clock, inbox
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.state import fold, load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quote
from holdfast.kernel.trust import made_elsewhere_until, signers_of
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.remote import server_time

if TYPE_CHECKING:
    from holdfast.journal.interface import Event, Head


STREAMS = "gate:"
# So many of the newest gates are looked through for the latest answers.
MOST_GATES = 10_000
MOST = 10
# Why an answer does not count.
UNSIGNED = "without a valid signature (gate.signers)"
ELSEWHERE = "that was given in another place, before this journal came here (holdfast trust)"


class GateContext(NamedTuple):
    """Where an operation on gates works, who asked for it, and when."""

    workspace: Workspace
    actor: str
    now: int


def read(workspace: Workspace, id: str, writer: Writer | None = None) -> GateState:
    """Return a gate by its whole id, with the answer that counts; NotFound when there is no such gate.
    A `writer` that is going to write to it keeps the state."""
    return drop_uncounted(workspace, read_recorded(workspace, id, writer))


def drop_uncounted(workspace: Workspace, state: GateState) -> GateState:
    """A gate without an answer that was given elsewhere, before the journal came here, or that lacks the
    signature which `gate.signers` asks for."""
    answer = state["answer"]
    if answer is None:
        return state
    until = made_elsewhere_until(workspace)
    records = workspace.journal.read(rules.stream_of(state["id"])) if until else []
    given = [one["seq"] for one in records if one["kind"] in rules.ANSWERS]
    if until and all(seq <= until for seq in given):
        return {**state, "answer": None, "uncounted": answer, "uncounted_why": ELSEWHERE}
    if answer["person"] is None or not signers_of(workspace):
        return state
    from holdfast.kernel.signatures import counts

    purpose = purpose_of(state["id"])
    subject, said = rules.subject_of(state), rules.said_of(answer)
    if counts(workspace, answer["person"], purpose, subject, said):
        return state
    return {**state, "answer": None, "uncounted": answer, "uncounted_why": UNSIGNED}


def purpose_of(id: str) -> str:
    """What a person does who answers, in a signature and in the record of a refused attempt."""
    return f"answer gate {id}"


def read_recorded(workspace: Workspace, id: str, writer: Writer | None = None) -> GateState:
    """A gate as its records say it, whether its answer counts or not."""
    stream = rules.stream_of(id)
    state: GateState = rules.initial(stream)
    if workspace.exists():
        state = writer.load(stream) if writer else load(workspace.journal, rules, stream)[0]
    if not rules.is_asked(state):
        state = _find_queued(workspace, stream) or state
    if not rules.is_asked(state):
        raise NotFound(f"There is no gate {id}.", hint="`holdfast gate list` lists them.")
    return state


def _find_queued(workspace: Workspace, stream: str) -> GateState | None:
    """A gate that a sandboxed agent asked, and that no process could take in yet."""
    for path in inbox.list_waiting(workspace.root):
        queued = inbox.read(path, workspace.root)
        if queued is None or queued["stream"] != stream:
            continue
        try:
            at = clock.parse(queued["at"])
            decision = rules.decide(rules.initial(stream), queued["command"], at)
        except (HoldfastError, KeyError, TypeError):
            continue
        start = rules.initial(stream)
        return after(start, decision.records, queued["at"], queued["actor"])
    return None


def find_gate(workspace: Workspace, word: str) -> str:
    """The id of a gate by its name, a unique beginning of it, or NAME in a plan's `{{gate.NAME}}`; of a
    name that was asked several times, the latest."""
    rules.stream_of(word)
    known = [head["stream"].removeprefix(STREAMS) for head in _heads(workspace)]
    known += [
        queued["stream"].removeprefix(STREAMS)
        for path in inbox.list_waiting(workspace.root)
        if (queued := inbox.read(path, workspace.root)) is not None
        and queued["stream"].startswith(STREAMS)
    ]
    if word in known:
        return latest_round(word, known)
    bases = sorted({base_of(id) for id in known if id.startswith(word)})
    if len(bases) == 1:
        return latest_round(bases[0], known)
    if not bases:
        # A plan's run knows its gates by the names of its plan, too.
        for find_gate_of_run in registry.offers("gate_of_run"):
            if found := str(find_gate_of_run(workspace, word)):
                return found
        raise NotFound(f"There is no gate {word}.", hint="`holdfast gate list` lists them.")
    raise NotFound(
        f"{len(bases)} gates begin with {word}: {', '.join(bases[:5])}.", hint="Give more letters."
    )


def find_open(context: GateContext, word: str, writer: Writer) -> GateState:
    """Return a gate by its name, as it stands now; Conflict when it was answered or withdrawn."""
    id = find_gate(context.workspace, word)
    state = read_now(context.workspace, id, now=context.now, writer=writer)
    if rules.is_over(state):
        raise rules.already(state)
    return state


def base_of(id: str) -> str:
    """A gate's name without the number of its round."""
    base, dot, number = id.rpartition(".")
    return base if dot and number.isascii() and number.isdigit() else id


def latest_round(id: str, known: list[str]) -> str:
    if base_of(id) != id:
        return id
    rounds = [int(one.rpartition(".")[2]) for one in known if one != id and base_of(one) == id]
    return f"{id}.{max(rounds)}" if rounds else id


def open_gates(workspace: Workspace, but: str = "") -> list[GateState]:
    """Return the gates without an answer, the longest waiting first, without the gate `but`."""
    found = [
        load(workspace.journal, rules, head["stream"])[0]
        for head in _heads(workspace)
        if head["closed_at"] is None and head["stream"] != STREAMS + but
    ]
    return sorted((one for one in found if rules.is_open(one)), key=asked_at)


def every_gate(workspace: Workspace) -> Iterator[GateState]:
    for head in _heads(workspace):
        state: GateState = load(workspace.journal, rules, head["stream"])[0]
        if rules.is_asked(state):
            yield drop_uncounted(workspace, state)


def answered_since(workspace: Workspace, at: str, *, limit: int) -> list[GateState]:
    """Those with the latest answers after an instant, newest first. By their states: a hook on a machine
    with a server has no records of them."""
    after = clock.parse(at) if at else 0
    heads = {one["stream"] for one in _heads(workspace) if clock.parse(one["seen_at"]) >= after}
    found: list[GateState] = []
    for stream in workspace.journal.newest(STREAMS, limit=MOST_GATES) if heads else []:
        if stream not in heads:
            continue
        state: GateState = load(workspace.journal, rules, stream)[0]
        if drop_uncounted(workspace, state)["answer"] is not None:
            found.append(state)
        if len(found) == limit:
            break
    return found


def asked_at(state: GateState) -> tuple[str, str]:
    return (state["asked"]["at"], state["id"])


def read_now(workspace: Workspace, id: str, *, now: int, writer: Writer | None = None) -> GateState:
    """Return a gate as it stands at this time: one whose time is over is closed first."""
    now = agreed_time(workspace, now)
    state = read(workspace, id, writer)
    decision = rules.decide(state, {"do": "expire"}, now)
    if not decision.records:
        return state
    if not workspace.exists() or workspace.journal.read_only:
        # The next process that may write records it; for this reader, time has passed all the same.
        return after(state, decision.records, clock.stamp(now), "holdfast")
    stream = rules.stream_of(id)
    open_writer(workspace).execute(stream, {"do": "expire"}, actor="holdfast", now=now)
    return read(workspace, id)


def agreed_time(workspace: Workspace, now: int) -> int:
    """The time by which a gate expires: the server's, where the journal is on one. A machine whose clock
    is nine hours ahead must not close the gates of all."""
    if workspace.url:
        return server_time.now(workspace)
    return server_time.known(workspace, now) if workspace.local else now


def after(state: GateState, records: Sequence[tuple[str, Any]], at: str, actor: str) -> GateState:
    """A state with records that are not in the journal yet."""
    events: list[Event] = [
        {"id": "", "kind": kind, "body": body, "at": at, "actor": actor} for kind, body in records
    ]
    folded: GateState = fold(rules, state, events)
    return folded


def close(workspace: Workspace, id: str, *, now: int) -> None:
    """End the stream of a gate whose answer reached its asker: nothing more is to be said, and a list of
    open gates need not look at it."""
    if not workspace.journal.read_only:
        workspace.journal.end(rules.stream_of(id), clock.precise(now))


def is_closed(workspace: Workspace, id: str) -> bool:
    """Whether the answer of a gate reached its asker."""
    head = workspace.journal.head(rules.stream_of(id)) if workspace.exists() else None
    return head is not None and head["closed_at"] is not None


def _heads(workspace: Workspace) -> list[Head]:
    return workspace.journal.heads(STREAMS) if workspace.exists() else []


def for_a_pack(workspace: Workspace, since: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Commands to run first, and sections; the same words for the same state."""
    waiting = open_gates(workspace)
    commands = [
        f"holdfast gate wait {quote(one['id'])} --timeout 0"
        for one in waiting
        if not one["batch"] and one["asked"]["worktree"] == workspace.root
    ]
    sections = [("Gates that wait for a person", [_open_line(one) for one in waiting[:MOST]])]
    answers = [
        f"- {one['id']}: {_answer_text(one['answer'])}"
        for one in answered_since(workspace, since, limit=MOST)
    ]
    sections.append(("Gates that were answered, latest first", answers))
    return commands, [(title, lines) for title, lines in sections if lines]


def _open_line(state: GateState) -> str:
    kind, title, since = state["content"]["type"], state["content"]["title"], state["asked"]["at"]
    holds = f"; holds up {inert(state['holds'])}" if state["holds"] else ""
    return f"- {state['id']} ({kind}): {inert(title)}; since {since}{holds}"


def _answer_text(answer: Any) -> str:
    said = f"no: {answer['text']}"
    if answer["verdict"] == "yes":
        said = f"{answer['answer']}: {answer['text']}" if answer["text"] else answer["answer"]
    who = answer["person"]["name"] if answer["person"] else "its expiry"
    return inert(f"{said} ({who}, {answer['at']})")
