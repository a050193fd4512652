"""The page that searches past sessions, with the same hits as `holdfast find`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.clients.discovery import SessionPlace
from holdfast.clients.table import title_of
from holdfast.kernel.errors import HoldfastError
from holdfast.memory.cli import WHAT
from holdfast.memory.consent import may_index_all
from holdfast.memory.find import FindRequest, Hit, find
from holdfast.memory.search import split_marked
from holdfast.web.table import Page, PageContext, Pages, link_to
from holdfast.web.workspaces import ServedWorkspace

MOST_HITS = 20
# The page answers with what is indexed by then; the next look reads on.
SECONDS = 2.0


def gather(page: PageContext) -> dict[str, Any]:
    places, question = page.chosen, page.words.get("q", "")
    found: dict[str, Any] = {"hits": [], "sessions": 0, "left": 0, "problem": ""}
    options: Any = {"is_here": bool(page.words.get("workspace")), "limit": MOST_HITS}
    if question.strip():
        # Where all projects may be indexed, one look finds the sessions of all workspaces.
        looked = places[:1] if may_index_all() and not page.words.get("workspace") else places
        for place in looked:
            try:
                answer = find(FindRequest(question, place.root, **options), seconds=SECONDS)
            except HoldfastError as error:
                found["problem"] = error.message
                continue
            found["sessions"] += answer["sessions"]
            found["left"] += answer["left"]
            found["hits"] += [_shown(hit, places) for hit in answer["hits"]]
        found["hits"].sort(key=lambda one: -one["score"] if len(looked) > 1 else 0)
    return {
        "q": question,
        "workspace": page.words.get("workspace", ""),
        "workspaces": [place.key for place in page.site],
        "is_all": may_index_all(),
        **found,
        "hits": found["hits"][:MOST_HITS],
    }


def _shown(hit: Hit, places: Sequence[ServedWorkspace]) -> dict[str, Any]:
    """Return a hit with the page of its session, where it is of a workspace of this site."""
    of = next((one for one in places if SessionPlace(one.root).holds(hit["folder"])), None)
    lines = [
        {**line, "what": WHAT[line["what"]], "parts": split_marked(line["text"], line["words"])}
        for line in hit["lines"]
    ]
    stream = f"session:{hit['session']}" if hit["transcript"] else hit["session"]
    href = link_to(of.key, stream) if of is not None else ""
    return {**hit, "title": title_of(hit["client"]), "lines": lines, "href": href}


PAGES = Pages(
    pages=(Page("find", "/find", gather, label="Find", key="s", words=("q", "workspace"), rank=35),)
)
