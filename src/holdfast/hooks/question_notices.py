"""Tell a person elsewhere that a client waits for them; in a process that no client waits for."""

from __future__ import annotations

import time

from holdfast.clients.table import title_of
from holdfast.gates.notices import tell_people
from holdfast.kernel import clock
from holdfast.session import client_questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

# Seconds in which a person who sits there has answered. A client that notifies by itself has waited.
GRACE = 10.0


def tell_waiting(workspace: Workspace, session: str, *, grace: float = GRACE) -> bool:
    """Send one notification, unless the person has answered by then; whether it was sent."""
    asked = client_questions.read(workspace, session)
    if asked is None or not workspace.exists():
        return False
    if asked["event"] != "Notification":
        time.sleep(grace)
    if client_questions.read(workspace, session) != asked:
        return False
    where = f"{title_of(asked['client'])} {session[:8]} in {asked['root']}"
    text = f"{asked['asks']}\n\n{where}\n`holdfast serve` shows all that waits."
    title = f"Holdfast: {title_of(asked['client'])} waits for you"
    tell_people(workspace, text, title=title, now=clock.now())
    return True
