"""The tools `gate_open` and `gate_status`, and the dialogue in which a client asks the person."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field, create_model
from typing_extensions import TypedDict

from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.ask import AskRequest
from holdfast.gates.ask import ask as open_gate
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as contents
from holdfast.gates.rules.content import DECISION, hint_for, inert, render
from holdfast.gates.rules.gate import GateState, is_blocking, is_open, withdrawn_of
from holdfast.gates.wait import list_gates, wait
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import quote, quoted
from holdfast.mcp.call import ToolAnswer, ToolCall, folder_of, require, tool
from holdfast.people.person import by_elicitation


class Unasked(BaseModel):
    """No question was asked; `why` says the reason."""

    why: str = ""


def question_for(context: Context, gate: str | None, ask: bool) -> Elicit[Any] | Unasked:
    """The question for the person. It may run twice in one call, and must give the same question then."""
    if not ask or not gate:
        return Unasked()
    try:
        with ToolCall(folder_of(context)) as call:
            state = lookup.read_now(
                call.workspace, lookup.find_gate(call.workspace, gate), now=call.now
            )
            call.refuse_stopped()
            message = call.door().text(question_text(state))
    except HoldfastError:
        return Unasked()  # the tool reports the error
    if not is_open(state):
        return Unasked()
    if is_blocking(state):
        return Unasked(why="It holds work up, so no client's dialogue answers it.")
    if not can_ask(context):
        return Unasked(why="This client has no dialogue to ask in.")
    return Elicit(message, form_of(state))


def can_ask(context: Context) -> bool:
    known = context.client_capabilities
    offered = known.elicitation if known is not None else None
    # `{}` meant a form before there were several modes.
    return offered is not None and (offered.form is not None or offered.url is None)


def question_text(state: GateState) -> str:
    """The text that the person sees. It holds nothing that changes between two calls."""
    by = inert(state["asked"]["agent"] or state["asked"]["by"])
    return f"Gate {state['id']}, asked by {by}\n\n{render(state['content'])}"


def form_of(state: GateState) -> type[BaseModel]:
    """One field: an option's id, or a text."""
    content = state["content"]
    ids = tuple(option["id"] for option in content["options"])
    kind: Any = Literal[ids] if content["type"] == DECISION and ids else str
    field = Field(title="Your answer", description=inert(hint_for(content)))
    return create_model("Answer", answer=(kind, field))


class OptionArgument(TypedDict):
    id: str
    name: str
    pros: str
    cons: str


def gate_open(
    call: ToolCall,
    kind: Annotated[
        Literal["verify", "decide", "act"],
        Field(description="Look; choose; do what no machine can."),
    ],
    title: Annotated[str, Field(description="What was built, is to be decided or done.")],
    items: Annotated[
        list[str] | None, Field(description="verify: what to look at; act: instructions.")
    ] = None,
    url: Annotated[str | None, Field(description="verify: where it runs.")] = None,
    context: Annotated[str | None, Field(description="decide: why it matters.")] = None,
    options: Annotated[
        list[OptionArgument] | None, Field(description="decide: at least two.")
    ] = None,
    why: Annotated[str | None, Field(description="act: why no machine can do it.")] = None,
    cause: Annotated[
        Literal["email", "payment", "oauth", "hardware", "captcha"] | None,
        Field(description="act"),
    ] = None,
    checklist: Annotated[
        dict[str, bool] | None,
        Field(description="act: cli, api, file, server, data, script: false, none can."),
    ] = None,
    name: str | None = None,
    holds: Annotated[str | None, Field(description="What cannot go on without it.")] = None,
    batch: Annotated[bool, Field(description="Collect for the end of the phase.")] = False,
    phase: str | None = None,
    expires: Annotated[str | None, Field(description="Such as 2h; needs default.")] = None,
    default: Annotated[str | None, Field(description="What silence means then.")] = None,
) -> ToolAnswer:
    """Ask a person what you cannot do or judge. What has a command or an API is yours to do, and refused."""
    require(title, "title")
    if kind == "decide":
        chosen: Any = options or []
        content = contents.decision(title, chosen, context=context or "")
    elif kind == "verify":
        if not items:
            raise Usage("items is missing.", hint="What should the person look at?")
        content = contents.verify(title, items, url=url or "")
    else:
        content = contents.action(
            title, items or [], why=why or "", cause=cause or "", checklist=checklist or {}
        )
    request = AskRequest(
        content=content,
        name=name or "",
        batch=batch,
        phase=phase or "",
        holds=holds or "",
        expires=expires or "",
        default=default or "",
        strict=True,
    )
    done = open_gate(_context(call), request)
    state = done["state"]
    data = {**state, "again": done["again"], "queued": done["queued"], "status": "waiting"}
    if done["queued"]:
        line = f"Queued as {done['id']}: the journal cannot be written from here. It waits there."
        return ToolAnswer([line], data, warnings=done["warnings"])
    if state["answer"]:
        line = f"Gate {done['id']} was answered meanwhile: gate_status tells what."
        data["status"] = state["answer"]["verdict"]
        return ToolAnswer([line], data, warnings=done["warnings"])
    again = " It was open already." if done["again"] else ""
    lines = [f"Gate {done['id']}: waiting.{again}", *_waiting(state)]
    return ToolAnswer(lines, data, warnings=done["warnings"])


def _context(call: ToolCall) -> GateContext:
    return GateContext(call.workspace, call.actor, call.now)


def gate_status(
    call: ToolCall,
    said: Annotated[ElicitationResult[BaseModel], Resolve(question_for)],
    gate: Annotated[str | None, Field(description="Id or name; else all open ones.")] = None,
    ask: Annotated[
        bool,
        Field(description="Put a batch gate to the person now, in this client."),
    ] = False,
) -> ToolAnswer:
    """What a person answered: yes, no (with their words) or waiting: do not act then, look
    again later. You cannot answer it."""
    if not gate:
        return _list_open(call)
    id = lookup.find_gate(call.workspace, gate)
    notes = _take_answer(call, id, said) if ask else []
    (state,) = wait(call.workspace, [id], seconds=0)
    given, known = state["answer"], withdrawn_of(state)
    if known is not None:
        line = f"Gate {id}: withdrawn: {inert(known['why'])} (by {inert(known['by'])})"
        return ToolAnswer([*notes, line], {**state, "status": "withdrawn"})
    if given is None:
        data = {**state, "status": "waiting"}
        return ToolAnswer([*notes, f"Gate {id}: waiting.", *_waiting(state)], data)
    who = given["person"]["name"] if given["person"] else "its expiry, no person answered"
    what = given["answer"] if given["verdict"] == "yes" else f"no. {given['text']}"
    line = f"Gate {id}: {given['verdict']}: {inert(what)} (by {inert(who)}, {given['at']})"
    return ToolAnswer([*notes, line], {**state, "status": given["verdict"]})


def _take_answer(call: ToolCall, id: str, said: ElicitationResult[BaseModel]) -> list[str]:
    """What came of asking in the client's dialogue."""
    if not isinstance(said, AcceptedElicitation):
        how = "declined" if said.action == "decline" else "closed"
        return [f"The dialogue was {how} without an answer."]
    if isinstance(said.data, Unasked):
        return [said.data.why] if said.data.why else []
    text = str(getattr(said.data, "answer", ""))
    state = lookup.read(call.workspace, id)
    try:
        person = by_elicitation(call.client, now=call.now)
        request = AnswerRequest(gate=id, text=text, person=person, saw=question_text(state))
        answer(_context(call), request)
    except HoldfastError as refused:
        return [refused.message]
    return []


def _waiting(state: GateState) -> list[str]:
    """How a person can answer, and whether the agent may go on."""
    id = state["id"]
    how = f"A person answers in a terminal of their own: holdfast gate answer {quote(id)}"
    if is_blocking(state):
        return [f"Tell your user that it waits. {how}"]
    return [f"It is collected for the end of the phase; go on with other work. {how}"]


def _list_open(call: ToolCall) -> ToolAnswer:
    call.refuse_stopped()
    found = list_gates(_context(call))
    lines = [
        f"{state['id']}: {quoted(state['content']['title'])} "
        f"({'waits for a person' if is_blocking(state) else 'collected'})"
        for state in found
    ]
    data = {"gates": [{**state, "status": "waiting"} for state in found]}
    return ToolAnswer(lines or ["No gate waits."], data)


TOOLS = [tool(gate_open), tool(gate_status)]
