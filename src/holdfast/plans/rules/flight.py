"""A run's files in `.autopilot`: the rules of `flight:<run>` streams, and `TRANSPONDER.md`, which says on
less than a page where a run is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.budgets.rules import boxes, documents
from holdfast.budgets.rules.ledger import Position, Saved, Values
from holdfast.budgets.rules.thresholds import ALL_TYPES, LEVELS, TYPES, Limits
from holdfast.kernel.blank import blank
from holdfast.kernel.errors import Usage
from holdfast.kernel.merge import merge_texts
from holdfast.kernel.rules import Decision
from holdfast.kernel.text import harmless, one_line

if TYPE_CHECKING:
    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change


class Board(TypedDict):
    """What the transponder shows. `leg` counts the lives of the run; `acknowledged` lists the types
    whose alert a person has seen."""

    run: str
    saved: str
    status: str
    reason: str
    text: str
    leg: int
    wave: int
    place: Position
    done: int
    total: int
    plans: list[tuple[str, str, int, int]]
    waits: list[str]
    values: Values
    tokens: int
    limits: Limits
    acknowledged: list[str]
    branch: str
    waypoint: str
    resume: str


class Holding(TypedDict):
    """Where the run stopped. `task` is the next one, of `total_tasks` in its plan."""

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
    """What the files show. `notes` are the sections that others wrote into the
    transponder."""

    run: str
    board: Board | None
    waypoint: Saved | None
    holding: Holding | None
    notes: str


TRANSPONDER = ".autopilot/TRANSPONDER.md"
TITLE = "# Transponder"
HEADINGS = ("Position", "Plans", "Waits for", "Thresholds", "Resume")
# Where lines stand that others wrote between ours.
STRAYS = "## Notes"
SHAPES = (
    "- **",
    "- a person: holdfast ",
    "- holdfast ",
    "|",
    "    holdfast ",
    "Tokens reported: ",
    "Waypoint: ",
)
MOST_LINES = 99  # less than 100
MOST_PLANS = 30
MOST_WAITS = 8
MOST_TEXT = 160
# Present while a run is stopped in the middle of a phase.
HOLDING_PATTERN = ".autopilot/holding-pattern.md"
ARCHIVE = ".autopilot/waypoints"


def write_transponder(board: Board, notes: str) -> str:
    lines = [*_lines(board)]
    own = _note_lines(notes)[: _room(board)]
    if own:
        lines += ["", *own]
    return harmless("\n".join(lines[:MOST_LINES]) + "\n")


def _note_lines(notes: str) -> list[str]:
    return notes.split("\n") if notes.strip() else []


def _room(board: Board) -> int:
    return max(0, MOST_LINES - len([*_lines(board)]) - 1)


def _lines(board: Board) -> Iterator[str]:
    place = board["place"]
    yield TITLE
    yield ""
    yield f"- **Saved:** {board['saved']}"
    yield f"- **Status:** {board['status']}"
    yield f"- **Reason:** {_one_line(board['reason'] or 'running')}"
    if board["text"]:
        yield f"- **Because:** {_one_line(board['text'])}"
    yield f"- **Leg:** {board['leg']}"
    yield f"- **Run:** {board['run']}"
    yield ""
    yield "## Position"
    yield ""
    yield f"- **Phase:** {_one_line(place['phase'])}, wave {board['wave'] or '-'}"
    yield f"- **Plan:** {_one_line(place['plan'])}"
    yield f"- **Last task:** {_one_line(place['last_task_completed'])}"
    yield f"- **Next task:** {_one_line(place['next_task'])}"
    yield f"- **Tasks:** {board['done']}/{board['total']}"
    context = board["values"]["context"]
    yield f"- **Context:** {'unknown' if context is None else boxes.amount('context', context)}"
    if board["branch"]:
        yield f"- **Git:** {_one_line(board['branch'])}"
    yield ""
    yield "## Plans"
    yield ""
    yield "| Plan | State | Tasks |"
    yield "|------|-------|-------|"
    for id, status, done, total in board["plans"][:MOST_PLANS]:
        yield f"| {_cell(id)} | {status} | {done}/{total} |"
    if len(board["plans"]) > MOST_PLANS:
        yield f"| … and {len(board['plans']) - MOST_PLANS} more | | |"
    if board["waits"]:
        yield ""
        yield "## Waits for"
        yield ""
        yield from (f"- {_one_line(one)}" for one in board["waits"][:MOST_WAITS])
    yield ""
    yield "## Thresholds"
    yield ""
    yield "| | Now | Warning | Alert | Stop | Acknowledged |"
    yield "|---|---|---|---|---|---|"
    for type in ALL_TYPES:
        if type not in TYPES and type not in board["values"]:
            continue  # of people's own, and without a limit
        value: Any = board["values"][type]
        now = "unknown" if value is None else boxes.amount(type, value)
        limits = [board["limits"].get(level, {}).get(type) for level in LEVELS]
        numbers = ["-" if one is None else boxes.amount(type, one) for one in limits]
        known = "yes" if type in board["acknowledged"] else "no"
        yield f"| {boxes.name_of(type)} | {now} | {' | '.join(numbers)} | {known} |"
    yield ""
    yield f"Tokens reported: {board['tokens']}"
    yield ""
    yield "## Resume"
    yield ""
    yield f"    {board['resume']}"
    if board["waypoint"]:
        yield ""
        yield f"Waypoint: {board['waypoint']}"


def notes_in(text: str, board: Board | None, notes: str) -> str:
    """The text of others in a file that showed this board and these notes: their sections, and their
    lines in our sections under a heading of their own. Notes that the file had no room for are kept,
    too."""
    written = set(write_transponder(board, notes).split("\n")) if board is not None else None
    kept: list[str] = []
    strays: list[str] = []
    ours = True
    for line in text.split("\n"):
        is_heading = line.startswith(("# ", "## "))
        if is_heading:
            ours = line.strip() == TITLE or line.removeprefix("## ").strip() in HEADINGS
        if not ours:
            kept.append(line.rstrip())
        elif line.strip() and not is_heading and not _is_ours(line, written):
            strays.append(line.rstrip())
    if board is not None:
        kept += _note_lines(notes)[_room(board) :]
    if strays and STRAYS in kept:
        at = kept.index(STRAYS) + 1
        kept[at:at] = ["", *strays]
    elif strays:
        kept = [*kept, "", STRAYS, "", *strays]
    return "\n".join(kept).strip("\n")


def _is_ours(line: str, written: set[str] | None) -> bool:
    """Whether we wrote a line. In a file of another run, its shape has to tell."""
    return line in written if written is not None else line.startswith(SHAPES)


def _one_line(text: object) -> str:
    return one_line(str(text), MOST_TEXT) if text is not None else "-"


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "\\|")


def stream_of(run: str) -> str:
    return f"flight:{run}"


def initial(stream: str) -> FlightState:
    return blank(FlightState, run=stream.partition(":")[2])


def decide(state: FlightState, command: Any, now: int) -> Decision:
    """`show` a board, with a new waypoint and a holding pattern if there are any."""
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
    """Keep the text of others in an edited transponder. The other files are written anew."""
    if change["kind"] != "edited" or change["path"] != TRANSPONDER:
        return []
    theirs = notes_in(change["text"], base["board"], base["notes"])
    notes = merge_texts(base["notes"], state["notes"], theirs)
    return [("edited_outside", {"notes": notes})]


def render(state: FlightState) -> dict[str, str]:
    views = {}
    if state["board"] is not None:
        views[TRANSPONDER] = write_transponder(state["board"], state["notes"])
    if state["holding"] is not None:
        views[HOLDING_PATTERN] = write_holding(state["holding"])
    if state["waypoint"] is not None:
        views[state["waypoint"]["path"]] = documents.write_waypoint(state["waypoint"])
    return views


# The holding pattern
def write_holding(holding: Holding) -> str:
    names = ("phase", "plan", "task", "total_tasks", "status", "created")
    head = [f"{name}: {_scalar(holding[name])}" for name in names]  # type: ignore[literal-required]
    lines = ["---", *head, "---", "", "# Holding pattern", "", one_line(holding["why"]), ""]
    if holding["next"]:
        lines += [f"Next: {one_line(holding['next'])}", ""]
    lines += ["Go on with:", "", f"    {holding['resume']}", ""]
    return harmless("\n".join(lines))


def archive_of(created: str) -> str:
    """The path of the holding pattern after a successful resume."""
    stamp = created.replace("-", "").replace(":", "").replace("T", "-").partition(".")[0]
    return f"{ARCHIVE}/holding-pattern-{stamp.rstrip('Z')}.md"


def _scalar(value: object) -> str:
    """A value as YAML: plain if every reader reads it back the same, else quoted, as `06`."""
    if isinstance(value, int):
        return str(value)
    text = one_line(str(value))
    plain = text and all(letter.isalnum() or letter in "-_./:" for letter in text)
    if plain and text[0].isalnum() and not text.endswith(":"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
