"""The files that set limits: the project's `.autopilot/config.yaml`, and the user's own defaults."""

from __future__ import annotations

import os

from holdfast.budgets.rules import thresholds, triggers
from holdfast.budgets.rules.thresholds import ALERT, STOP, WARNING, bad
from holdfast.budgets.rules.units import is_amount, money

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import yaml

    from holdfast.budgets.rules.thresholds import Limits
    from holdfast.budgets.rules.triggers import Trigger
    from holdfast.kernel.workspace import Workspace

PROJECT = ".autopilot/config.yaml"
GLOBAL = os.path.join("autopilot", "config.json")
LARGEST = 256 * 1024
_SECTIONS = ("thresholds", "checkpoint_triggers")
# The names of the user's own file, from the upstream project.
_GLOBAL_NAMES = {"warnCost": WARNING, "alertCost": ALERT, "maxCost": STOP}


def project(workspace: Workspace) -> tuple[Limits, list[Trigger]]:
    """What the project's file sets, if there is one. Keys that are not ours are somebody else's."""
    text = _text(os.path.join(workspace.root, PROJECT), PROJECT)
    if not text:
        return {}, []
    document = _parsed(text)
    for name in document:
        hint = thresholds.nearest(str(name), _SECTIONS)
        if name not in _SECTIONS and hint.startswith("Did you mean"):
            raise bad(f"{PROJECT}: {name}", "is unknown", hint=hint)
    given = thresholds.read(document.get("thresholds"), f"{PROJECT}: thresholds")
    section, where = document.get("checkpoint_triggers"), f"{PROJECT}: checkpoint_triggers"
    entries = triggers.read(section, where)
    bound = triggers.limits_in(section, entries, given, where)
    return thresholds.combined(bound, given), entries


def _parsed(text: str) -> dict[str, Any]:
    import yaml

    try:
        # BaseLoader: every scalar stays text, so that `06` and `12,50` arrive as they were written.
        root = yaml.compose(text, Loader=yaml.BaseLoader)
        _refuse_twice(root, "")
        document = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError) as problem:
        what = " ".join(str(problem).split()) or "nested too deeply"
        raise bad(PROJECT, f"is not YAML: {what:.200}") from None
    if document in (None, ""):
        return {}
    if not isinstance(document, dict):
        raise bad(PROJECT, f"must be a table with {' and '.join(_SECTIONS)}")
    return document


def _refuse_twice(node: yaml.Node | None, where: str) -> None:
    """YAML lets a key stand twice, and the last one wins unseen."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        name = f"{where}.{key.value}" if where else str(key.value)
        if name in seen:
            raise bad(f"{PROJECT}: {name}", f"stands there twice (line {key.start_mark.line + 1})")
        seen.add(name)
        _refuse_twice(value, name)


def everywhere_path() -> str:
    """Where the user's own file is."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    return os.path.join(folder, GLOBAL)


def everywhere() -> tuple[str, Limits]:
    """What the user's own file sets for all projects, and where that file is."""
    import json

    path = everywhere_path()
    text = _text(path, path)
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


def _cost(value: Any, key: str) -> float:
    if isinstance(value, str):
        try:
            return money(value)
        except ValueError as problem:
            raise bad(key, str(problem)) from None
    if not is_amount(value):
        raise bad(key, f"must be an amount such as 10, not {value!r:.40}")
    return float(value)


def _text(path: str, name: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise bad(name, f"cannot be read: {error.strerror}") from error
    if len(content) > LARGEST:
        raise bad(name, f"is larger than {LARGEST // 1024} KB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad(name, f"is not UTF-8 at byte {error.start}") from None
