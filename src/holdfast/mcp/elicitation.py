"""Ask the person about a gate in a dialogue of their client.

A client's hook can answer such a dialogue without a person seeing it. So only a gate that blocks no work
is asked here; docs/adr/0020-elicitation.md says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mcp.server.mcpserver import Context, Elicit
from pydantic import BaseModel, Field, create_model

from holdfast.gates import lookup
from holdfast.gates.rules.content import DECISION, hint_for, inert, render
from holdfast.gates.rules.gate import is_blocking, is_open
from holdfast.kernel.errors import HoldfastError
from holdfast.mcp.call import ToolCall
from holdfast.mcp.tool import folder_of

if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState


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
            message = call.redactor().text(shown(state))
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


def shown(state: GateState) -> str:
    """The text that the person sees. It holds nothing that changes between two calls."""
    content, asked = state["content"], state["asked"]
    assert content is not None
    assert asked is not None
    return (
        f"Gate {state['id']}, asked by {inert(asked['agent'] or asked['by'])}\n\n{render(content)}"
    )


def form_of(state: GateState) -> type[BaseModel]:
    """One field: an option's id, or a text."""
    content = state["content"]
    assert content is not None
    ids = tuple(option["id"] for option in content["options"])
    kind: Any = Literal[ids] if content["type"] == DECISION and ids else str
    field = Field(title="Your answer", description=inert(hint_for(content)))
    return create_model("Answer", answer=(kind, field))
