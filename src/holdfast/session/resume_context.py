"""What waits around a session: gates, answers of people, open RFCs, work that stands still, and notes."""

from __future__ import annotations

import os

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import quote
from holdfast.session.ccc_files import read_state
from holdfast.session.rules import progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class ResumeContext(TypedDict):
        """What waits beside the session: commands to run first, and sections to read."""

        first: list[str]
        sections: list[tuple[str, list[str]]]


# What waits for a person. By name: gates are built on sessions, not the other way round.
GATES = "holdfast.gates.lookup"
INTERRUPTED = "holdfast.maintenance.interrupted"
MOST_NOTES = 8
SHORT_ID = 8


def look_around(workspace: Workspace, since: str) -> ResumeContext | None:
    """Gates that wait, what people answered since, and the reasoning of open RFCs."""
    first, sections = _reasoning(workspace)
    if workspace.exists() and workspace.journal.heads("gate:"):
        commands, more = __import__(GATES, fromlist=["for_a_pack"]).for_a_pack(workspace, since)
        first, sections = [*first, *commands], [*more, *sections]
    return {"first": first, "sections": sections} if first or sections else None


def with_interrupted(
    workspace: Workspace, around: ResumeContext | None, now: int
) -> ResumeContext | None:
    """With the runs, agents and tracks that stand still: without a session, they are what goes on."""
    if not workspace.exists() or not any(map(workspace.journal.heads, ("run:", "agent:", "loop:"))):
        return around
    found = __import__(INTERRUPTED, fromlist=["list_interrupted"]).list_interrupted(workspace, now)
    if not found:
        return around
    lines = [f"- {progress.one_line(what)}: `{next}`" for what, next in found]
    known = around or {"first": [], "sections": []}
    return {
        "first": known["first"],
        "sections": [("Work that stands still", lines), *known["sections"]],
    }


def _reasoning(workspace: Workspace) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Open RFCs, and those that want a bootstrap."""
    known = workspace.exists() and workspace.journal.heads("rfc:")
    if not known and not os.path.isdir(os.path.join(workspace.root, ".ohrfc")):
        return [], []
    from holdfast.rfc.summary import active_reasoning

    waiting, notes = active_reasoning(workspace)
    return [f"holdfast rfc bootstrap {quote(id)}" for id in waiting], notes


def latest_notes(workspace: Workspace) -> list[tuple[str, str]]:
    """The notes that were left last, the latest first, with the ids of their records."""
    if not workspace.exists():
        return []
    found = []
    for record in workspace.journal.latest(kind="noted", limit=MOST_NOTES):
        body = record["body"]
        if isinstance(body, dict) and body.get("text"):
            when = clock.minute(str(body.get("at") or record["at"]))
            found.append((f"{when} {body.get('by', '')}: {body['text']}", record["id"][:SHORT_ID]))
    return found


def issue_at_work(workspace: Workspace) -> str:
    """What the engine is set to work on, when it says so."""
    try:
        state = read_state(workspace)
    except HoldfastError:
        return ""
    issue = state.get("linearIssue") or state.get("activeIssue")
    return issue if isinstance(issue, str) else ""
