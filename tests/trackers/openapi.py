"""As much of OpenAPI as GitHub's slice uses: does a value fit its schema?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

SLICE = Path(__file__).parent / "schemas" / "github.json"
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
FORMATS = {
    "uri": re.compile(r"https?://\S+"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
}
KNOWN = {
    "$ref",
    "additionalProperties",
    "default",
    "enum",
    "format",
    "items",
    "nullable",
    "oneOf",
    "properties",
    "required",
    "title",
    "type",
}


@cache
def document() -> dict[str, Any]:
    """The slice that scripts/vendor_schemas.py wrote."""
    loaded: dict[str, Any] = json.loads(SLICE.read_text("utf-8"))
    return loaded


def resolved(value: dict[str, Any]) -> dict[str, Any]:
    """The thing itself in place of a reference to it."""
    while "$ref" in value:
        _, *path = value["$ref"].split("/")
        value = document()
        for part in path:
            value = value[part]
    return value


def operation(method: str, path: str) -> tuple[dict[str, Any], dict[str, str]] | None:
    """The operation that a path belongs to, and the path's parameters."""
    for template, operations in document()["paths"].items():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))
        found = re.fullmatch(pattern, path)
        if found and method.lower() in operations:
            return operations[method.lower()], found.groupdict()
    return None


def content_schema(part: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of a request's or an answer's body, if it has one."""
    content = resolved(part).get("content", {})
    schema: dict[str, Any] | None = content.get("application/json", {}).get("schema")
    return schema


def problems(value: Any, schema: dict[str, Any], at: str = "$") -> Iterator[str]:
    """Everything about the value that the schema does not allow."""
    schema = resolved(schema)
    unknown = schema.keys() - KNOWN
    if unknown:
        yield f"{at}: the checker does not know {sorted(unknown)}"
    if value is None and schema.get("nullable"):
        return
    if "oneOf" in schema:
        fitting = [one for one in schema["oneOf"] if not list(problems(value, one, at))]
        if len(fitting) != 1:
            yield f"{at}: fits {len(fitting)} of the possible schemas"
    expected = TYPES.get(schema.get("type", ""), (object,))
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        yield f"{at}: {value!r} is not of type {schema.get('type')}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    pattern = FORMATS.get(schema.get("format", ""))
    if pattern and not pattern.fullmatch(str(value)):
        yield f"{at}: {value!r} is not a {schema['format']}"
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{at}.{name} is missing"
        for name, item in value.items():
            if name in schema.get("properties", {}):
                yield from problems(item, schema["properties"][name], f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for position, item in enumerate(value):
            yield from problems(item, schema["items"], f"{at}[{position}]")
