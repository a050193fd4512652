"""Issue trackers behind one port: `selection.tracker_for(issue, ...)`, and its `upsert`.

Next to nothing is imported here: hooks ask this package only whether there is a key.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LINEAR_VARIABLES = ("LINEAR_API_KEY",)
GITHUB_VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")


def is_set_up(settings: Mapping[str, Any]) -> bool:
    """Whether there can be a key at all; cheap, because every stop of an agent asks."""
    if settings["tracker.kind"] == "none":
        return False
    names = (*LINEAR_VARIABLES, *GITHUB_VARIABLES, settings["tracker.key_variable"])
    return bool(settings["tracker.key_command"]) or any(os.environ.get(name) for name in names)
