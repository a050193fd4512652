"""What waits around a session: what the features give, work that stands still, and notes."""

from __future__ import annotations

from holdfast import registry
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.session.ccc_files import read_state
from holdfast.session.rules import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class ResumeContext(TypedDict):
        """What waits beside the session: commands to run first, and sections to read."""

        first: list[str]
        sections: list[tuple[str, list[str]]]


MOST_NOTES = 8
SHORT_ID = 8


def look_around(workspace: Workspace, since: str) -> ResumeContext | None:
    """Return what the features give to a session that was last known at `since`. What the later ones want to be
    run first comes first."""
    first: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    for tell in registry.parts("pack", registry.all_features):
        commands, more = tell(workspace, since)
        first, sections = [*commands, *first], [*sections, *more]
    return {"first": first, "sections": sections} if first or sections else None


def with_interrupted(
    workspace: Workspace, around: ResumeContext | None, now: int
) -> ResumeContext | None:
    """With the runs, agents and tracks that stand still: without a session, they are what goes on."""
    lines = []
    for find in registry.parts("attention", registry.all_features):
        try:
            found = [one for one in find(workspace, now) if one.urgency == registry.STALLED]
        except HoldfastError:
            continue  # `doctor` says what is wrong
        lines += [f"- {fields.one_line(one.what)}: `{one.next}`" for one in found]
    if not lines:
        return around
    known = around or {"first": [], "sections": []}
    return {
        "first": known["first"],
        "sections": [("Work that stands still", lines), *known["sections"]],
    }


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
