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


def judge(loop: Mapping[str, Any], blocked_before: int) -> StopRuling:
    """`loop` is what `.ccc-state.json` says; `blocked_before` how often this task's stop was blocked.

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
    if blocked_before >= _most(loop):
        return {"why": "enough", "blocks": False}
    return {"why": "open", "blocks": True}


def _most(loop: Mapping[str, Any]) -> int:
    wanted = loop.get("maxTaskIterations")
    return wanted if isinstance(wanted, int) and wanted > 0 else MOST_BLOCKS
