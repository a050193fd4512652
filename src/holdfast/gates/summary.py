"""What a resumed session is told of gates: those that wait here, and what people answered lately."""

from __future__ import annotations

from holdfast.gates import lookup
from holdfast.gates.rules.gate_text import inert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState
    from holdfast.kernel.workspace import Workspace

MOST = 10


def for_a_pack(workspace: Workspace, since: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Commands to run first, and sections; the same words for the same state."""
    waiting = lookup.open_gates(workspace)
    blocking = [one for one in waiting if not one["batch"] and _is_here(workspace, one)]
    commands = [f"holdfast gate wait {one['id']} --timeout 0" for one in blocking]
    sections = [("Gates that wait for a person", [_open(one) for one in waiting[:MOST]])]
    answers = [
        f"- {one['id']}: {_said(one['answer'])}"
        for one in lookup.answered_since(workspace, since, limit=MOST)
    ]
    sections.append(("Gates that were answered, latest first", answers))
    return commands, [(title, lines) for title, lines in sections if lines]


def _is_here(workspace: Workspace, state: GateState) -> bool:
    return state["asked"] is not None and state["asked"]["worktree"] == workspace.root


def _open(state: GateState) -> str:
    since = state["asked"]["at"] if state["asked"] else ""
    kind = state["content"]["type"] if state["content"] else ""
    holds = f"; holds up {inert(state['holds'])}" if state["holds"] else ""
    return f"- {state['id']} ({kind}): {inert(lookup.title_of(state))}; since {since}{holds}"


def _said(answer: object) -> str:
    if not isinstance(answer, dict):
        return ""
    said = f"no: {answer['text']}"
    if answer["verdict"] == "yes":
        said = f"{answer['answer']}: {answer['text']}" if answer["text"] else answer["answer"]
    who = answer["person"]["name"] if answer["person"] else "its expiry"
    return inert(f"{said} ({who}, {answer['at']})")
