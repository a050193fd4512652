"""A run's files in `.autopilot`: the rules of `flight:<run>` streams.

Apart from the run's own stream, which is written to at every task and has no files to wait for.
"""

from __future__ import annotations

from holdfast.budgets.rules import documents
from holdfast.kernel.errors import Usage
from holdfast.kernel.rules import Decision
from holdfast.plans.rules import transponder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.budgets.rules.ledger import Saved
    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change
    from holdfast.plans.rules.transponder import Board

    class Holding(TypedDict):
        """Where the run holds. `task` is the next one, of `total_tasks` in its plan."""

        phase: str
        plan: str
        task: str
        total_tasks: int
        status: str
        created: str
        why: str
        next: str
        resume: str

    class FlightState(TypedDict):
        """What the files show. `notes` are the sections that somebody else wrote into the
        transponder."""

        run: str
        board: Board | None
        waypoint: Saved | None
        holding: Holding | None
        notes: str


# Present while a run is stopped in the middle of a phase.
HOLDING_PATTERN = ".autopilot/holding-pattern.md"
ARCHIVE = ".autopilot/waypoints"


def stream_of(run: str) -> str:
    return f"flight:{run}"


def initial(stream: str) -> FlightState:
    return {
        "run": stream.partition(":")[2],
        "board": None,
        "waypoint": None,
        "holding": None,
        "notes": "",
    }


def decide(state: FlightState, command: Any, now: int) -> Decision:
    """`show` what is to be shown: a board, with a new waypoint and a holding pattern if there is one."""
    if command["do"] != "show":
        raise Usage(f"A flight cannot {command['do']!r:.40}.")
    body = {name: command[name] for name in ("board", "holding")}
    body["waypoint"] = command["waypoint"] or state["waypoint"]
    moves = []
    if state["holding"] is not None and command["holding"] is None:
        archive = archive_of(state["holding"]["created"])
        moves.append((HOLDING_PATTERN, archive))
    return Decision([("shown", body)], moves=moves)


def apply(state: FlightState, event: Event) -> FlightState:
    body = event["body"]
    if event["kind"] == "shown":
        return {**state, **body}
    if event["kind"] == "edited_outside":
        return {**state, "notes": body["notes"]}
    return state


def absorb(
    state: FlightState, base: FlightState, change: Change, now: int
) -> list[tuple[str, Any]]:
    """An edit of the transponder: what is not ours in it stays. The other files are made anew."""
    if change["kind"] != "edited" or change["path"] != transponder.PATH:
        return []
    notes = transponder.notes_in(change["text"], base["board"], base["notes"])
    return [("edited_outside", {"notes": notes})]


def render(state: FlightState) -> dict[str, str]:
    views = {}
    if state["board"] is not None:
        views[transponder.PATH] = transponder.write(state["board"], state["notes"])
    if state["holding"] is not None:
        views[HOLDING_PATTERN] = write_holding(state["holding"])
    if state["waypoint"] is not None:
        views[state["waypoint"]["path"]] = documents.write_waypoint(state["waypoint"])
    return views


# The holding pattern


def write_holding(holding: Holding) -> str:
    names = ("phase", "plan", "task", "total_tasks", "status", "created")
    head = [f"{name}: {_scalar(holding[name])}" for name in names]  # type: ignore[literal-required]
    lines = ["---", *head, "---", "", "# Holding pattern", "", _flat(holding["why"]), ""]
    if holding["next"]:
        lines += [f"Next: {_flat(holding['next'])}", ""]
    lines += ["Go on with:", "", f"    {holding['resume']}", ""]
    return "\n".join(lines)


def archive_of(created: str) -> str:
    """Where the file goes after a successful resume."""
    stamp = created.replace("-", "").replace(":", "").replace("T", "-").partition(".")[0]
    return f"{ARCHIVE}/holding-pattern-{stamp.rstrip('Z')}.md"


def _scalar(value: object) -> str:
    """Plain where YAML reads it back the same, else quoted: `06` stays text for every reader."""
    if isinstance(value, int):
        return str(value)
    text = _flat(value)
    plain = text and all(letter.isalnum() or letter in "-_./:" for letter in text)
    return text if plain and text[0].isalnum() and not text.endswith(":") else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _flat(value: object) -> str:
    return " ".join(str(value).split())
