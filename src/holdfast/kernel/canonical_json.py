"""JSON in one canonical spelling, by CPython's own C parts.

`import json` pulls in `re` and `enum` and costs a hook 0.8 of a bare interpreter; the C scanner
and encoder beneath it cost 0.04. Where they are missing, the `json` module does the same.
"""

from __future__ import annotations

import sys

from holdfast.kernel.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_BLANKS = " \t\n\r"


def _not_a_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _accelerated() -> tuple[Any, Any, Any]:
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
    spread = make_encoder(None, unknown, encode_basestring, None, ": ", ", ", False, False, False)

    def loads(text: str) -> Any:
        try:
            value, end = scan(text, len(text) - len(text.lstrip(_BLANKS)))
        except StopIteration as stop:
            raise ValueError(f"no JSON value at character {stop.value}") from None
        except SystemError:
            # The scanner wants to raise the `json` module's error and finds that module not loaded.
            raise ValueError("JSON that is cut off or malformed") from None
        if end < len(text) and text[end:].strip(_BLANKS):
            raise ValueError(f"text after the JSON value at character {end}")
        return value

    example = {"b": ["é", 1.5, None], "a": True}
    if loads("".join(encode(example, 0))) != example:
        raise ImportError("_json does not behave as expected")
    return encode, loads, spread


def _portable() -> tuple[Any, Any, Any]:
    import json
    from functools import partial

    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False, check_circular=False)

    def encode(value: Any, _: int) -> str:
        return dumps(value, sort_keys=True, separators=(",", ":"))

    def spread(value: Any, _: int) -> str:
        return dumps(value)

    def loads(text: str) -> Any:
        return json.loads(text, parse_constant=_not_a_number)

    return encode, loads, spread


# `_encode` and `_spread` give the parts of a text.
try:
    _encode, _loads, _spread = _accelerated()
except (ImportError, TypeError, AttributeError):
    _encode, _loads, _spread = _portable()


def dumps(value: Any) -> str:
    """The canonical text: sorted keys, no blanks, no escapes that are not needed.

    Half a surrogate pair, which JSON can spell and UTF-8 cannot, becomes `?`.
    """
    return storable(value)[1]


def storable(value: Any) -> tuple[Any, str]:
    """A value and its canonical text. The value is the same unless half a surrogate pair had to go."""
    try:
        text = "".join(_encode(value, 0))
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None
    if text.isascii():
        return value, text
    encodable = _encodable(text)
    return (value if encodable is text else loads(encodable)), encodable


def _encodable(text: str) -> str:
    """The text, itself if UTF-8 can spell it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def loads(text: str) -> Any:
    """The value of a JSON text; ValueError when it is none."""
    try:
        return _loads(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


def line(value: Any) -> str:
    """JSON for people on one line: a blank after each comma and colon, keys as they come."""
    try:
        return _encodable("".join(_spread(value, 0)))
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None


def dump_indented(value: Any) -> str:
    """JSON for people: two blanks a level, keys as they come; `json.dumps(indent=2)` without `json`."""
    from holdfast.kernel.text import harmless_json

    return _encodable(harmless_json(_indent(value, "\n")))


def _indent(value: Any, outer: str) -> str:
    """`outer` is the line break before what comes after the value."""
    inner = f"{outer}  "
    if isinstance(value, dict) and value:
        members = [
            f"{''.join(_encode(name, 0))}: {_indent(item, inner)}" for name, item in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(members)}{outer}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join([_indent(item, inner) for item in value])}{outer}]"
    try:
        return "".join(_encode(value, 0))
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None


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


def read_table(path: str) -> dict[str, Any]:
    """Return the object in a JSON file; empty where there is none, or it cannot be read."""
    try:
        return table_of(loads(read_plain(path).decode()))
    except (OSError, ValueError):
        return {}
