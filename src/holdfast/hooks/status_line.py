"""Claude Code's status line: its payload in, one line of text out. It never fails."""

from __future__ import annotations

from holdfast.clients.table import safe_id
from holdfast.kernel import clock, failures
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def line(payload: dict[str, Any]) -> str:
    try:
        workspace = discover(_project(payload), local=True)
    except (HoldfastError, OSError, ValueError):
        return ""
    now = clock.now()
    try:
        from holdfast.maintenance.status_line import write

        session = payload.get("session_id")
        known = safe_id(session) if isinstance(session, str) else ""
        from holdfast.kernel.door import Door

        text = Door(workspace, opens=True).text(
            write(workspace, {**payload, "session_id": known}, now=now)
        )
        from holdfast.hooks.run import forward

        forward(workspace)
        return text
    except Exception as error:
        message = error.message if isinstance(error, HoldfastError) else str(error)
        failures.note(workspace, "statusline", message, now)
        return "holdfast: the status line failed; see holdfast doctor"


def _project(payload: dict[str, Any]) -> str | None:
    """The folder that the session began in; its agent may have gone elsewhere since."""
    places = payload.get("workspace")
    began = places.get("project_dir") if isinstance(places, dict) else None
    folder = began or payload.get("cwd")
    return folder if isinstance(folder, str) else None
