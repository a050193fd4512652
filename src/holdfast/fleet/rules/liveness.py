"""How long an agent has been silent, and what the protocol calls that."""

from __future__ import annotations

from holdfast.fleet.rules.model import CADENCE, MINIMAL_WORK, STALE_AFTER, WARNING_AFTER
from holdfast.kernel import clock
from holdfast.kernel.clock import HOUR, MINUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Liveness = Literal["ACTIVE", "WARNING", "STALE", "COMPLETE"]


def instant_of(value: Any) -> int | None:
    """The time that a checkpoint names; None when it names none.

    Some agents write an offset instead of the `Z`, or neither; without both it is UTC. FLEET-10
    """
    if not isinstance(value, str):
        return None
    text, offset = value.strip().replace(" ", "T").replace("z", "Z"), 0
    sign, zone = text[-6:-5], text[-5:]
    if sign and sign in "+-" and zone[2] == ":" and zone.replace(":", "").isdecimal():
        offset = (int(zone[:2]) * HOUR + int(zone[3:]) * MINUTE) * (-1 if sign == "-" else 1)
        text = text[:-6]
    try:
        return clock.parse(text if text.endswith("Z") else f"{text}Z") - offset
    except ValueError:
        return None


def age_minutes(last_checkpoint_ms: int, now_ms: int) -> int:
    """Whole minutes since a checkpoint; a time in the future is no age. FLEET-43"""
    return (now_ms - last_checkpoint_ms) // MINUTE if now_ms > last_checkpoint_ms else 0


def liveness(age: int, status: str, inclusive: bool = False) -> Liveness:
    """The liveness by the age in minutes and the status: a complete agent is never stale. AMB-FLEET-04"""
    if status == "COMPLETE":
        return "COMPLETE"
    if inclusive:
        age += 1  # `30 or more` of whole minutes is `more than 30` of one minute later
    if age <= WARNING_AFTER:
        return "ACTIVE"
    return "STALE" if age > STALE_AFTER else "WARNING"


def line(agent: str, said: str, age: int) -> str:
    """The line of the protocol's scan about an agent; FLEET-47. A complete agent has its age too, and has
    not crashed."""
    if said == "COMPLETE":
        return f"✅ {agent}: COMPLETE ({age} min ago)"
    if said == "STALE":
        return f"❌ {agent}: STALE ({age} min) - Likely crashed"
    if said == "WARNING":
        return f"⚠️ {agent}: WARNING ({age} min) - May be slow"
    return f"✅ {agent}: ACTIVE ({age} min ago)"


def is_due(last_ms: int, now_ms: int) -> bool:
    """Whether a heartbeat is due; FLEET-20. It is also due when the last one lies far in the future, because
    the clock must have been set back."""
    return abs(now_ms - last_ms) >= CADENCE


def too_old_lines(age: int) -> list[str]:
    """The lines for an agent that resumes from a checkpoint that is too old; FLEET-89."""
    if age <= STALE_AFTER:
        return []
    return [
        f"ERROR: Checkpoint is {age} minutes old",
        "Agent likely crashed. Requires recovery procedure.",
    ]


def is_minimal_work(began_ms: int, last_ms: int) -> bool:
    """Whether so little was done that a restart loses little; FLEET-73."""
    return last_ms - began_ms < MINIMAL_WORK
