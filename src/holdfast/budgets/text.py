"""The records of budgets in the words of people."""

from __future__ import annotations

from typing import Any

from holdfast.parts import Tone, Words


def _judge_check(body: dict[str, Any]) -> Tone:
    how = {one.get("how") for one in body.get("handled") or [] if isinstance(one, dict)}
    return "bad" if "stopped" in how else "wait" if how & {"waiting", "warned"} else ""


WORDS = Words(
    unnamed=["budget"],
    words={"checked": "budget checked"},
    tones={
        "acknowledged": "good",
        "checked": _judge_check,
        "prepared": "wait",
        "stopped": "bad",
    },
)
