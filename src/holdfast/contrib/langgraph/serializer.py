"""What a stored value may name: the classes that LangGraph allows by itself, and those that the program names."""

from __future__ import annotations

from typing import Any

import ormsgpack
from langgraph.checkpoint.serde import _msgpack
from langgraph.checkpoint.serde.jsonplus import (
    EXT_DELTA_SNAPSHOT,
    EXT_METHOD_SINGLE_ARG,
    EXT_NUMPY_ARRAY,
    JsonPlusSerializer,
)

SAFE = _msgpack.SAFE_MSGPACK_TYPES
METHODS = _msgpack.SAFE_MSGPACK_METHODS
# Without it, the serializer would take the environment's word for what it may load.
ALLOWED = sorted(SAFE)


def list_refused(serde: Any, type: str, data: bytes) -> list[tuple[str, ...]]:
    """Return the classes in a value that the serializer would not load again."""
    if not isinstance(serde, JsonPlusSerializer) or type != "msgpack":
        return []
    allowed = serde._allowed_msgpack_modules
    found: list[tuple[str, ...]] = []
    if allowed is True:
        return found

    def look(code: int, data: bytes) -> None:
        if code == EXT_NUMPY_ARRAY:
            return
        inner = ormsgpack.unpackb(data, ext_hook=look, option=ormsgpack.OPT_NON_STR_KEYS)
        if code == EXT_DELTA_SNAPSHOT:
            return
        if code == EXT_METHOD_SINGLE_ARG:
            name: tuple[str, ...] = (inner[0], inner[1], inner[3])
            is_known = name in METHODS
        else:
            name = (inner[0], inner[1])
            is_known = name in SAFE or (allowed is not None and name in allowed)
        if not is_known and name not in found:
            found.append(name)

    ormsgpack.unpackb(data, ext_hook=look, option=ormsgpack.OPT_NON_STR_KEYS)
    return found
