"""What people see at a threshold: a line for a warning, boxes for an alert and a stop; and the log's
lines, in the protocol's words. The log takes the lines, the console the boxes; AMB-PILOT-11."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.budgets.rules.thresholds import QUANTITIES, show_percent
from holdfast.kernel.text import width

# The protocol's own boxes are so wide inside; a longer row makes a wider one.
NARROWEST = 54
TITLE_INDENT = 11
# The command of autopilot that the document's box names, and ours.
COCKPIT, OURS = "/autopilot:cockpit --reset-alerts", "holdfast guard reset"
CLEARED = "✅ All alert acknowledgments cleared"
ACKNOWLEDGED = "✅ Acknowledged. Continuing..."
ACKNOWLEDGED_BEFORE = "⏩ Alert acknowledged previously, continuing..."
QUESTION = "Type 'ack' to acknowledge and continue, or 'stop' to halt."
CONTINUING = "   Continuing execution..."


def amount(type: str, value: float) -> str:
    """`$26.50`, `42%`, `3`."""
    return "no limit" if value == float("inf") else QUANTITIES[type].show(value)


def short_amount(type: str, value: float) -> str:
    """As in a warning: `$10`, without the cents where there are none; AMB-PILOT-13."""
    text = amount(type, value)
    return text.removesuffix(".00") if type == "cost" else text


def name_of(type: str) -> str:
    return type.capitalize()


def warning(type: str, value: float, threshold: float) -> list[str]:
    reached, limit = amount(type, value), short_amount(type, threshold)
    return [f"📝 Warning: {name_of(type)} at {reached} (threshold: {limit})", CONTINUING]


def alert(
    type: str, value: float, threshold: float, stop: float, *, aligned: bool = False
) -> list[str]:
    """Return the alert's box as the document has it; aligned, for a terminal."""
    return _box(
        aligned,
        "🔶 ALERT: Threshold Reached",
        [
            f"Type:      {name_of(type)}",
            f"Current:   {amount(type, value)}",
            f"Threshold: {amount(type, threshold)} (alert)",
            f"Next:      {amount(type, stop)} (stop)",
        ],
        [
            "This alert requires acknowledgment to continue.",
            "",
            "Type 'ack' to acknowledge and continue",
            "Type 'stop' to halt execution",
        ],
    )


def stop(
    type: str,
    value: float,
    threshold: float,
    level: str = "stop",
    *,
    aligned: bool = False,
    resume: str = COCKPIT,
) -> list[str]:
    """Return the stop's box, likewise. `resume` is the command that its last row names."""
    return _box(
        aligned,
        "🛑 STOP: Threshold Exceeded",
        [
            f"Type:      {name_of(type)}",
            f"Current:   {amount(type, value)}",
            f"Threshold: {amount(type, threshold)} ({level})",
        ],
        [
            "Execution HALTED. Checkpoint created.",
            "",
            "Options:",
            "1. Increase threshold in .autopilot/config.yaml",
            "2. Review and optimize remaining work",
            f"3. Resume with {resume}",
        ],
    )


LIFT = f"A person lifts this stop in a terminal: {OURS}"


def saved(path: str) -> str:
    return f"Waypoint saved: {path}"


def log_of(type: str, level: str, value: float, how: str) -> list[str]:
    """The lines that the protocol logs for one crossing."""
    number = show_percent(value).removesuffix("%")
    lines = [f"⚠️ Threshold triggered: {type} at {level} ({number})"]
    if how == "warned":
        lines.append(f"📝 Warning: {type} reached {number}")
    elif how == "acknowledged":
        lines.append(ACKNOWLEDGED_BEFORE)
    elif how == "waiting":
        lines += [f"🔶 ALERT: {type} at {number}", ""]
        lines += ["This threshold requires acknowledgment to continue.", QUESTION]
    else:
        lines += [f"🛑 STOP: {type} at {number}", ""]
        lines += ["This threshold requires immediate action."]
        lines += ["Execution cannot continue until issue is resolved."]
    return lines


def _box(aligned: bool, title: str, values: Sequence[str], text: Sequence[str]) -> list[str]:
    """Return three regions. In the document a row is one column wider than its bars; AMB-PILOT-12."""
    regions = [
        [" " * TITLE_INDENT + title],
        [f"  {row}" for row in values],
        [f"  {row}" for row in text],
    ]
    columns = max(NARROWEST, *(width(row) + 1 for region in regions for row in region))
    bar = "═" * columns
    wide = columns if aligned else columns + 1
    lines = [f"╔{bar}╗"]
    for position, region in enumerate(regions):
        if position:
            lines.append(f"╠{bar}╣")
        lines += [f"║{row}{' ' * (wide - width(row))}║" for row in region]
    return [*lines, f"╚{bar}╝"]
