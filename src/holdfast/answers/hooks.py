"""What answers do at a client's events: put a permission or a question where a person elsewhere can answer it."""

from __future__ import annotations

from holdfast import registry
from holdfast.clients.table import capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.events import Client, HookEvent, HookOutcome
    from holdfast.kernel.workspace import Workspace


def ask(event: HookEvent, client: Client, workspace: Workspace, now: int) -> HookOutcome:
    """Return the answer of a person elsewhere; empty leaves the question to the client's own dialogue."""
    # Only where this process is a hook, which may wait.
    if event.name != "PermissionRequest" or not registry.is_closed():
        return {}
    if workspace.spools or not capability(client.NAME, "answered elsewhere"):
        return {}
    from holdfast.answers.wait import put_and_wait

    return put_and_wait(event, client.NAME, workspace, now)
