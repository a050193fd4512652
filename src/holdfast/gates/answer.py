"""The side of the person: show what was asked, identify the person, and record the answer once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.gates import lookup
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import Content, decline, hint_for, inert, render, understand
from holdfast.gates.rules.gate import GateState
from holdfast.gates.rules.picture import describe
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.signatures import sign, text_of
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import command as command_line
from holdfast.kernel.text import quote
from holdfast.kernel.trust import notice_arrival
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.people import person as people
from holdfast.people.rules import people as refusal

if TYPE_CHECKING:
    from holdfast.people.rules.people import PeopleState, Refused


# How often an answer that is none of the options is asked for again.
TRIES = 5
SHORT_DIGEST = 12
# The lines of a gate that tell a person what to type.
WHAT_TO_TYPE = ("**Resume:**", "**Select:**")


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """An answer to a gate; `no` makes `text` the reason of a plain no, `note` goes to the agent.

    Without a `person`, the one at the terminal of this process is asked to identify themselves, and for
    the text if there is none. A page and a client's dialogue name theirs, with the text that they `saw`
    if it was not the usual one."""

    gate: str
    text: str | None = None
    no: bool = False
    note: str = ""
    person: Person | None = None
    saw: str = ""


def answer(context: GateContext, request: AnswerRequest) -> GateState:
    """Record a person's answer to a gate."""
    notice_arrival(context.workspace)
    writer = open_writer(context.workspace)
    state = lookup.find_open(context, request.gate, writer)
    if "uncounted" in state:
        raise Conflict(
            f"Gate {state['id']} has an answer {state['uncounted_why']}; it does not count.",
            hint="The agent asks again; then it is a new gate.",
            kind="gate_unsigned" if state["uncounted_why"] == lookup.UNSIGNED else "gate_elsewhere",
        )
    content, purpose = state["content"], lookup.purpose_of(state["id"])
    text, person = request.text, request.person
    if text is not None:
        read = decline(text) if request.no else understand(content, text)
    shown = [*facts(state, context.now), *list_attached(state), "", *render(content).split("\n")]
    if person is not None:
        person = people.refuse_made_up(context.workspace, purpose, person, now=context.now)
    elif text is None:
        person = people.require(context.workspace, purpose, now=context.now)
        people.show(shown)
        text = _ask_for_text(content, state["id"])
    else:
        # Without what to type: the answer is here, and only the word is wanted.
        shown = [line for line in shown if not line.startswith(WHAT_TO_TYPE)]
        # As it will be understood, before it is confirmed.
        said = f"no ({read['answer']}): {read['text']}" if read["text"] else read["answer"]
        shown += [f"Your answer: {inert(said)}"]
        person = people.require(context.workspace, purpose, shown, now=context.now)
    saw = request.saw or "\n".join(shown)
    return _record(writer, state, text or "", request, person, saw)


def facts(state: GateState, now: int) -> list[str]:
    """What holdfast itself knows of a gate, in its own words."""
    asked = state["asked"]
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


def list_attached(state: GateState) -> list[str]:
    """The pictures that stand beside a gate's question, by name and digest."""
    return [
        f"Attached: {inert(describe(one))}, sha256 {one['digest'][:SHORT_DIGEST]}"
        for one in rules.pictures_of(state)
    ]


def refused_attempts(workspace: Workspace, id: str) -> list[Refused]:
    """Who tried to answer this gate without being a person, of the latest attempts."""
    if not workspace.exists() or workspace.journal.head(refusal.STREAM) is None:
        return []
    state: PeopleState = load(workspace.journal, refusal, refusal.STREAM)[0]
    return [one for one in state["latest"] if one["purpose"] == lookup.purpose_of(id)]


def _ask_for_text(content: Content, id: str) -> str:
    """An answer that means something; what is none of the options is asked for again."""
    hint, wrong = hint_for(content), ""
    for _ in range(TRIES):
        text = people.ask(f"{wrong}{inert(hint)}: ")
        try:
            understand(content, text)
        except Usage as problem:
            decline = f"holdfast gate answer {quote(id)} --no WHY"
            wrong = f"{inert(problem.message)} To decline, press Ctrl+C and type: {decline}\n"
            continue
        return text
    raise Usage("No answer was given.", hint=hint)


def _record(
    writer: Writer, state: GateState, text: str, request: AnswerRequest, person: Person, saw: str
) -> GateState:
    """Record the answer. The gate is read once: the writer has its state before and after."""
    stream, workspace = rules.stream_of(state["id"]), writer.workspace
    command = {"do": "answer", "answer": text, "no": request.no, "note": request.note, "saw": saw}
    # Cleaned here: what is signed has to be what is kept.
    command = writer.redactor.value(command, canonical_json.dumps(command))
    said = rules.said_of(rules.read_answer(state["content"], command))
    purpose = lookup.purpose_of(state["id"])
    signed = text_of(purpose, rules.subject_of(state), said, command["saw"])
    typed = command_line("gate", "answer", state["id"], command["answer"])
    command["person"] = sign(workspace, person, signed, command=typed)
    try:
        # Not through `execute`: an answer is never left in an inbox.
        commit(
            writer, [Order(stream, command)], actor=person["name"], now=clock.parse(person["at"])
        )
    except Conflict:
        latest = lookup.read(workspace, state["id"])
        if rules.is_over(latest):
            raise rules.already(latest) from None
        raise
    return lookup.drop_uncounted(workspace, writer.remembered[stream].state)
