"""The newest work of each kind, such as sessions; each has its own page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.clients.table import title_of as client_title
from holdfast.session import sessions
from holdfast.session.rules.handover import progress_of, title_of
from holdfast.web.table import PageContext, link_to, works
from holdfast.web.workspaces import ServedWorkspace

if TYPE_CHECKING:
    from holdfast.journal.interface import Head


MOST = 40


def gather(page: PageContext) -> dict[str, Any]:
    kinds = works()
    rows: dict[str, list[dict[str, Any]]] = {kind.name: [] for kind in kinds}
    more = dict.fromkeys(rows, 0)

    def read(place: ServedWorkspace) -> None:
        for kind in kinds:
            found, left = kind.find(place, page)
            rows[kind.name] += found
            more[kind.name] += left

    away = page.read_all(read)
    for name, found in rows.items():
        found.sort(key=lambda row: row["at"], reverse=True)
        more[name] += max(0, len(found) - MOST)
        del found[MOST:]
    return {
        "several": len(page.site) > 1,
        **rows,
        "kinds": [
            {name: getattr(kind, name) for name in ("name", "title", "nothing", "stream")}
            for kind in kinds
        ],
        "more": more,
        "away": away,
    }


def make_row(place: ServedWorkspace, stream: str, name: str, **facts: Any) -> dict[str, Any]:
    """Return a row of the page, with a link to the page of its stream."""
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


def list_newest(
    place: ServedWorkspace,
    prefix: str,
    describe: Callable[[ServedWorkspace, Head], dict[str, Any] | None],
) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of the newest streams, and how many more streams there are. `describe` returns None for
    a stream that was not begun."""
    if not place.workspace.exists():
        return [], 0
    heads = place.workspace.journal.heads(prefix)
    heads.sort(key=lambda head: head["seen_at"], reverse=True)
    found = [describe(place, head) for head in heads[:MOST]]
    return [row for row in found if row is not None], max(0, len(heads) - MOST)


def list_sessions(place: ServedWorkspace, page: PageContext) -> tuple[list[dict[str, Any]], int]:
    """Return the newest sessions, those that only their clients' transcripts tell of with them."""
    unrecorded = [
        make_row(
            place,
            f"session:{one['session']}",
            one["session"][:8],
            what=one["request"],
            word=f"{client_title(one['client'])}'s transcript",
            at=one["seen_at"],
        )
        for one in page.meter.found(place.root) or []
        if not one["is_recorded"]
    ]
    recorded, more = list_newest(place, "session:", _describe_session)
    return unrecorded + recorded, more


def _describe_session(place: ServedWorkspace, head: Head) -> dict[str, Any] | None:
    state = sessions.read(place.workspace, head["stream"].partition(":")[2])
    if state["last"] is None:
        return None
    over = bool(state["ended_at"] or state["adopted_by"])
    progress, observed = progress_of(state), state.get("observed")
    client = client_title(observed["client"]) if observed else ""
    done, left = len(progress["completed"]), len(progress["remaining"])
    return make_row(
        place,
        head["stream"],
        state["session"][:8],
        what=title_of(state),
        word=", ".join(filter(None, (client, "ended" if over else "open"))),
        tone="good" if over else "now",
        at=state["last"]["at"],
        done=done,
        total=done + left + bool(progress["current"]),
    )
