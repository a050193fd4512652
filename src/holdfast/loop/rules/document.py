"""The text of a track's file: read strictly, written with its keys where they stood."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.kernel import canonical_json
from holdfast.kernel.text import harmless_json
from holdfast.loop.rules.model import RANK

Order = Mapping[str, list[str]]


DEEPEST = 100


class Corrupt(ValueError):
    """Why a text is not a track's file."""


def parse(text: str) -> dict[str, Any]:
    """The document of a text, keys in their order; Corrupt says what is wrong with it."""
    try:
        document = canonical_json.loads(text)
    except ValueError as error:
        raise Corrupt(_where(text, str(error))) from None
    if not isinstance(document, dict):
        raise Corrupt("the file is not an object")
    if _is_deep(document):
        raise Corrupt(f"nested more than {DEEPEST} levels deep")
    for place, kind in (("loop_state", dict), ("blockers", list)):
        _must_be(document.get(place), kind, place)
    loop = document.get("loop_state") or {}
    _must_be(loop.get("checkpoints"), dict, "loop_state.checkpoints")
    for step, checkpoint in (loop.get("checkpoints") or {}).items():
        place = f"loop_state.checkpoints.{step}"
        _must_be(checkpoint, dict, place)
        for name, kind in _PARTS:
            _must_be((checkpoint or {}).get(name), kind, f"{place}.{name}")
    return document


_PARTS = (
    ("progress", dict),
    ("commits", list),
    ("output_files", list),
    ("completed_tasks", list),
    ("fixes_applied", list),
)
_NAMES: dict[type, str] = {dict: "an object", list: "a list"}


def _must_be(value: Any, kind: type, place: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise Corrupt(f"{place} is not {_NAMES[kind]}")


def _is_deep(document: Any) -> bool:
    """Whether it is nested so deeply that a walk through it could fail."""
    level = [document]
    for _ in range(DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]
    return bool(level)


def _where(text: str, reason: str) -> str:
    """Line and column of what is wrong, which our own fast reader does not say."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        pass
    return reason


def pointer(path: Iterable[str | int]) -> str:
    """A path as one text, after RFC 6901."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def orders(value: Any, place: str = "") -> dict[str, list[str]]:
    """The order of keys of each object, where it is not the one that we would choose."""
    found: dict[str, list[str]] = {}
    if isinstance(value, dict):
        keys = list(value)
        if keys != _ranked(keys):
            found[place] = keys
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                found.update(orders(item, place + pointer([key])))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            if isinstance(item, (dict, list)):
                found.update(orders(item, f"{place}/{position}"))
    return found


def _ranked(keys: Iterable[str]) -> list[str]:
    """Return keys in our own order."""
    return sorted(keys, key=lambda key: (RANK.get(key, len(RANK)), key))


def write(document: dict[str, Any], order: Order) -> str:
    """Return the file's text: two blanks of indentation, as `jq` writes it."""
    text = json.dumps(_arranged(document, "", order), ensure_ascii=False, indent=2)
    return harmless_json(text) + "\n"


def _arranged(value: Any, place: str, order: Order) -> Any:
    """Return a value with its keys as they stood; what came since goes to the end, in our own order."""
    if isinstance(value, list):
        return [_arranged(item, f"{place}/{at}", order) for at, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    known = [key for key in order.get(place, ()) if key in value]
    keys = [*known, *_ranked(value.keys() - set(known))]
    return {key: _arranged(value[key], place + pointer([key]), order) for key in keys}
