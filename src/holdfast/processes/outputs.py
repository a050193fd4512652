"""What programs said, of all runs: found for `gc` and `purge`."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

# Where tracks and plans keep what is theirs; each in a folder of its own, with its `logs` below.
HOMES = ("loop", "plans")


def outputs(workspace: Workspace) -> list[str]:
    """The kept outputs of every track and every run."""
    found = []
    for home in HOMES:
        for parent, _, names in os.walk(os.path.join(workspace.home, home)):
            if os.path.basename(parent) == "logs":
                found += [os.path.join(parent, name) for name in sorted(names)]
    return found
