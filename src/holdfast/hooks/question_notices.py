"""Tell a person elsewhere that a client waits for them; in a process that no client waits for."""

from __future__ import annotations

import time

from holdfast.clients.table import title_of
from holdfast.gates.notices import tell_people
from holdfast.kernel import clock
from holdfast.session import client_questions, usage_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.usage_limits import LimitedSession

# Seconds in which a person who sits there has answered. A client that notifies by itself has waited.
GRACE = 10.0
# So often a process that waits for a reset looks at the clock: a machine that slept has missed nothing.
LOOK_EVERY = 20.0


def tell_waiting(
    workspace: Workspace, session: str, *, grace: float = GRACE, look_every: float = LOOK_EVERY
) -> bool:
    """Send one notification, unless the person has answered by then; whether it was sent. For a usage
    limit with a reset, stay until then and send a second one."""
    limited = usage_limits.read(workspace, session)
    if limited is not None:
        return tell_limit(workspace, limited, look_every=look_every)
    asked = client_questions.read(workspace, session)
    if asked is None:
        return False
    if asked["event"] != "Notification":
        time.sleep(grace)
    if client_questions.read(workspace, session) != asked:
        return False
    where = f"{title_of(asked['client'])} {session[:8]} in {asked['root']}"
    title = f"Holdfast: {title_of(asked['client'])} waits for you"
    part = f"waits-{session}"
    tell_people(workspace, f"{asked['asks']}\n\n{where}", title=title, now=clock.now(), part=part)
    return True


def tell_limit(workspace: Workspace, limited: LimitedSession, *, look_every: float) -> bool:
    """Tell that a limit ended a turn, and at its reset that the work can go on, unless it did by then."""
    name = title_of(limited["client"])
    where = f"{name} {limited['session'][:8]} in {limited['root']}"

    def tell(title: str) -> None:
        now = clock.now()
        command = usage_limits.command_for(limited, "", now)
        text = f"{where} {usage_limits.describe(limited, now)}\n\n{command}"
        part = f"waits-{limited['session']}"
        tell_people(workspace, text, title=f"Holdfast: {title}", now=now, part=part)

    tell(f"{name} is at a usage limit")
    if not limited["resets_at"]:
        return True
    while clock.now() < clock.parse(limited["resets_at"]):
        left = (clock.parse(limited["resets_at"]) - clock.now()) / 1000
        time.sleep(min(look_every, max(0.01, left)))
        current = usage_limits.read(workspace, limited["session"])
        if current is None or current["at"] != limited["at"]:
            return True  # the work went on; for a limit after that another process waits
        limited = current
    tell(f"the usage limit of {name} was reset")
    return True
