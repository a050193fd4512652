"""Taking a question back: nobody is asked any more, and nobody has answered."""

from __future__ import annotations

from holdfast.clients.current_session import own_id
from holdfast.gates import lookup
from holdfast.gates.rules import gate as rules
from holdfast.kernel.errors import NotAllowed, Usage
from holdfast.kernel.writer import Order
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState
    from holdfast.kernel.workspace import Workspace


def withdraw_own(workspace: Workspace, word: str, *, why: str, actor: str, now: int) -> GateState:
    """Withdraw a gate as the one who asked it: by name, or from the same session."""
    state = lookup.read_now(workspace, lookup.find_gate(workspace, word), now=now)
    asked = state["asked"]
    assert asked is not None
    if rules.is_over(state):
        raise rules.already(state)
    if asked["by"] != actor and (not own_id() or asked["session"] != own_id()):
        raise NotAllowed(
            f"Gate {state['id']} was asked by {asked['by']}, who alone can withdraw it.",
            hint=f"A person can say no: holdfast gate answer {state['id']} --no WHY",
            kind="not_yours",
        )
    return withdraw(workspace, state["id"], why=why, actor=actor, now=now)


def withdraw(workspace: Workspace, id: str, *, why: str, actor: str, now: int) -> GateState:
    """Withdraw a gate. Not through the inbox: whoever is told that nobody waits must be right."""
    if not why.strip():
        raise Usage("Why is it withdrawn?", hint="--reason says it to whoever was asked.")
    command = {"do": "withdraw", "by": actor, "why": why.strip()}
    order = Order(rules.stream_of(id), command)
    open_writer(workspace).execute_together([order], actor=actor, now=now)
    lookup.close(workspace, id, now=now)
    return lookup.read(workspace, id)
