"""Whether an agent may stop: a waiting gate lets it, open tasks of the loop do not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, TypedDict

    class StopRuling(TypedDict):
        """`gate` and `open` say why; only `open` blocks."""

        why: Literal["no loop", "gate", "not executing", "together", "finished", "open", "enough"]
        blocks: bool


# Modes in which a person is at work too, so that the loop does not drive the agent on.
TOGETHER = ("pair", "swarm")
MOST_BLOCKS = 5
MOST_IN_A_ROW = 50


def judge(loop: Mapping[str, Any], blocked_before: int, *, in_a_row: int = 0) -> StopRuling:
    """`loop` is what `.ccc-state.json` says; `blocked_before` how often this task's stop was blocked,
    `in_a_row` how often any was since one was allowed: a loop may go back and forth.

    The counter is our own: not every client ends a hook that blocks for ever.
    """
    if not loop:
        return {"why": "no loop", "blocks": False}
    if loop.get("awaitingGate") is not None:
        return {"why": "gate", "blocks": False}
    if loop.get("phase") != "execution":
        return {"why": "not executing", "blocks": False}
    if loop.get("executionMode") in TOGETHER:
        return {"why": "together", "blocks": False}
    index, total = loop.get("taskIndex"), loop.get("totalTasks")
    if not isinstance(index, int) or not isinstance(total, int) or index >= total:
        return {"why": "finished", "blocks": False}
    most = _wanted(loop, "maxTaskIterations", MOST_BLOCKS)
    if blocked_before >= most or in_a_row >= _wanted(loop, "maxGlobalIterations", MOST_IN_A_ROW):
        return {"why": "enough", "blocks": False}
    return {"why": "open", "blocks": True}


def _wanted(loop: Mapping[str, Any], name: str, otherwise: int) -> int:
    wanted = loop.get(name)
    return wanted if isinstance(wanted, int) and wanted > 0 else otherwise
