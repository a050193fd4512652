"""When an agent or a session went on to its next step, from the records of its stream."""

from __future__ import annotations

from holdfast.session.rules import session as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace

    # A moment, and the name of the step that began then.
    Mark = tuple[str, str]


def of_session(workspace: Workspace, session: str) -> list[Mark]:
    """After each checkpoint of a session: the task that it names as the current one."""
    marks: list[Mark] = []
    current, number = "", 0
    for record in _records(workspace, rules.stream_of(session)):
        if record["kind"] == "captured":
            number += 1
            current = str(record["body"].get("set", {}).get("current", current))
            _begin(marks, record["at"], current or f"after checkpoint {number}")
    return marks


def of_agent(workspace: Workspace, stream: str) -> dict[str, list[Mark]]:
    """The steps of an agent in each of its transcripts, the oldest life's first.

    An agent names its transcript when a life begins, or with a heartbeat later on.
    """
    lives: dict[str, list[Mark]] = {}
    transcript, step = "", ""
    for record in _records(workspace, stream):
        if record["kind"] in ("started", "resumed"):
            transcript = ""
        body = record["body"]
        transcript = str(_part(body, "life").get("transcript") or transcript)
        said = {**_part(body, "checkpoint"), **_part(body, "set")}
        step = str(said.get("current_step") or step)
        if transcript:
            _begin(lives.setdefault(transcript, []), record["at"], step)
    return lives


def _begin(marks: list[Mark], at: str, name: str) -> None:
    if not marks or marks[-1][1] != name:
        marks.append((at, name))


def _part(body: dict[str, Any], name: str) -> dict[str, Any]:
    part = body.get(name)
    return part if isinstance(part, dict) else {}


def _records(workspace: Workspace, stream: str) -> list[Any]:
    """What can still be read of a stream: not the records whose bodies were erased."""
    if not workspace.exists():
        return []
    return [each for each in workspace.journal.read(stream) if isinstance(each["body"], dict)]
