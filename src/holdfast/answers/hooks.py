"""What answers do at a client's events: put a permission or a question where a person elsewhere can answer it.

Most events end here at once: no page is open, or the client obeys no answer.
"""

from __future__ import annotations

from holdfast import registry
from holdfast.clients.table import capability
from holdfast.people.page_open import is_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.events import Client, HookEvent, HookOutcome
    from holdfast.kernel.workspace import Workspace


def ask(event: HookEvent, client: Client, workspace: Workspace, now: int) -> HookOutcome:
    """Return the answer of a person elsewhere; empty leaves the question to the client's own dialogue."""
    if event.name != "PermissionRequest" or not registry.is_closed() or not is_open(workspace):
        return {}
    if workspace.spools or not capability(client.NAME, "answered elsewhere"):
        return {}
    from holdfast.answers.wait import put_and_wait

    return put_and_wait(event, client.NAME, workspace, now)
