"""Move a view's file aside for good, such as the checkpoint of an agent that was taken over."""

from __future__ import annotations

from holdfast.kernel.crash import reached
from holdfast.kernel.tree_file import place_new
from holdfast.kernel.views.files import file_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.journal.interface import Effect
    from holdfast.kernel.rules import Wish
    from holdfast.kernel.workspace import Workspace

MOVE = "move"


def wish(workspace: Workspace, path: str, archive: str) -> Wish:
    body = {"worktree": workspace.root, "from": path, "to": archive}
    return {"kind": MOVE, "key": f"{workspace.root}\n{archive}", "body": body}


def list_moves(workspace: Workspace, stream: str) -> list[Effect]:
    """What was decided to be moved, and was not seen to be moved yet."""
    return [
        effect
        for effect in workspace.journal.effects(kinds=[MOVE])
        if effect["stream"] == stream and effect["body"]["worktree"] == workspace.root
    ]


def finish(workspace: Workspace, stream: str) -> None:
    """Rename what was decided to be moved. A place that is empty, or an archive that is there
    already, means that it happened."""
    for effect in list_moves(workspace, stream):
        body = effect["body"]
        source, archive = file_at(workspace, body["from"]), file_at(workspace, body["to"])
        if source.status() is not None and archive.status() is None:
            reached("before moving")
            place_new(source, archive, folder_mode=0o777)
        reached("before settling")
        workspace.journal.settle(effect["id"])
