"""What a client can read: the status, the history, conflicts, edits, the views of this worktree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.views.files import Unreadable, file_at, read_file, text_of
from holdfast.maintenance import status
from holdfast.maintenance.conflicts import list_conflicts
from holdfast.maintenance.history import history as latest
from holdfast.mcp.call import ToolCall, read
from holdfast.session.edits import show_edits

if TYPE_CHECKING:
    from holdfast.maintenance.history import HistoryRequest
    from holdfast.mcp.server import Server
    from holdfast.session.edits import SessionEdits

JSON = "application/json"
VIEW = "holdfast://view/"
SHOWN_RECORDS = 50


def add_resources(server: Server) -> None:
    """Register what can be read."""

    @server.resource(
        "holdfast://status",
        mime_type=JSON,
        description="Where the journal is, what it holds, what needs attention.",
    )
    def status_now() -> str:
        return read_json(server.folder, lambda call: status.gather(call.workspace))

    @server.resource(
        "holdfast://history",
        mime_type=JSON,
        description=f"The latest {SHOWN_RECORDS} records, newest first.",
    )
    def history() -> str:
        return read_json(
            server.folder, lambda call: latest(call.workspace, {"limit": SHOWN_RECORDS})
        )

    @server.resource(
        "holdfast://history/{stream}",
        mime_type=JSON,
        description=f"The latest {SHOWN_RECORDS} records of a stream, such as session:*.",
    )
    def history_of(stream: str) -> str:
        request: HistoryRequest = {"stream": stream, "limit": SHOWN_RECORDS}
        return read_json(server.folder, lambda call: latest(call.workspace, request))

    @server.resource(
        "holdfast://edits/{session}",
        mime_type=JSON,
        description="The edits of an earlier session that the work tree lacks, as diffs.",
    )
    def edits_of(session: str) -> str:
        def look(call: ToolCall) -> SessionEdits:
            folder = call.workspace.root
            return show_edits(call.workspace, folder, {"session": session}, now=call.now)

        return read_json(server.folder, look)

    @server.resource(
        "holdfast://conflicts",
        mime_type=JSON,
        description="Edits by hand of values that had changed meanwhile, with both texts.",
    )
    def conflicts() -> str:
        return read_json(server.folder, lambda call: list_conflicts(call.workspace))

    @server.resource(
        VIEW + "{+path}", description="A file that holdfast keeps in this worktree, as it is now."
    )
    def view(path: str) -> str:
        return read(server.folder, lambda call: _view(call, path))


def read_json(folder: str | None, look: Callable[[ToolCall], Any]) -> str:
    return read(folder, lambda call: canonical_json.dump_indented(look(call)))


def _view(call: ToolCall, path: str) -> str:
    """Read a view that the journal knows. Other files cannot be read this way."""
    workspace = call.workspace
    rows = workspace.journal.views(worktree=workspace.root) if workspace.exists() else []
    if not any(row["path"] == path and not row["removed"] for row in rows):
        raise NotFound(
            f"There is no view {path!r:.200}.", hint="Only files that Holdfast keeps can be read."
        )
    try:
        return text_of(read_file(file_at(workspace, path))[1])
    except FileNotFoundError:
        raise NotFound(f"{path} is not there.", hint="The next checkpoint writes it.") from None
    except Unreadable as problem:
        raise HoldfastError(f"{path} cannot be read: {problem}.") from None
