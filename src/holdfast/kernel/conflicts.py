"""Edits by hand of a value that the journal changed, too, since the editor read the file.

No side is right by itself. The file keeps what the journal says, the state keeps what the editor wrote
as an open conflict, and status, page and doctor show both until a person chooses: with `holdfast
conflicts ID --take`, or by editing that value once more. Lists have no conflicts: what either side added
to them stays.
"""

from __future__ import annotations

from holdfast.kernel import canonical_json
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import NotFound
from holdfast.kernel.rules import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypedDict

    class EditConflict(TypedDict):
        """`place` names the value in the file. `edit` is the body of the record that would make the
        editor's value count."""

        id: str
        path: str
        place: str
        ours: str
        theirs: str
        edit: Any


# So many open conflicts of one stream are kept. One at a time is usual.
MOST = 50
REMOVED = "(removed)"
MISSING = object()


def find(path: str, place: str, ours: Any, theirs: Any, edit: Any) -> EditConflict:
    """A conflict at one place; the same edit again has the same id."""
    texts = [_text(ours), _text(theirs)]
    id = id_of(canonical_json.dumps([path, place, *texts]))[:12]
    return {
        "id": id,
        "path": path,
        "place": place,
        "ours": texts[0],
        "theirs": texts[1],
        "edit": edit,
    }


def _text(value: Any) -> str:
    if value is MISSING:
        return REMOVED
    return value if isinstance(value, str) else canonical_json.dumps(value)


def is_met(base: Any, ours: Any, theirs: Any) -> bool:
    """Whether both sides changed a value, each to something else."""
    return ours != base and theirs not in (base, ours)


def merge_lists(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    """Both sides' list: what either one removed is gone, what either one added is there."""
    kept = [one for one in ours if one in theirs or one not in base]
    return [*kept, *(one for one in theirs if one not in base and one not in kept)]


def after(state: Any, body: Any) -> dict[str, list[EditConflict]]:
    """The open conflicts after a record: those it adds, without those whose place it settles.
    Empty when there are none and were none, so that states stay as they were."""
    known: list[EditConflict] = state.get("conflicts") or []
    added: list[EditConflict] = body.get("conflicts") or []
    if not known and not added:
        return {}
    over = {*body.get("settled", []), *((one["path"], one["place"]) for one in added)}
    kept = [
        one for one in known if one["id"] not in over and (one["path"], one["place"]) not in over
    ]
    return {"conflicts": [*kept, *added][-MOST:]}


def settled_by(base: Any, path: str, places: Iterable[str]) -> dict[str, list[str]]:
    """The conflicts that an editor saw and settled by changing these places."""
    changed = set(places)
    found = [
        one["id"]
        for one in base.get("conflicts") or []
        if one["path"] == path and one["place"] in changed
    ]
    return {"settled": found} if found else {}


def decide(state: Any, command: Any) -> Decision:
    """`{"do": "settle", "conflict": id, "take": "edited" | "kept"}`"""
    for one in state.get("conflicts") or []:
        if one["id"] == command["conflict"]:
            ends = {"path": one["path"], "settled": [one["id"]], "take": command["take"]}
            edit = [("edited_outside", one["edit"])] if command["take"] == "edited" else []
            return Decision([*edit, ("settled", ends)])
    raise NotFound(
        f"There is no open conflict {command['conflict']}.", hint="holdfast conflicts lists them"
    )
