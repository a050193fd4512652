"""What a session said of itself when it was asked, as a section of the pack. What was observed is never left out:
where it says otherwise, it stands on the same line."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.money import dollars
from holdfast.pack.handover_text import age_of, edited_since, tell_since
from holdfast.pack.pack import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.observe.model import Observation
    from holdfast.pack.pack import Section
    from holdfast.session.rules.model import SessionState

FINDINGS, DEAD_ENDS, WANTED, NOT_DONE = HEADINGS = ("Findings", "Dead ends", "Wanted", "Not done")
# A shorter name of a command or of a task may stand in any sentence.
SHORTEST_NAME = 4


def handover_section(state: SessionState, seen: Observation | None, *, now: int) -> Section | None:
    """The answer with its time, who gave it, what it cost, and what was seen since."""
    said = state.get("handover")
    if said is None:
        return None
    how = [age_of(clock.parse(said["at"]), now)]
    if "cost" in said:
        cost = "an unknown cost" if said["cost"] is None else dollars(said["cost"])
        how.append(f"a copy of it was asked, for {cost}")
    since = []
    if seen is not None and seen["calls"] > said["calls"]:
        since = tell_since(seen, said["calls"], edited_since(seen, said["calls"]))
    title = f"Stated by that session itself, {', '.join(how)}"
    return title, [*since, *_compare(said["text"], seen)]


def _compare(text: str, seen: Observation | None) -> Iterator[str]:
    """Each line, with what was observed where that says otherwise."""
    part = ""
    for line in filter(None, map(one_line, text.split("\n"))):
        heading = line.strip("#*_ ").partition(":")[0].strip("*_ ")
        part = heading if heading in HEADINGS else part
        otherwise = list(_say_otherwise(line, part, seen)) if seen is not None else []
        yield f"{line} (observed: {'; '.join(otherwise)})" if otherwise else line


def _say_otherwise(line: str, part: str, seen: Observation) -> Iterator[str]:
    """A command that is named as the reason of a finding and failed last, or is left to be done and passed; a task
    that is left to be done and is done."""
    for one in seen["commands"].values():
        name = one_line(one["text"])
        if len(name) < SHORTEST_NAME or name not in line:
            continue
        if part == NOT_DONE and one["failed"] is False:
            yield f"`{name}` passed when it last ran"
        elif part not in (NOT_DONE, DEAD_ENDS) and one["failed"]:
            yield f"`{name}` failed when it last ran"
    if part == NOT_DONE:
        for task in seen["tasks"]:
            name = one_line(task["text"])
            if task["state"] == "done" and len(name) >= SHORTEST_NAME and name in line:
                yield f'the task "{name}" is done'
