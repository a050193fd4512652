"""What people decided, and who tried to decide in their place: the streams that only a person changes
after the fact.

A gate, a budget, a stop and a refusal can be restored, purged and collected by a person alone.
"""

from __future__ import annotations

from holdfast.gates import person as people

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace

REFUSALS = "people:"
STREAMS = ("budget:", "gate:", "stop:", REFUSALS)


def find_decisions(streams: Iterable[str]) -> list[str]:
    """Those of the streams that hold what people decided."""
    return sorted(stream for stream in streams if stream.startswith(STREAMS))


def require_person(
    workspace: Workspace,
    purpose: str,
    streams: Iterable[str],
    *,
    now: int,
    person: Person | None = None,
) -> Person | None:
    """The person who is needed where these streams hold what people decided; None where none do.
    NotAllowed when no person is there, and the attempt is recorded. Without a `person`, the one at
    the terminal of this process is asked."""
    found = find_decisions(streams)
    if not found:
        return None
    if person is not None:
        return people.refuse_made_up(workspace, purpose, person, now=now)
    shown = [f"This changes what people decided: {', '.join(found[:5])}"]
    return people.require(workspace, purpose, shown, now=now)
