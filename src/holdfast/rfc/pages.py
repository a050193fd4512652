"""One RFC: its phase, the reasoning of each phase, and the answers that are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holdfast.kernel.text import quote
from holdfast.kernel.views.files import Unreadable, text_of
from holdfast.kernel.workspace import Workspace
from holdfast.rfc.reader import Reader
from holdfast.rfc.rules.model import ATTENTION, MOST_LINES, PHASES, RFC_FILE, heading_of, stream_of
from holdfast.rfc.summary import list_rfcs, show
from holdfast.web.background import SpendingMeter
from holdfast.web.cards import DONE, QUIET, find_lane
from holdfast.web.record_text import show_records
from holdfast.web.table import Card, Cards, Page, PageContext, Pages, link_to
from holdfast.web.workspaces import ServedWorkspace

if TYPE_CHECKING:
    from holdfast.rfc.rules.model import RfcState


# baseline_change begins again and is no step of the way.
WAY = PHASES[:-1]
# How many bytes of rfc.md are searched for its title.
LOOKED_AT = 4096


def gather(page: PageContext) -> dict[str, Any]:
    place = page.place
    workspace = place.workspace
    found = show(workspace, page.words["id"])
    row, state, text = found["row"], found["state"], found["checkpoint"]
    id, phase = row["id"], str(state["fields"].get("current_phase") or "")
    return {
        "workspace": place.key,
        "id": id,
        "state": state,
        "title": _title(workspace, id),
        "phase": phase,
        "way": [{"phase": one, "tone": _tone(one, phase)} for one in WAY],
        "open": row["open"],
        "strictness": row["strictness"],
        "round": row["round"],
        "most_rounds": row["max_rounds"],
        "version": row["version"],
        "updated_at": row["updated_at"],
        "lines": found["lines"],
        "most_lines": MOST_LINES,
        "tokens": found["tokens"],
        "reasoning": _reasoning(state),
        "checkpoint": text,
        "drift": found["drift"],
        "owes": row["owed"],
        "restart": row["restart"],
        "problems": [*found["problems"], *found["unreadable"]],
        "next": f"holdfast rfc bootstrap {quote(id)}"
        if text
        else f"holdfast rfc prompt discover {quote(id)}",
        "timeline": show_records(place, stream_of(id), page.number("before")),
    }


def _title(workspace: Workspace, id: str) -> str:
    """The first heading of rfc.md."""
    try:
        with Reader(workspace) as reader:
            text = text_of(reader.file(id, RFC_FILE)[:LOOKED_AT])
    except (OSError, Unreadable):
        return ""
    heads = (line for line in text.splitlines() if line.startswith("# "))
    return next(heads, "").removeprefix("# ").strip()


def _tone(phase: str, current: str) -> str:
    if phase == current:
        return "now"
    known = current in WAY and WAY.index(phase) < WAY.index(current)
    return "good" if known else ""


def _reasoning(state: RfcState) -> list[dict[str, Any]]:
    """The groups of answers, newest first. `first` marks the sections to read first."""
    return [
        {
            "heading": heading_of(group["key"]),
            "written": group["written"],
            "sections": [
                {
                    "title": section["title"],
                    "bullets": section["bullets"],
                    "first": section["title"] in ATTENTION,
                }
                for section in group["sections"]
            ],
        }
        for group in reversed(state["groups"])
    ]


def list_cards(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    if not place.workspace.exists():
        return
    for row in list_rfcs(place.workspace):
        id = row["id"]
        owes = f"owes the checkpoint {row['owed']}" if row["owed"] else ""
        why = owes or ("wants a fresh context" if row["restart"] else "")
        lane = find_lane(row["updated_at"], now) if row["open"] else DONE
        yield Card(
            key=f"{place.key}/rfc//{id}",
            workspace=place.key,
            kind="rfc",
            name=id,
            href=link_to(place.key, stream_of(id)),
            lane=QUIET if why else lane,
            word=row["phase"].replace("_", " "),
            about=f"RFC · {row['strictness']}",
            doing=f"Gate-B round {row['round']} of {row['max_rounds']}" if row["round"] else "",
            why=[why] if why else [],
            seen_at=row["updated_at"],
            worktree=place.root,
            next=f"holdfast rfc bootstrap {quote(id)}" if row["open"] else "",
        )


PAGES = Pages(
    pages=(Page("rfc", "/w/{workspace}/rfcs/{id}", gather, words=("before",), stream="rfc"),),
    cards=(Cards("rfcs", list_cards, "RFCs", stream="rfc", begin="holdfast rfc init", rank=30),),
)
