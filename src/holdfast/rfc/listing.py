"""The RFCs of a workspace, one line each."""

from __future__ import annotations

from holdfast.rfc.reading import Reader
from holdfast.rfc.rules.transitions import owes
from holdfast.rfc.rules.words import is_open, max_rounds, rounds_of, strictness_of, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class Row(TypedDict):
        """How one RFC stands. A state.json that cannot be read has the phase `error`."""

        id: str
        phase: str
        strictness: str
        round: int
        max_rounds: int
        version: int
        open: bool
        restart: bool
        owed: str
        updated_at: str
        problems: list[str]


def listing(workspace: Workspace) -> list[Row]:
    """Every RFC that a file or a record knows of."""
    rows: list[Row] = []
    with Reader(workspace) as reader:
        for id in reader.ids():
            state, problems = reader.state(id)
            fields, move = state["fields"], state["move"]
            broken = not fields or any("state.json" in problem for problem in problems)
            rows.append(
                {
                    "id": id,
                    "phase": "error" if broken else str(fields.get("current_phase", "unknown")),
                    "strictness": strictness_of(fields) if fields else "unknown",
                    "round": rounds_of(fields),
                    "max_rounds": max_rounds(fields),
                    "version": version_of(fields),
                    "open": broken or is_open(fields),
                    "restart": bool(move and move["restart"]),
                    "owed": owes(state),
                    "updated_at": str(fields.get("updated_at", "")),
                    "problems": problems,
                }
            )
    return rows
