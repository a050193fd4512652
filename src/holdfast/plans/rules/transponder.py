"""`.autopilot/TRANSPONDER.md`: where a run is, on less than a page, for whoever comes to it fresh."""

from __future__ import annotations

from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import LEVELS, TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypedDict

    from holdfast.budgets.rules.ledger import Position, Values
    from holdfast.budgets.rules.thresholds import Limits

    class Board(TypedDict):
        """What the file shows. `leg` counts the lives of the run; `acknowledged` names the types whose
        alert a person has seen."""

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


PATH = ".autopilot/TRANSPONDER.md"
TITLE = "# Transponder"
HEADINGS = ("Position", "Plans", "Waits for", "Thresholds", "Resume")
# Where lines stand that somebody wrote between ours.
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


def write(board: Board, notes: str) -> str:
    lines = [*_lines(board)]
    own = _own(notes)[: _room(board)]
    if own:
        lines += ["", *own]
    return "\n".join(lines[:MOST_LINES]) + "\n"


def _own(notes: str) -> list[str]:
    return notes.split("\n") if notes.strip() else []


def _room(board: Board) -> int:
    return max(0, MOST_LINES - len([*_lines(board)]) - 1)


def _lines(board: Board) -> Iterator[str]:
    place = board["place"]
    yield TITLE
    yield ""
    yield f"- **Saved:** {board['saved']}"
    yield f"- **Status:** {board['status']}"
    yield f"- **Reason:** {_flat(board['reason'] or 'running')}"
    if board["text"]:
        yield f"- **Because:** {_flat(board['text'])}"
    yield f"- **Leg:** {board['leg']}"
    yield f"- **Run:** {board['run']}"
    yield ""
    yield "## Position"
    yield ""
    yield f"- **Phase:** {_flat(place['phase'])}, wave {board['wave'] or '-'}"
    yield f"- **Plan:** {_flat(place['plan'])}"
    yield f"- **Last task:** {_flat(place['last_task_completed'])}"
    yield f"- **Next task:** {_flat(place['next_task'])}"
    yield f"- **Tasks:** {board['done']}/{board['total']}"
    context = board["values"]["context"]
    yield f"- **Context:** {'unknown' if context is None else boxes.amount('context', context)}"
    if board["branch"]:
        yield f"- **Git:** {_flat(board['branch'])}"
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
        yield from (f"- {_flat(one)}" for one in board["waits"][:MOST_WAITS])
    yield ""
    yield "## Thresholds"
    yield ""
    yield "| | Now | Warning | Alert | Stop | Acknowledged |"
    yield "|---|---|---|---|---|---|"
    for type in TYPES:
        value: Any = board["values"][type]  # type: ignore[literal-required]
        now = "unknown" if value is None else boxes.amount(type, value)
        numbers = [
            boxes.amount(type, board["limits"][level][type]) if board["limits"] else "-"
            for level in LEVELS
        ]
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
    """What somebody else wrote into the file that showed a board and notes: whole sections, headings and
    all, and under a heading of their own the lines that they wrote into ours. What the file had no room
    for stays, too."""
    written = set(write(board, notes).split("\n")) if board is not None else None
    kept: list[str] = []
    strays: list[str] = []
    ours = True
    for line in text.split("\n"):
        if line.startswith("# "):
            ours = line.strip() == TITLE
            is_heading = ours
        elif line.startswith("## "):
            ours = line[3:].strip() in HEADINGS
            is_heading = ours
        else:
            is_heading = False
        if not ours:
            kept.append(line.rstrip())
        elif line.strip() and not is_heading and not _is_ours(line, written):
            strays.append(line.rstrip())
    if board is not None:
        kept += _own(notes)[_room(board) :]
    if strays and STRAYS in kept:
        at = kept.index(STRAYS) + 1
        kept[at:at] = ["", *strays]
    elif strays:
        kept = [*kept, "", STRAYS, "", *strays]
    return "\n".join(kept).strip("\n")


def _is_ours(line: str, written: set[str] | None) -> bool:
    """Of a file that another run wrote, the shape of a line has to tell."""
    return line in written if written is not None else line.startswith(SHAPES)


def _flat(text: object) -> str:
    flat = " ".join(str(text).split()) if text is not None else "-"
    return flat if len(flat) <= MOST_TEXT else flat[: MOST_TEXT - 1] + "…"


def _cell(text: str) -> str:
    return _flat(text).replace("|", "\\|")
