"""A run's files in `.autopilot`: the rules of `flight:<run>` streams.

Apart from the run's own stream, which is written to at every task and has no files to wait for.
"""

from __future__ import annotations

from holdfast.budgets.rules import waypoint
from holdfast.kernel.errors import Usage
from holdfast.kernel.rules import Decision
from holdfast.plans.rules import holding_pattern, transponder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.budgets.rules.ledger import Saved
    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change
    from holdfast.plans.rules.holding_pattern import Holding
    from holdfast.plans.rules.transponder import Board

    class FlightState(TypedDict):
        """What the files show. `notes` are the sections that somebody else wrote into the
        transponder."""

        run: str
        board: Board | None
        waypoint: Saved | None
        holding: Holding | None
        notes: str


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
        archive = holding_pattern.archive_of(state["holding"]["created"])
        moves.append((holding_pattern.PATH, archive))
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
        views[holding_pattern.PATH] = holding_pattern.write(state["holding"])
    if state["waypoint"] is not None:
        views[state["waypoint"]["path"]] = waypoint.write(state["waypoint"])
    return views
