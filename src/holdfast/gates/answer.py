"""A person's answer: shown what was asked, seen through their own channel, recorded once."""

from __future__ import annotations

from holdfast.gates import lookup
from holdfast.gates import person as people
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules import people as refusal
from holdfast.gates.rules.answer import declined, hint_for, understood
from holdfast.gates.rules.gate_text import inert, render
from holdfast.gates.rules.picture import described
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.state import load
from holdfast.kernel.writer import Order
from holdfast.streams import open_writer, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.gates.person import Person
    from holdfast.gates.rules.answer import Answer
    from holdfast.gates.rules.gate import GateState
    from holdfast.gates.rules.people import PeopleState, Refused
    from holdfast.kernel.rules import Rules
    from holdfast.kernel.workspace import Workspace

# How often an answer that is none of the options is asked for again.
TRIES = 5
LONGEST_CLIENT = 80
SHORT_DIGEST = 12


def purpose_of(id: str) -> str:
    """What a refused attempt is recorded as."""
    return f"answer gate {id}"


def answer(
    workspace: Workspace, word: str, text: str | None, *, no: bool = False, now: int
) -> GateState:
    """Answer a gate as the person at this terminal. Without a text, it is asked for there."""
    state = lookup.read_now(workspace, lookup.find_gate(workspace, word), now=now)
    if rules.is_over(state):
        raise rules.already(state)
    read = None if text is None else _read(state, text, no)
    shown = [*facts(state, now), *attached(state), "", *_rendered(state)]
    if read is not None:
        shown += ["", f"Your answer: {_said(read)}"]
    person = people.require(workspace, purpose_of(state["id"]), shown, now=now)
    if text is None:
        text = _asked_for(state)
    return _record(workspace, state, text, no, person, "\n".join(shown))


def answer_by_elicitation(
    workspace: Workspace, id: str, text: str, *, client: str, saw: str, now: int
) -> GateState:
    """The answer that came through a client's dialogue. Nobody saw a person, so the record names the
    client, and a gate that holds anything up is not answered so."""
    state = lookup.read_now(workspace, id, now=now)
    name = f"{inert(client)[:LONGEST_CLIENT] or 'a client'}, by elicitation"
    at = clock.precise(now)
    spoke: Person = {"name": name, "channel": rules.ELICITATION, "terminal": "", "at": at}
    return _record(workspace, state, text, False, spoke, saw)


def answer_at_page(
    workspace: Workspace, word: str, text: str, *, no: bool = False, note: str = "", person: Person
) -> GateState:
    """Answer a gate as the person who signed in to the page, with a note for whoever waits."""
    now = clock.parse(person["at"])
    state = lookup.read_now(workspace, lookup.find_gate(workspace, word), now=now)
    if rules.is_over(state):
        raise rules.already(state)
    _read(state, text, no)
    saw = "\n".join([*facts(state, now), *attached(state), "", *_rendered(state)])
    return _record(workspace, state, text, no, person, saw, note)


def _read(state: GateState, text: str, no: bool) -> Answer:
    assert state["content"] is not None
    return declined(text) if no else understood(state["content"], text)


def _said(read: Answer) -> str:
    """As it will be understood, before it is confirmed."""
    return inert(f"no ({read['answer']}): {read['text']}" if read["text"] else read["answer"])


def _rendered(state: GateState) -> list[str]:
    assert state["content"] is not None
    return render(state["content"]).split("\n")


def facts(state: GateState, now: int) -> list[str]:
    """What holdfast itself knows of a gate, in its own words."""
    asked = state["asked"]
    assert asked is not None
    who = inert(asked["agent"] or asked["by"])
    minutes = max(0, now - clock.parse(asked["at"])) // clock.MINUTE
    found = [f"Gate {state['id']}, asked by {who} {minutes} min ago ({asked['at']})"]
    if state["holds"]:
        found.append(f"It holds up: {inert(state['holds'])}")
    if state["cost_tokens"] is not None and not state["batch"]:
        found.append(f"A stop now costs {state['cost_tokens']:,} tokens of context to rebuild")
    if state["expires_at"]:
        found.append(f"Without an answer by {state['expires_at']}: {inert(state['default'])}")
    return found


def attached(state: GateState) -> list[str]:
    """The pictures that stand beside a gate's question, by name and digest."""
    return [
        f"Attached: {inert(described(one))}, sha256 {one['digest'][:SHORT_DIGEST]}"
        for one in rules.pictures_of(state)
    ]


def refused_attempts(workspace: Workspace, id: str) -> list[Refused]:
    """Who tried to answer this gate without being a person, of the latest attempts."""
    if not workspace.exists() or workspace.journal.head(refusal.STREAM) is None:
        return []
    state: PeopleState = load(workspace.journal, refusal, refusal.STREAM)[0]
    return [one for one in state["latest"] if one["purpose"] == purpose_of(id)]


def _asked_for(state: GateState) -> str:
    """An answer that means something; what is none of the options is asked for again."""
    assert state["content"] is not None
    hint = hint_for(state["content"])
    for _ in range(TRIES):
        text = people.ask(f"{inert(hint)}: ")
        try:
            understood(state["content"], text)
        except Usage:
            continue
        return text
    raise Usage("No answer was given.", hint=hint)


def _record(
    workspace: Workspace,
    state: GateState,
    text: str,
    no: bool,
    person: Person,
    saw: str,
    note: str = "",
) -> GateState:
    key, stream, now = new_id(), rules.stream_of(state["id"]), clock.parse(person["at"])
    answering: Rules = rules.Answering(key)
    writer = open_writer(workspace)
    writer.rules_of = lambda name: answering if name == stream else rules_of(name)
    command = {"do": "answer", "answer": text, "no": no, "note": note, "key": key}
    command |= {"person": person, "saw": saw}
    try:
        # Not through `execute`: an answer is never left in an inbox.
        writer.execute_together([Order(stream, command)], actor=person["name"], now=now)
    except Conflict:
        latest = lookup.read(workspace, state["id"])
        if rules.is_over(latest):
            raise rules.already(latest) from None
        raise
    lookup.close(workspace, state["id"], now=now)
    return lookup.read(workspace, state["id"])
