"""The value of a table of fields before anything was said: the fields stand once, with their types."""

from __future__ import annotations

from typing import Any, TypeVar

Table = TypeVar("Table")
_EMPTY: dict[str, Any] = {"str": "", "int": 0, "float": 0.0, "bool": False}


def blank(table: type[Table], **given: Any) -> Table:
    """Return a new value of a TypedDict. What is not given is empty: "", 0, False, a new list or table, None where
    the type allows it, of a Literal the first; what is NotRequired is left out."""
    value: dict[str, Any] = {}
    for name, annotation in table.__annotations__.items():
        kind = str(getattr(annotation, "__forward_arg__", annotation))
        if kind.startswith("Literal["):
            value[name] = kind.split("'")[1]
        elif kind.startswith(("list[", "dict[")) and not kind.endswith("None"):
            value[name] = [] if kind[0] == "l" else {}
        elif not kind.startswith("NotRequired["):
            value[name] = _EMPTY.get(kind)
    return {**value, **given}  # type: ignore[return-value]
