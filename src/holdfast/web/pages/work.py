"""The newest runs, tracks, RFCs and sessions; each has its own page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.clients.table import title_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load
from holdfast.loop.rules import loop as loops
from holdfast.loop.rules.checkpoint import checkpoint_of, counted, current_step, waiting_for
from holdfast.loop.rules.model import COMPLETE
from holdfast.plans import runs
from holdfast.plans.rules import run as run_rules
from holdfast.plans.rules.run_model import GATE_WAITS
from holdfast.rfc.summary import list_rfcs
from holdfast.session import sessions
from holdfast.web.cards import why_paused
from holdfast.web.record_text import page_of

if TYPE_CHECKING:
    from holdfast.journal.interface import Head
    from holdfast.kernel.workspace import Workspace
    from holdfast.loop.rules.model import LoopState
    from holdfast.plans.rules.run_model import RunState
    from holdfast.web.background import SpendingMeter
    from holdfast.web.workspaces import ServedWorkspace, Site

MOST = 40
TRACK_TONES = {"paused": "wait", "failed": "bad"}
TONES = {"running": "now", "paused": "wait", "done": "good", "abandoned": ""}


def gather(site: Site, words: Mapping[str, str], now: int, meter: SpendingMeter) -> dict[str, Any]:
    kinds = {"runs": _runs, "tracks": _tracks, "rfcs": _rfcs, "sessions": _sessions}
    rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    more: dict[str, int] = dict.fromkeys(kinds, 0)
    away: list[dict[str, str]] = []
    for place in site:
        try:
            place.look()
            rows["sessions"] += _unrecorded(place, meter)
            if not place.workspace.exists():
                continue
            for kind, find in kinds.items():
                found, left = find(place, place.workspace)
                rows[kind] += found
                more[kind] += left
        except (HoldfastError, OSError) as error:
            away.append({"workspace": place.key, "problem": str(error)})
    for kind, found in rows.items():
        found.sort(key=lambda row: row["at"], reverse=True)
        more[kind] += max(0, len(found) - MOST)
        del found[MOST:]
    return {"several": len(site) > 1, **rows, "more": more, "away": away}


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


def _newest(workspace: Workspace, prefix: str) -> tuple[list[Head], int]:
    heads = workspace.journal.heads(prefix)
    heads.sort(key=lambda head: head["seen_at"], reverse=True)
    return heads[:MOST], max(0, len(heads) - MOST)


def _row(place: ServedWorkspace, stream: str, name: str, **facts: Any) -> dict[str, Any]:
    return {
        "workspace": place.key,
        "href": page_of(place.key, stream),
        "name": name,
        "what": "",
        "word": "",
        "tone": "",
        "done": 0,
        "total": 0,
        **facts,
    }


def _runs(place: ServedWorkspace, workspace: Workspace) -> tuple[list[dict[str, Any]], int]:
    heads, left = _newest(workspace, run_rules.STREAMS)

    def rows() -> Iterator[dict[str, Any]]:
        for head in heads:
            state: RunState = load(workspace.journal, run_rules, head["stream"])[0]
            if not state["status"]:
                continue
            pause = state["pause"]
            names = ", ".join(one["plan"]["title"] or id for id, one in state["plans"].items())
            yield _row(
                place,
                head["stream"],
                state["id"],
                what=pause["text"] if pause and pause["reason"] != GATE_WAITS else names,
                word=pause["reason"].replace("_", " ") if pause else state["status"],
                tone=TONES[state["status"]],
                at=head["seen_at"],
                **runs.count(state),
            )

    return list(rows()), left


def _tracks(place: ServedWorkspace, workspace: Workspace) -> tuple[list[dict[str, Any]], int]:
    heads, left = _newest(workspace, "loop:")

    def rows() -> Iterator[dict[str, Any]]:
        for head in heads:
            state: LoopState = load(workspace.journal, loops, head["stream"])[0]
            if not state["opened"]:
                continue
            step, why = current_step(state), why_paused(state)
            word = (
                "paused"
                if waiting_for(state)
                else "failed"
                if why
                else step.replace("_", " ").lower()
            )
            checkpoint = checkpoint_of(state, step)
            yield _row(
                place,
                head["stream"],
                state["track"],
                what=why or state["folder"],
                word=word,
                tone=TRACK_TONES.get(word, "good" if step == COMPLETE else "now"),
                at=head["seen_at"],
                done=counted(checkpoint, "tasks_completed") or 0,
                total=counted(checkpoint, "tasks_total") or 0,
            )

    return list(rows()), left


def _rfcs(place: ServedWorkspace, workspace: Workspace) -> tuple[list[dict[str, Any]], int]:
    found = sorted(list_rfcs(workspace), key=lambda row: row["updated_at"], reverse=True)
    rows = [
        _row(
            place,
            f"rfc:{row['id']}",
            row["id"],
            what=f"owes {row['owed']}" if row["owed"] else row["strictness"],
            word=row["phase"].replace("_", " "),
            tone="wait" if row["owed"] or row["restart"] else "now" if row["open"] else "good",
            at=row["updated_at"],
        )
        for row in found[:MOST]
    ]
    return rows, max(0, len(found) - MOST)


def _sessions(place: ServedWorkspace, workspace: Workspace) -> tuple[list[dict[str, Any]], int]:
    heads, left = _newest(workspace, "session:")

    def rows() -> Iterator[dict[str, Any]]:
        for head in heads:
            state = sessions.read(workspace, head["stream"].partition(":")[2])
            if state["last"] is None:
                continue
            over = bool(state["ended_at"] or state["adopted_by"])
            progress = state["progress"]
            issue = " · ".join(one for one in (progress["issue"], progress["title"]) if one)
            yield _row(
                place,
                head["stream"],
                state["session"][:8],
                what=f"{issue} · {progress['current']}" if progress["current"] else issue,
                word="ended" if over else "open",
                tone="good" if over else "now",
                at=state["last"]["at"],
                done=len(progress["completed"]),
                total=len(progress["completed"])
                + len(progress["remaining"])
                + bool(progress["current"]),
            )

    return list(rows()), left
