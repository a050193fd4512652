"""Messages that came from other machines: they are in the journal, and an inbox is read from files."""

from __future__ import annotations

from holdfast.fleet.rules.names import check_agent, stem_of
from holdfast.remote import server_time
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.fleet.epic import Epic


def bring(epic: Epic, agent: str) -> None:
    """Write the files of an agent's inbox anew, as far as other machines have written to them since this
    one did. Where the journal is a file, there are no others."""
    workspace = epic.workspace
    if workspace.local or not workspace.url or workspace.journal.read_only:
        return
    ending = f"_to_{stem_of(check_agent(agent))}"
    heads = workspace.journal.heads(epic.stream("comms", ""))
    inbox = [head for head in heads if head["stream"].endswith(ending)]
    if not inbox:
        return
    shown = {
        row["stream"]: row["placed_version"]
        for row in workspace.journal.views(worktree=workspace.root)
    }
    writer = open_writer(workspace)
    for head in inbox:
        if shown.get(head["stream"], 0) < head["version"]:
            writer.repair(head["stream"], now=server_time.now(workspace))
