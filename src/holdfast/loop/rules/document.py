"""The text of a track's file: read strictly, written with its keys where they stood."""

from __future__ import annotations

from holdfast.kernel import canonical_json
from holdfast.kernel.text import harmless_json
from holdfast.loop.rules.model import RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Order = Mapping[str, list[str]]

INDENT = "  "
DEEPEST = 100


class Corrupt(ValueError):
    """Why a text is not a track's file."""


def parse(text: str) -> dict[str, Any]:
    """The document of a text, keys in their order; Corrupt says what is wrong with it."""
    try:
        document = canonical_json.loads(text)
    except ValueError as error:
        raise Corrupt(_where(text, str(error))) from None
    _must_be(document, dict, "the file")
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
    result: dict[str, Any] = document
    return result


_PARTS = (
    ("progress", dict),
    ("commits", list),
    ("output_files", list),
    ("completed_tasks", list),
    ("fixes_applied", list),
)
_NAMES: dict[type, str] = {dict: "an object", list: "a list"}


def _must_be(value: Any, kind: type, place: str) -> None:
    is_root = place == "the file"
    if (value is not None or is_root) and not isinstance(value, kind):
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
    import json

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
    """Our own order. Remembered, because the objects of one file are of a few kinds."""
    kind = tuple(keys)
    known = _kinds.get(kind)
    if known is None:
        known = sorted(kind, key=lambda key: (RANK.get(key, len(RANK)), key))
        if len(_kinds) >= MOST_KINDS:
            _kinds.clear()
        _kinds[kind] = known
    return known


_kinds: dict[tuple[str, ...], list[str]] = {}
MOST_KINDS = 256
# The text of objects in lists, such as commits, with the object itself, so that no other gets its identity. No
# object of a state is changed in its place, and most of a track's file is the same from one task to the next.
_written: dict[tuple[int, str], tuple[Any, str]] = {}
MOST_WRITTEN = 4096


def write(document: dict[str, Any], order: Order) -> str:
    """The file: two blanks of indentation, as `jq` writes it."""
    from json.encoder import encode_basestring as spell

    def text_of(value: Any, place: str, margin: str) -> str:
        kind = type(value)
        # The usual values by themselves: the encoder takes as long as all the rest.
        if kind is str:
            return spell(value)
        if kind is int:
            return repr(value)
        if value is None:
            return "null"
        if not value or kind not in (dict, list):
            return _EMPTY.get(kind) or canonical_json.dumps(value)
        inner = margin + INDENT
        between = ",\n" + inner
        if kind is list:
            return f"[\n{inner}{between.join(lines_of(value, place, inner))}\n{margin}]"
        keys = _keys(value, order.get(place)) if order else _ranked(value)
        lines = []
        for key in keys:
            item = value[key]
            if type(item) is str:
                text = spell(item)
            else:
                text = text_of(item, place + pointer([key]) if order else "", inner)
            lines.append(f"{spell(key)}: {text}")
        return f"{{\n{inner}{between.join(lines)}\n{margin}}}"

    def lines_of(items: list[Any], place: str, inner: str) -> list[str]:
        """Most lists hold texts, such as the tasks that are done, or objects that were written before."""
        lines = []
        for position, item in enumerate(items):
            if type(item) is str:
                lines.append(spell(item))
            elif order:
                lines.append(text_of(item, f"{place}/{position}", inner))
            else:
                known = _written.get((id(item), inner))
                if known is None:
                    known = (item, text_of(item, "", inner))
                    if len(_written) >= MOST_WRITTEN:
                        _written.clear()
                    _written[id(item), inner] = known
                lines.append(known[1])
        return lines

    return harmless_json(text_of(document, "", "")) + "\n"


_EMPTY: dict[type, str] = {dict: "{}", list: "[]"}


def _keys(value: dict[str, Any], stored: list[str] | None) -> list[str]:
    """As they stood; what came since goes to the end, in our own order."""
    if not stored:
        return _ranked(value)
    known = dict.fromkeys(key for key in stored if key in value)
    return [*known, *_ranked(key for key in value if key not in known)]
