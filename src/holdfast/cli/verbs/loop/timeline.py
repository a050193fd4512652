"""A track's events as lines that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.cli.terminal import ago, one_line, safe, style, table
from holdfast.loop.history_file import line

if TYPE_CHECKING:
    from holdfast.loop.track import Track


def events(track: Track) -> list[dict[str, Any]]:
    """Everything that the journal knows of a track, oldest first."""
    if not track.workspace.exists():
        return []
    return [line(record) for record in track.workspace.journal.read(track.place.stream)]


def told(happened: Sequence[dict[str, Any]], now: int) -> Iterator[str]:
    yield from table([_row(event, now) for event in happened], indent="  ")


def _row(event: dict[str, Any], now: int) -> list[str]:
    step = safe(str(event.get("step") or ""))
    return [
        style(ago(event["at"], now), dim=True),
        step,
        *_said(event),
    ]


def _said(event: dict[str, Any]) -> list[str]:
    """What happened, and the detail that makes it this and not another."""
    kind = event["event"]
    notes = one_line(str(event.get("notes") or ""), 60)
    if kind == "started":
        return ["went on" if event.get("again") else "started", safe(str(event.get("agent") or ""))]
    if kind == "task_done":
        commit = safe(str(event.get("commit") or "")[:12])
        return [style("task done", "green"), " ".join([one_line(str(event["task"]), 40), commit])]
    if kind == "passed":
        return [style("passed", "green"), notes]
    if kind == "failed":
        return [style("failed", "red"), notes]
    if kind == "blocked":
        return [style("blocked", "yellow"), notes]
    if kind == "advanced":
        return ["advanced", f"from {safe(str(event.get('from')))}"]
    if kind == "attempt_begun":
        what = f"{event.get('number')}  {event.get('task') or ''}"
        return ["attempt", one_line(what, 60)]
    if kind == "escalated":
        return [style("paused", "yellow"), one_line(str(event.get("reason") or ""), 60)]
    if kind == "edited_outside":
        changed = [place.rpartition("checkpoints/")[2] for place in event.get("changed", [])]
        return ["edited outside", one_line(", ".join(changed), 60)]
    return [safe(kind.replace("_", " ")), notes]
