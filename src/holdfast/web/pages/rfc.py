"""One RFC: its phase, the reasoning that was kept of each, and what it owes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.kernel.views.files import Unreadable, text_of
from holdfast.rfc import rules
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules import document
from holdfast.rfc.rules.bootstrap import drift
from holdfast.rfc.rules.budget import estimate_tokens
from holdfast.rfc.rules.transitions import owes
from holdfast.rfc.rules.words import (
    ATTENTION,
    MOST_LINES,
    PHASES,
    RFC_FILE,
    heading_of,
    is_open,
    max_rounds,
    rounds_of,
    strictness_of,
    version_of,
)
from holdfast.web.record_text import number, stretch

if TYPE_CHECKING:
    from holdfast.rfc.rules.words import RfcState
    from holdfast.web.background import Meter
    from holdfast.web.workspaces import Site

# A change of the baseline begins anew; it is no station on the way.
WAY = PHASES[:-1]
# So many bytes of a text are looked at for its title.
LOOKED_AT = 4096


def gather(site: Site, words: Mapping[str, str], now: int, meter: Meter) -> dict[str, Any]:
    place = site.place(words["workspace"])
    workspace = place.workspace
    with Reader(workspace) as reader:
        id = reader.named(words["id"])
        state, problems = reader.state(id)
        artifacts, missing = reader.artifacts(id)
        title = _title(reader, id)
    text = document.write(state) if state["meta"]["last_phase"] else ""
    fields = state["fields"]
    phase = str(fields.get("current_phase") or "")
    restart = bool(state["move"] and state["move"]["restart"])
    return {
        "workspace": place.key,
        "id": id,
        "state": state,
        "title": title,
        "phase": phase,
        "way": [{"phase": one, "tone": _tone(one, phase)} for one in WAY],
        "open": is_open(fields),
        "strictness": strictness_of(fields),
        "round": rounds_of(fields),
        "most_rounds": max_rounds(fields),
        "version": version_of(fields),
        "updated_at": str(fields.get("updated_at") or ""),
        "lines": len(text.splitlines()),
        "most_lines": MOST_LINES,
        "tokens": estimate_tokens(text) if text else 0,
        "reasoning": _reasoning(state),
        "checkpoint": text,
        "drift": drift(state["meta"]["artifacts"], artifacts) if text else [],
        "owes": owes(state),
        "restart": restart,
        "problems": [*problems, *missing],
        "next": f"holdfast rfc bootstrap {id}" if text else f"holdfast rfc prompt discover {id}",
        "timeline": stretch(
            workspace.journal, place.key, rules.stream_of(id), number(words, "before")
        )
        if workspace.exists()
        else {"records": [], "older": 0, "newer": 0, "total": 0},
    }


def _title(reader: Reader, id: str) -> str:
    """The first heading of its author's text."""
    try:
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
    """The groups, the newest first; what to read before the rest is marked, as the protocol asks."""
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
