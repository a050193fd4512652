"""A text that is erased: the forms in which it is kept, and the files that hold one of them."""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.plain_file import open_plain

# What takes its place.
MARK = "[purged]"


def list_forms(text: str) -> list[str]:
    """Return a text as it is, and on one line, as many parts of a session are kept."""
    return list(dict.fromkeys((text, " ".join(text.split())))) if text else []


def list_spelled(text: str) -> list[str]:
    """Return the forms of a text as they are inside a JSON string."""
    return [canonical_json.dumps(form)[1:-1] for form in list_forms(text)]


def list_bytes(text: str) -> list[bytes]:
    """Return the forms of a text as they are in files; those of a JSON string come first."""
    return [form.encode() for form in dict.fromkeys([*list_spelled(text), *list_forms(text)])]


def is_in_file(path: str, wanted: list[bytes]) -> bool:
    """Return whether a regular file holds one of the texts, also across the borders of what is read."""
    longest = max(map(len, wanted), default=0)
    try:
        descriptor = open_plain(path)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        tail = b""
        while chunk := file.read(1 << 20):
            if any(form in tail + chunk for form in wanted):
                return True
            tail = chunk[-longest:]
    return False
