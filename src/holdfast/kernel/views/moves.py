"""Moving a view's file aside for good, such as the checkpoint of an agent that was taken over.

The intent is an effect in the commit that decides it, so a crash before the rename is made good by
the next command on that stream, and one after it is recognised by the archive that is there.
"""

from __future__ import annotations

import os

from holdfast.kernel.crash import reached
from holdfast.kernel.views.exchange import place_new
from holdfast.kernel.views.files import target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.rules import Wish
    from holdfast.kernel.workspace import Workspace

MOVE = "move"


def wish(workspace: Workspace, path: str, archive: str) -> Wish:
    body = {"worktree": workspace.root, "from": path, "to": archive}
    return {"kind": MOVE, "key": f"{workspace.root}\n{archive}", "body": body}


def finish(workspace: Workspace, stream: str) -> None:
    """Rename what was decided to be moved. A place that is empty, or an archive that is there
    already, means that it happened."""
    for effect in workspace.journal.effects(kinds=[MOVE]):
        body = effect["body"]
        if effect["stream"] != stream or body["worktree"] != workspace.root:
            continue
        source, archive = target_of(workspace, body["from"]), target_of(workspace, body["to"])
        if os.path.lexists(source) and not os.path.lexists(archive):
            reached("before moving")
            os.makedirs(os.path.dirname(archive), exist_ok=True)
            place_new(source, archive)
        reached("before settling")
        workspace.journal.settle(effect["id"])
