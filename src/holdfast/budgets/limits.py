"""The limits in force, and where each of them comes from.

Flags, then the waypoint, then the project's file, then the user's own, then the protocol. A flag may
lower an alert or a stop; raising one is a person's: in the file, or at `guard reset`.
"""

from __future__ import annotations

from holdfast.budgets import config_file
from holdfast.budgets.rules import thresholds, triggers
from holdfast.budgets.rules.thresholds import ALERT, LEVELS, STOP, STOPPING, TYPES, WARNING
from holdfast.budgets.rules.units import UNITS
from holdfast.kernel.errors import NotAllowed, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.budgets.rules.thresholds import Limits, Sources
    from holdfast.budgets.rules.triggers import Trigger
    from holdfast.kernel.workspace import Workspace

PROTOCOL, WAYPOINT, FLAG = "protocol", "waypoint", "--limit"


class InForce:
    """Every number with its source, and every trigger with its action."""

    def __init__(self, limits: Limits, sources: Sources, entries: list[Trigger]) -> None:
        self.limits = limits
        self.sources = sources
        self.triggers = triggers.in_force(entries)
        self.actions = triggers.actions_of(self.triggers)
        self.pause = triggers.pause_of(self.triggers)

    def stop_of(self, type: str) -> tuple[str, float]:
        """The level and the number at which a type stops: its alert, where that is configured."""
        level = ALERT if self.actions[ALERT][type] in STOPPING else STOP
        return level, self.limits[level][type]


def in_force(
    workspace: Workspace, given: Limits, lowered: Limits, flags: Limits | None = None
) -> InForce:
    """`given` and `lowered` are what a budget keeps: a person's word, and the flags of a waypoint."""
    project, entries = config_file.project(workspace)
    path, own = config_file.everywhere()
    layers = [
        (PROTOCOL, thresholds.DEFAULTS),
        (path, own),
        (config_file.PROJECT, project),
        (WAYPOINT, given),
    ]
    layers.append((WAYPOINT, thresholds.below(lowered, thresholds.stacked(layers)[0])))
    if flags:
        _refuse_raised(thresholds.stacked(layers)[0], flags)
        layers.append((FLAG, flags))
    return InForce(*thresholds.layered(layers), entries)


def _refuse_raised(limits: Limits, flags: Limits) -> None:
    for level, numbers in flags.items():
        for type, number in numbers.items():
            if level != WARNING and number > limits[level][type]:
                raise NotAllowed(
                    f"A flag cannot raise {level}.{type} from {limits[level][type]:g} to {number:g}.",
                    hint=f"A person raises it in {config_file.PROJECT}, or at `holdfast guard reset`.",
                    kind="limit_raised",
                )


def from_flags(words: Sequence[str]) -> Limits:
    """`stop.cost=20`, as often as wanted."""
    limits: Limits = {}
    for word in words:
        name, equals, text = word.partition("=")
        level, _, type = name.partition(".")
        if not equals or level not in LEVELS or type not in TYPES:
            raise Usage(
                f"--limit {word!r:.60} is not LEVEL.TYPE=AMOUNT.",
                hint=f"Such as stop.cost=20; levels {', '.join(LEVELS)}, types {', '.join(TYPES)}.",
            )
        try:
            limits.setdefault(level, {})[type] = UNITS[type](text)
        except ValueError as problem:
            raise Usage(f"--limit {name} {problem}.") from None
    return limits
