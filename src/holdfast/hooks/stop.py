"""Whether an agent may stop, and what holds when it must.

The counter is our own, one for each session: Codex and Gemini would let a hook block for ever. It
begins anew with another task, or when a person asks for something. Where it cannot be kept, nothing is
blocked.
"""

from __future__ import annotations

from holdfast.hooks.activity import find_hold, is_any
from holdfast.session import session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome
    from holdfast.kernel.latch import Latch
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.stop_gate import StopRuling

_COUNTED = "stops"
# So many characters at the end of a prompt of ours tell it from a person's.
OWN_WORDS = 200


def ruling_of(workspace: Workspace, session: str) -> tuple[StopRuling, Mapping[str, Any]]:
    """What the loop of the CCC protocol says to a stop, and the loop itself."""
    from holdfast.kernel.errors import HoldfastError
    from holdfast.session.ccc_files import read_preferences, read_state
    from holdfast.session.rules.stop_gate import judge

    try:
        loop = read_state(workspace)
    except HoldfastError:
        loop = {}
    if loop:
        preferences = read_preferences(workspace)
        loop = {"maxTaskIterations": preferences["max_task_iterations"], **loop}
    counted = session_files.read(workspace, session, _COUNTED)
    same_task = counted.get("task") == loop.get("taskIndex")
    ruling = judge(
        loop,
        _number(counted.get("count")) if same_task else 0,
        in_a_row=_number(counted.get("in_a_row")),
    )
    # A gate that holds up this worktree, or an alert: to drive the agent on would be in vain.
    if ruling["blocks"] and (find_hold(workspace, session) or is_any("waits", workspace)):
        ruling = {"why": "gate", "blocks": False}
    return ruling, loop


def count(workspace: Workspace, session: str, task: object, prompt: str) -> None:
    """One more stop was answered. OSError where that cannot be kept: then it must not be."""
    counted = session_files.read(workspace, session, _COUNTED)
    again = _number(counted.get("count")) if counted.get("task") == task else 0
    in_a_row = _number(counted.get("in_a_row"))
    own = prompt.strip()[-OWN_WORDS:]
    value = {"task": task, "count": again + 1, "in_a_row": in_a_row + 1, "prompt": own}
    session_files.keep(workspace, session, _COUNTED, value)


def prompted(workspace: Workspace, session: str, prompt: str) -> None:
    """The agent was asked for something: if a person asked, the count begins anew. Some clients
    tell a hook of the hook's own prompt, too."""
    counted = session_files.read(workspace, session, _COUNTED)
    own = counted.get("prompt")
    if counted and prompt.strip() and not (isinstance(own, str) and own and own in prompt):
        forget(workspace, session)


def forget(workspace: Workspace, session: str) -> None:
    session_files.drop(workspace, session, _COUNTED)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def add_stop(
    outcome: HookOutcome, event: HookEvent, workspace: Workspace, stopped: Latch, now: int
) -> HookOutcome:
    """What a hook would have said, and on top of it that the agent has to stop: at once, or after the
    one turn that a budget leaves it to checkpoint in."""
    if event.means in ("nothing", "unknown"):
        return outcome
    from holdfast.kernel import last_turn
    from holdfast.kernel.stops import words

    text = words(stopped)
    last = f"{text}\n{last_turn.WORDS}"
    if event.means == "stop" and last_turn.take(workspace, event.session, now=now):
        return {"prompt": last}
    if event.means == "tool":
        from holdfast.hooks.pre_tool_use import is_way_out

        if not last_turn.is_open(workspace, now=now):
            return {"deny": text, "halt": text}
        return {} if is_way_out(event) else {"deny": last}
    goes_on = event.means in ("compacting", "may compact", "used")
    if goes_on and last_turn.is_open(workspace, now=now):
        return {**outcome, "tell": last}
    context = outcome.get("context", "")
    left: HookOutcome = {"halt": text}
    if event.means in ("start", "prompt", "used"):
        left["context"] = f"{text}\n\n{context}" if context else text
    return left
