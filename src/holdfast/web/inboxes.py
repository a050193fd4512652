"""Execute what sandboxed agents left in their inboxes while a page is open, so that their gates
appear.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from holdfast.kernel import inbox
from holdfast.kernel.commit import take_in
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import worktrees
from holdfast.streams import open_writer
from holdfast.web.workspaces import ServedWorkspace

EVERY = 1.0


class Inboxes:
    """The inboxes of all worktrees of some workspaces."""

    def __init__(self, places: Sequence[ServedWorkspace]) -> None:
        self._places = places
        self._last = 0.0

    def is_due(self) -> bool:
        return time.monotonic() - self._last > EVERY

    def take_in(self) -> None:
        """Execute what waits. A command that fails stays; `holdfast doctor` names those that are
        refused."""
        self._last = time.monotonic()
        for one in self._places:
            if one.is_away:
                continue
            try:
                # Refused where the journal is missed, also since the last look: no new one begins there.
                workspace = one.open()
                places = worktrees(workspace)
                if any(inbox.waiting(place) for place in places):
                    take_in(open_writer(workspace), places)
                workspace.close()
            except (HoldfastError, OSError):
                continue
