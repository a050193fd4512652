"""The limits in force, the files that set them, and where each of them comes from.

Flags come first, then the waypoint, the project's `.autopilot/config.yaml`, the user's own file, and the
protocol. A flag may lower an alert or a stop. Only a person raises one: in the file, or at `guard reset`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.budgets.rules import thresholds, triggers
from holdfast.budgets.rules.boxes import amount
from holdfast.budgets.rules.thresholds import ALERT, ALL_TYPES, LEVELS, STOP, bad
from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage
from holdfast.kernel.plain_file import is_nested_deeper, read_plain
from holdfast.kernel.text import nearest
from holdfast.kernel.workspace import Workspace

if TYPE_CHECKING:
    import yaml

    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.budgets.rules.thresholds import Limits, Sources
    from holdfast.budgets.rules.triggers import Trigger

PROJECT_FILE = ".autopilot/config.yaml"
USER_FILE = os.path.join("autopilot", "config.json")
# PyYAML reads so much in half a second.
LARGEST_FILE = 64 * 1024
DEEPEST = 50
_SECTIONS = ("thresholds", "checkpoint_triggers")
# The names of the user's own file, from the upstream project.
_GLOBAL_NAMES = {"warnCost": thresholds.WARNING, "alertCost": ALERT, "maxCost": STOP}
PROTOCOL, WAYPOINT, FLAG = "protocol", "waypoint", "--limit"
RECORDED, OWN_HOME = "your own limit", "the repository's own journal"
LAST_CHECK = "last check"


def read_project_file(workspace: Workspace) -> tuple[Limits, list[Trigger]]:
    """What the project's file sets, if there is one. Keys that are not ours stay."""
    text = _read_text(os.path.join(workspace.root, PROJECT_FILE), PROJECT_FILE)
    if not text:
        return {}, []
    document = _parse_yaml(text)
    for name in document:
        hint = nearest(str(name), _SECTIONS)
        if name not in _SECTIONS and hint.startswith("Did you mean"):
            raise bad(f"{PROJECT_FILE}: {name}", "is unknown", hint=hint)
    given = thresholds.read(document.get("thresholds"), f"{PROJECT_FILE}: thresholds")
    section, where = document.get("checkpoint_triggers"), f"{PROJECT_FILE}: checkpoint_triggers"
    entries = triggers.read(section, where)
    bound = triggers.limits_in(section, entries, given, where)
    return thresholds.combine(bound, given), entries


def parse_project_file(text: str) -> Limits:
    """Return the thresholds of a text of the project's file."""
    document = _parse_yaml(text) if text.strip() else {}
    return thresholds.read(document.get("thresholds"), f"{PROJECT_FILE}: thresholds")


def _parse_yaml(text: str) -> dict[str, Any]:
    import yaml

    if is_nested_deeper(text, DEEPEST):
        raise bad(PROJECT_FILE, f"is nested deeper than {DEEPEST} levels")
    try:
        # BaseLoader: every scalar stays text, so that `06` and `12,50` arrive as they were written.
        loader = yaml.BaseLoader(text)
        root = loader.get_single_node()
        _refuse_twice(root, "", set())
        document = None if root is None else loader.construct_document(root)
    except (yaml.YAMLError, RecursionError) as problem:
        what = " ".join(str(problem).split()) or "nested too deeply"
        raise bad(PROJECT_FILE, f"is not YAML: {what:.200}") from None
    if document in (None, ""):
        return {}
    if not isinstance(document, dict):
        raise bad(PROJECT_FILE, f"must be a table with {' and '.join(_SECTIONS)}")
    return document


def _refuse_twice(node: yaml.Node | None, where: str, shown: set[int]) -> None:
    """YAML lets a key stand twice, and the last one wins unseen. It also lets one value stand in many
    places, which makes a small text large."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    if id(node) in shown:
        raise bad(f"{PROJECT_FILE}: {where}", "is an alias; write the value out")
    shown.add(id(node))
    seen = set()
    for key, value in node.value:
        name = f"{where}.{key.value}" if where else str(key.value)
        if name in seen:
            raise bad(
                f"{PROJECT_FILE}: {name}", f"stands there twice (line {key.start_mark.line + 1})"
            )
        seen.add(name)
        _refuse_twice(value, name, shown)


def user_file_path() -> str:
    """Where the user's own file is."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    return os.path.join(folder, USER_FILE)


def read_user_file() -> tuple[str, Limits]:
    """What the user's own file sets for all projects, and where that file is."""
    import json

    path = user_file_path()
    text = _read_text(path, path)
    if not text:
        return path, {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise bad(path, f"is not JSON: {problem}") from None
    if not isinstance(document, dict):
        raise bad(path, "must be a JSON object")
    section = document.get("defaults", document)
    section = section if isinstance(section, dict) else {}
    limits: Limits = {}
    for name, level in _GLOBAL_NAMES.items():
        if section.get(name) is not None:
            limits.setdefault(level, {})["cost"] = _cost(section[name], f"{path}: {name}")
    return path, limits


def find_raised(recorded: Limits) -> tuple[str, Limits]:
    """Return the numbers of the user's own file that do not count yet, and where that file is. The environment
    of the asking process chooses the file, so it only tightens what holds without it; a person confirms the
    rest with `holdfast trust`."""
    path, said = read_user_file()
    held = thresholds.tighten(recorded, said)
    raised = thresholds.select(said, lambda level, kind, one: one != held.get(level, {}).get(kind))
    return path, {level: numbers for level, numbers in raised.items() if numbers}


def describe_raised(recorded: Limits) -> str:
    """Say which numbers of the user's own file wait for a person; empty when none does."""
    path, raised = find_raised(recorded)
    numbers = ", ".join(
        f"{level}.{type} {amount(type, number)}"
        for level, one in raised.items()
        for type, number in one.items()
    )
    return f"{path} says {numbers}, which counts once you confirm it" if numbers else ""


def _cost(value: Any, key: str) -> float:
    if isinstance(value, str):
        return thresholds.parse_amount("cost", value, key)
    if not thresholds.is_amount(value):
        raise bad(key, f"must be an amount such as 10, not {value!r:.40}")
    return float(value)


def _read_text(path: str, name: str) -> str:
    try:
        content = read_plain(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise bad(name, f"cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad(name, f"is not UTF-8 at byte {error.start}") from None


def is_set(workspace: Workspace, state: BudgetState) -> bool:
    """Whether a person set a budget here: in the project's file, in their own, or at a reset; or an alert or a
    stop holds already. Until then hooks hold no agent to the protocol's numbers; a check is only a look."""
    holds = ("given", "lowered", "pending", "stopped", "own")
    return has_file(workspace) or any(state.get(name) for name in holds)


def has_file(workspace: Workspace) -> bool:
    """Whether there is a file in which a person can have set a limit."""
    paths = (os.path.join(workspace.root, PROJECT_FILE), user_file_path())
    return any(map(os.path.exists, paths))


class LimitsInForce(TypedDict):
    """By level (warning, alert, stop) and type (cost, context ...): the number, who set it, what it does.
    Cost is in dollars, context and variance in percent."""

    limits: Limits
    sources: Sources
    actions: dict[str, dict[str, str]]
    triggers: list[Trigger]


class InForce:
    """Every number with its source, and every trigger with its action. `own` are the person's own limits, for
    the record."""

    def __init__(
        self, limits: Limits, sources: Sources, entries: list[Trigger], own: Limits
    ) -> None:
        self.limits = limits
        self.sources = sources
        self.own = own
        self.triggers = triggers.in_force(entries)
        self.actions = triggers.actions_of(self.triggers)
        self.pause = triggers.pause_of(self.triggers)

    def describe(self) -> LimitsInForce:
        names = ("limits", "sources", "actions", "triggers")
        return {name: getattr(self, name) for name in names}  # type: ignore[return-value]

    def has(self, type: str) -> bool:
        """Whether any level of a type has a number."""
        return any(type in numbers for numbers in self.limits.values())

    def stop_of(self, type: str) -> tuple[str, float]:
        """The level and the number at which a type stops: its alert, where that is configured."""
        level = ALERT if self.actions[ALERT][type] in thresholds.STOPPING else STOP
        return level, thresholds.number_at(self.limits, level, type)


def in_force(
    workspace: Workspace,
    given: Limits,
    lowered: Limits,
    flags: Limits | None = None,
    *,
    own: Limits | None = None,
    around: Limits | None = None,
) -> InForce:
    """`given`, `lowered` and `own` are what a budget keeps: a person's word, the flags of a waypoint, and the
    person's own limits. `around` are the limits in the repository's own home, where this is another."""
    project, entries = read_project_file(workspace)
    path, said = read_user_file()
    own = thresholds.tighten(own or {}, said)
    layers = [
        (PROTOCOL, thresholds.DEFAULTS),
        (RECORDED, own),
        (path, thresholds.select(said, lambda *one: own.get(one[0], {}).get(one[1]) == one[2])),
        (PROJECT_FILE, project),
        (WAYPOINT, given),
    ]
    layers.append((WAYPOINT, thresholds.keep_lower(lowered, thresholds.stack(layers)[0])))
    if around:
        layers.append((OWN_HOME, thresholds.keep_lower(around, thresholds.stack(layers)[0])))
    if flags:
        layers.append((FLAG, flags))
        _refuse_raised(thresholds.stack_in_order(layers[:-1], default=PROTOCOL)[0], flags)
    return InForce(*thresholds.stack_in_order(layers, default=PROTOCOL), entries, own)


def in_force_anyway(
    workspace: Workspace, state: BudgetState, around: Limits | None = None
) -> tuple[InForce, str]:
    """The limits in force, and what is wrong with the file that sets them. A file that cannot be understood
    frees no agent: the limits of the last check hold, or the protocol's, and each number of the file that
    can be understood and is lower."""
    try:
        given, lowered, own = state["given"], state["lowered"], state.get("own")
        return in_force(workspace, given, lowered, own=own, around=around), ""
    except HoldfastError as error:
        if error.kind != "bad_config":
            raise
        problem = error.message
    source = LAST_CHECK if state["limits"] else PROTOCOL
    layers = [(source, state["limits"] or thresholds.DEFAULTS), (WAYPOINT, state["given"])]
    for name, lower in (
        (WAYPOINT, state["lowered"]),
        (PROJECT_FILE, _read_what_is_sound(workspace)),
        (OWN_HOME, around or {}),
    ):
        layers.append((name, thresholds.keep_lower(lower, thresholds.stack(layers)[0])))
    limits, sources = thresholds.stack(layers)
    return InForce(thresholds.put_in_order(limits), sources, [], state.get("own", {})), problem


def _read_what_is_sound(workspace: Workspace) -> Limits:
    try:
        text = _read_text(os.path.join(workspace.root, PROJECT_FILE), PROJECT_FILE)
        return thresholds.read_what_is_sound(_parse_yaml(text).get("thresholds"))
    except HoldfastError:
        return {}


def find_problem(workspace: Workspace, state: BudgetState) -> str:
    """What is wrong with a file that sets limits, and which stops hold all the same."""
    if not has_file(workspace):
        return ""
    held, problem = in_force_anyway(workspace, state)
    if not problem:
        return ""
    numbers = held.limits[STOP]
    stops = [f"{type} {amount(type, numbers[type])}" for type in ALL_TYPES if type in numbers]
    return f"{problem} Until a person corrects it, the budget stops at {', '.join(stops)}."


def _refuse_raised(limits: Limits, flags: Limits) -> None:
    for level, numbers in flags.items():
        for type, number in numbers.items():
            if level == thresholds.WARNING and number > limits[ALERT].get(type, float("inf")):
                raise Usage(
                    f"--limit warning.{type}={number:g} is above alert.{type} ({limits[ALERT][type]:g}).",
                    hint="A warning is at most its alert, an alert at most its stop.",
                )
            if level != thresholds.WARNING and number > limits[level].get(type, float("inf")):
                raise NotAllowed(
                    f"A flag cannot raise {level}.{type} from {limits[level][type]:g} to {number:g}.",
                    hint=f"A person raises it in {PROJECT_FILE}, or at `holdfast guard reset`.",
                    kind="limit_raised",
                )


def from_flags(words: Sequence[str]) -> Limits:
    """`stop.cost=20`, as often as wanted."""
    limits: Limits = {}
    for word in words:
        name, equals, text = word.partition("=")
        level, _, type = name.partition(".")
        if not equals or level not in LEVELS or type not in ALL_TYPES:
            raise Usage(
                f"--limit {word!r:.60} is not LEVEL.TYPE=AMOUNT.",
                hint=f"Such as stop.cost=20; levels {', '.join(LEVELS)}, types {', '.join(ALL_TYPES)}.",
            )
        try:
            limits.setdefault(level, {})[type] = thresholds.QUANTITIES[type].read(text)
        except ValueError as problem:
            raise Usage(f"--limit {name} {problem}.") from None
    return limits
