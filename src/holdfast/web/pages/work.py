"""The newest runs, tracks, RFCs and sessions; each has its own page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.clients.table import title_of
from holdfast.kernel.state import load
from holdfast.loop.rules import loop as loops
from holdfast.loop.rules.checkpoint import checkpoint_of, counted, current_step
from holdfast.loop.rules.model import COMPLETE
from holdfast.plans import runs
from holdfast.plans.rules import run as run_rules
from holdfast.plans.rules.run_model import GATE_WAITS
from holdfast.rfc.summary import list_rfcs
from holdfast.session import sessions
from holdfast.web.cards import why_paused, word_of_track
from holdfast.web.record_text import link_to

if TYPE_CHECKING:
    from holdfast.journal.interface import Head
    from holdfast.loop.rules.model import LoopState
    from holdfast.plans.rules.run_model import RunState
    from holdfast.web.background import SpendingMeter
    from holdfast.web.pages import PageContext
    from holdfast.web.workspaces import ServedWorkspace

MOST = 40
TRACK_TONES = {"paused": "wait", "failed": "bad"}
TONES = {"running": "now", "paused": "wait", "done": "good", "abandoned": ""}


def gather(page: PageContext) -> dict[str, Any]:
    rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in (*STREAMS, "rfcs")}
    more = dict.fromkeys(rows, 0)

    def read(place: ServedWorkspace) -> None:
        rows["sessions"] += _unrecorded(place, page.meter)
        if not place.workspace.exists():
            return
        for kind, (prefix, describe) in STREAMS.items():
            heads = place.workspace.journal.heads(prefix)
            heads.sort(key=lambda head: head["seen_at"], reverse=True)
            rows[kind] += filter(None, (describe(place, head) for head in heads[:MOST]))
            more[kind] += max(0, len(heads) - MOST)
        rows["rfcs"] += _rfcs(place)

    away = page.read_all(read)
    for kind, found in rows.items():
        found.sort(key=lambda row: row["at"], reverse=True)
        more[kind] += max(0, len(found) - MOST)
        del found[MOST:]
    return {"several": len(page.site) > 1, **rows, "more": more, "away": away}


def _unrecorded(place: ServedWorkspace, meter: SpendingMeter) -> list[dict[str, Any]]:
    """The newest sessions that only their clients' transcripts tell of."""
    return [
        _row(
            place,
            f"session:{one['session']}",
            one["session"][:8],
            what=one["request"],
            word=f"{title_of(one['client'])}'s transcript",
            at=one["seen_at"],
        )
        for one in meter.found(place.root) or []
        if not one["is_recorded"]
    ]


def _row(place: ServedWorkspace, stream: str, name: str, **facts: Any) -> dict[str, Any]:
    return {
        "workspace": place.key,
        "href": link_to(place.key, stream),
        "name": name,
        "what": "",
        "word": "",
        "tone": "",
        "done": 0,
        "total": 0,
        **facts,
    }


def _run(place: ServedWorkspace, head: Head) -> dict[str, Any] | None:
    state: RunState = load(place.workspace.journal, run_rules, head["stream"])[0]
    if not state["status"]:
        return None
    pause = state["pause"]
    names = ", ".join(one["plan"]["title"] or id for id, one in state["plans"].items())
    return _row(
        place,
        head["stream"],
        state["id"],
        what=pause["text"] if pause and pause["reason"] != GATE_WAITS else names,
        word=pause["reason"].replace("_", " ") if pause else state["status"],
        tone=TONES[state["status"]],
        at=head["seen_at"],
        **runs.count(state),
    )


def _track(place: ServedWorkspace, head: Head) -> dict[str, Any] | None:
    state: LoopState = load(place.workspace.journal, loops, head["stream"])[0]
    if not state["opened"]:
        return None
    step, word = current_step(state), word_of_track(state)
    checkpoint = checkpoint_of(state, step)
    return _row(
        place,
        head["stream"],
        state["track"],
        what=why_paused(state) or state["folder"],
        word=word,
        tone=TRACK_TONES.get(word, "good" if step == COMPLETE else "now"),
        at=head["seen_at"],
        done=counted(checkpoint, "tasks_completed") or 0,
        total=counted(checkpoint, "tasks_total") or 0,
    )


def _session(place: ServedWorkspace, head: Head) -> dict[str, Any] | None:
    state = sessions.read(place.workspace, head["stream"].partition(":")[2])
    if state["last"] is None:
        return None
    over = bool(state["ended_at"] or state["adopted_by"])
    progress = state["progress"]
    issue = " · ".join(one for one in (progress["issue"], progress["title"]) if one)
    done, left = len(progress["completed"]), len(progress["remaining"])
    return _row(
        place,
        head["stream"],
        state["session"][:8],
        what=f"{issue} · {progress['current']}" if progress["current"] else issue,
        word="ended" if over else "open",
        tone="good" if over else "now",
        at=state["last"]["at"],
        done=done,
        total=done + left + bool(progress["current"]),
    )


def _rfcs(place: ServedWorkspace) -> list[dict[str, Any]]:
    return [
        _row(
            place,
            f"rfc:{row['id']}",
            row["id"],
            what=f"owes {row['owed']}" if row["owed"] else row["strictness"],
            word=row["phase"].replace("_", " "),
            tone="wait" if row["owed"] or row["restart"] else "now" if row["open"] else "good",
            at=row["updated_at"],
        )
        for row in list_rfcs(place.workspace)
    ]


# The streams of each kind, and the function that makes a row of one; None for one that was not begun.
STREAMS = {
    "runs": (run_rules.STREAMS, _run),
    "tracks": ("loop:", _track),
    "sessions": ("session:", _session),
}
