"""A heartbeat from what its agent says, for the faces that take it in words."""

from __future__ import annotations

import os

from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.fleet.context import Post

_FIELDS = {
    "step": "current_step",
    "recovery": "recovery_instructions",
    "stage": "stage",
    "phase": "phase",
    "status": "status",
}


def heartbeat(post: Post, said: Mapping[str, Any], *, folder: str) -> dict[str, Any]:
    """The command of a heartbeat. What is not said stays as it was; paths are seen from `folder`."""
    for name in ("done", "next", "file"):
        if not all(text.strip() for text in said.get(name) or ()):
            raise Usage(
                f"--{name} needs a text.", hint="Leave it out when there is nothing to say."
            )
    command: dict[str, Any] = {
        "do": "beat",
        "set": {field: said[name] for name, field in _FIELDS.items() if said.get(name) is not None},
        "completed_steps": list(said.get("done") or ()),
        "files_modified": [_from_epic(path, folder, post) for path in said.get("file") or ()],
        "committed": bool(said.get("committed")),
        "file_notes": dict(said.get("file_notes") or {}),
    }
    if said.get("next"):
        command["set"]["next_steps"] = list(said["next"])
    # A declared operation lasts until the next heartbeat that does not repeat it.
    command["busy_until"], command["doing"] = "", said.get("doing") or ""
    if said.get("busy_until"):
        from holdfast.fleet.times import until

        command["busy_until"] = until(said["busy_until"], post.now)
    if said.get("transcript"):
        command["transcript"] = said["transcript"]
    return command


def _from_epic(path: str, folder: str, post: Post) -> str:
    """A file as the epic calls it, when it is there; otherwise as it was said."""
    place = os.path.realpath(os.path.join(folder, path))
    inside = place.startswith(post.epic.root + os.sep)
    return os.path.relpath(place, post.epic.root) if inside and os.path.exists(place) else path
