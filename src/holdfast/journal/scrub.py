"""Taking a text out of a JSON value, also where it is spelled as JSON inside a string."""

from __future__ import annotations

from holdfast.kernel import canonical_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def scrubbed(value: Any, text: str, mark: str) -> Any:
    """The value with the mark in every place of the text."""
    if isinstance(value, str):
        return value.replace(text, mark).replace(canonical_json.dumps(text)[1:-1], mark)
    if isinstance(value, list):
        return [scrubbed(item, text, mark) for item in value]
    if isinstance(value, dict):
        return {
            scrubbed(key, text, mark): scrubbed(item, text, mark) for key, item in value.items()
        }
    return value
