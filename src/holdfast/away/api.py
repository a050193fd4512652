"""What happened of late, for programs: `workspace.look_back(since="12h")`."""

from __future__ import annotations

from holdfast.away.look_back import Away, AwayRequest
from holdfast.away.look_back import look_back as look
from holdfast.kernel import clock
from holdfast.kernel.durations import instant_since
from holdfast.offers import Offers


def look_back(opened: Offers, *, since: str = "", here: bool = False) -> Away:
    """Return what the sessions of all projects did, what needs a person first. `since` is as `holdfast away` takes it;
    without it: since the person last looked, which stays as it was."""
    now = clock.now()
    request = AwayRequest(
        opened.place.root, since=instant_since(since, now) if since else 0, is_here=here
    )
    return look(request, now=now)
