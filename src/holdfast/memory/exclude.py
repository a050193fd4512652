"""Which sessions are left out of memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

SETTING, VARIABLE = "memory.exclude", "HOLDFAST_MEMORY_EXCLUDE"
EVERYTHING, THIS = "*", "."


def is_excluded(cwd: str, settings: Mapping[str, Any]) -> bool:
    """Return whether sessions of a folder stay out: by its project's settings, or by the user's variable, which
    names folders of any project."""
    names = [str(settings.get(SETTING) or ""), os.environ.get(VARIABLE, "")]
    for name in (one.strip() for text in names for one in text.split(os.pathsep)):
        if name == EVERYTHING or (name == THIS and settings):
            return True
        folder = os.path.abspath(os.path.expanduser(name)) if name and name != THIS else ""
        if folder and f"{cwd}/".startswith(f"{folder.rstrip('/')}/"):
            return True
    return False
