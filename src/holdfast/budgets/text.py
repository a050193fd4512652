"""The records of budgets in the words of people."""

from __future__ import annotations

from typing import Any

from holdfast.budgets.rules.boxes import amount
from holdfast.budgets.rules.ledger import BudgetState
from holdfast.budgets.rules.thresholds import STOP
from holdfast.parts import Tone, Words


def _judge_check(body: dict[str, Any]) -> Tone:
    how = {one.get("how") for one in body.get("handled") or [] if isinstance(one, dict)}
    return "bad" if "stopped" in how else "wait" if how & {"waiting", "warned"} else ""


def _tell_budget(state: BudgetState) -> str:
    """Return what the last check knew of the cost, and where it stops."""
    limit = state["limits"].get(STOP, {}).get("cost")
    if state["last_check"] is None or limit is None:
        return ""
    cost, stop = state["values"]["cost"], amount("cost", limit)
    if cost is None:
        return f"cost unknown: {stop} stops nothing"
    return f"cost {amount('cost', cost)} of {stop}"


WORDS = Words(
    about=_tell_budget,
    unnamed=["budget"],
    words={"checked": "budget checked"},
    tones={
        "acknowledged": "good",
        "checked": _judge_check,
        "prepared": "wait",
        "stopped": "bad",
    },
)
