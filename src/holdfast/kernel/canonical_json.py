"""JSON in one canonical spelling, by CPython's own C parts.

`import json` pulls in `re` and `enum` and costs a hook 0.8 of a bare interpreter; the C scanner
and encoder beneath it cost 0.04. Where they are missing, the `json` module does the same.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _not_a_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _accelerated() -> tuple[Any, Any]:
    from _json import encode_basestring, make_encoder, make_scanner

    def unknown(value: object) -> object:
        raise TypeError(f"{type(value).__name__} is not JSON")

    # A plain namespace: a class takes longer to make than all the rest.
    namespace: Any = type(sys.implementation)
    settings = namespace(
        strict=True,
        object_hook=None,
        object_pairs_hook=None,
        parse_float=float,
        parse_int=int,
        parse_constant=_not_a_number,
        memo={},
    )
    scan = make_scanner(settings)

    # Without markers: a circle ends as a RecursionError, which `dumps` turns into a ValueError.
    encode = make_encoder(None, unknown, encode_basestring, None, ":", ",", True, False, False)

    def dumps(value: Any) -> str:
        return "".join(encode(value, 0))

    def loads(text: str) -> Any:
        start = 0
        while start < len(text) and text[start] in " \t\n\r":
            start += 1
        try:
            value, end = scan(text, start)
        except StopIteration as stop:
            raise ValueError(f"no JSON value at character {stop.value}") from None
        except SystemError:
            # The scanner wants to raise the `json` module's error and finds that module not loaded.
            raise ValueError("JSON that is cut off or malformed") from None
        if text[end:].strip(" \t\n\r"):
            raise ValueError(f"text after the JSON value at character {end}")
        return value

    if loads(dumps({"b": ["é", 1.5, None], "a": True})) != {"a": True, "b": ["é", 1.5, None]}:
        raise ImportError("_json does not behave as expected")
    return dumps, loads


def _portable() -> tuple[Any, Any]:
    import json

    def dumps(value: Any) -> str:
        return json.dumps(
            value,
            ensure_ascii=False,
            allow_nan=False,
            check_circular=False,
            sort_keys=True,
            separators=(",", ":"),
        )

    def loads(text: str) -> Any:
        return json.loads(text, parse_constant=_not_a_number)

    return dumps, loads


try:
    _dumps, _loads = _accelerated()
except (ImportError, TypeError, AttributeError):
    _dumps, _loads = _portable()


def dumps(value: Any) -> str:
    """The canonical text: sorted keys, no blanks, no escapes that are not needed.

    Half a surrogate pair, which JSON can spell and UTF-8 cannot, becomes `?`.
    """
    return storable(value)[1]


def storable(value: Any) -> tuple[Any, str]:
    """A value and its canonical text. The value is the same unless half a surrogate pair had to go."""
    try:
        text: str = _dumps(value)
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
        return loads(text), text
    return value, text


def loads(text: str) -> Any:
    """The value of a JSON text; ValueError when it is none."""
    try:
        return _loads(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


def indented(value: Any) -> str:
    """JSON for people: two blanks a level, keys as they come; `json.dumps(indent=2)` without `json`."""
    from holdfast.kernel.text import harmless_json

    text = harmless_json(_indent(value, "\n"))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
    return text


def _indent(value: Any, outer: str) -> str:
    """`outer` is the line break before what comes after the value."""
    inner = f"{outer}  "
    if isinstance(value, dict) and value:
        members = [f"{_dumps(name)}: {_indent(item, inner)}" for name, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(members)}{outer}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join([_indent(item, inner) for item in value])}{outer}]"
    try:
        text: str = _dumps(value)
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None
    return text


def replace_text(value: Any, text: str, mark: str) -> Any:
    """Put the mark in every place of the text, also where a string holds the text as JSON."""
    if isinstance(value, str):
        return value.replace(text, mark).replace(dumps(text)[1:-1], mark)
    if isinstance(value, list):
        return [replace_text(item, text, mark) for item in value]
    if isinstance(value, dict):
        return {
            replace_text(key, text, mark): replace_text(item, text, mark)
            for key, item in value.items()
        }
    return value


# What a value is, of what another program wrote


def text_of(value: Any) -> str:
    """A string; empty for anything else."""
    return value if isinstance(value, str) else ""


def table_of(value: Any) -> dict[str, Any]:
    """An object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """A list; empty for anything else."""
    return value if isinstance(value, list) else []
