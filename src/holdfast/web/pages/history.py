"""What happened, newest first, with a search that reads a bounded number of records a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import registry
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.maintenance.record_text import LONGEST, describe_all, text_of
from holdfast.web.record_text import show_record
from holdfast.web.table import PageContext
from holdfast.web.workspaces import ServedWorkspace, format_positions, parse_positions

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record


PER_PAGE = 50
# Measured: 1,000 records are read and searched in 10 to 20 ms.
AT_ONCE, MOST_LOOKED = 500, 5_000
SHORTEST_ID = 6
LONGEST_WORD = 200
AROUND = 60
WORDS = ("q", "workspace", "stream", "kind", "before")


def gather(page: PageContext) -> dict[str, Any]:
    places = page.chosen
    asked = {name: _word(page.words, name) for name in ("q", "stream", "kind")}
    before = _before(page, places)
    away: list[dict[str, str]] = []
    looks: dict[str, SearchResult] = {}
    for place in places:
        try:
            place.look()
            if place.workspace.exists():
                journal, share = place.workspace.journal, MOST_LOOKED // len(places)
                looks[place.key] = _search(journal, before.get(place.key), share, **asked)
        except (HoldfastError, OSError) as error:
            if page.words["workspace"]:
                raise
            away.append({"workspace": place.key, "problem": str(error)})
    shown, older = _merged(looks)
    texts: dict[str, str] = {}
    for key in looks:
        journal = page.site.place(key).workspace.journal
        texts |= describe_all(journal, [record for of, record in shown if of == key])
    # All matches since then are shown; journals that were read to their end do not count.
    unfinished = [one.oldest for one in looks.values() if one.older and one.oldest]
    reached = [one.oldest for one in looks.values() if one.oldest]
    return {
        "workspace": page.words["workspace"],
        "workspaces": [place.key for place in page.site],
        "searched": list(looks),
        "away": away,
        "streams": [f"{kind.name}:*" for kind in registry.kinds()],
        **asked,
        "before": page.words["before"],
        "records": [
            {
                **show_record(key, record, texts[record["id"]]),
                "workspace": key,
                "snippet": _snippet(record, _wanted(asked["q"])),
            }
            for key, record in shown
        ],
        "looked": sum(one.looked for one in looks.values()),
        "oldest": max(unfinished, default=min(reached, default="")),
        "older": older,
    }


class SearchResult(NamedTuple):
    """What one journal gave: the records that match, newest first, and where to continue; 0 at its
    end."""

    records: list[Record]
    looked: int
    older: int
    oldest: str


def _before(page: PageContext, places: list[ServedWorkspace]) -> dict[str, int]:
    """Where to continue in each journal: `shop:120,api:44`, or a number for a single journal."""
    text = page.words["before"]
    if ":" not in text:
        alone = page.number("before")
        return {} if alone is None else {place.key: alone for place in places}
    found = parse_positions(text)
    if not found:
        raise Usage(f"before={text!r:.40} is no place.", hint="Follow the links of the page.")
    return found


def _merged(looks: Mapping[str, SearchResult]) -> tuple[list[tuple[str, Record]], str]:
    """The newest records of all journals as one page, and where each journal continues."""
    found = [(key, record) for key, one in looks.items() for record in one.records]
    found.sort(key=lambda pair: pair[1]["at"], reverse=True)
    shown = found[:PER_PAGE]
    older = {key: one.older for key, one in looks.items()}
    for key, record in reversed(found[PER_PAGE:]):
        older[key] = record["seq"] + 1
    if not any(older.values()):
        return shown, ""
    # A journal that was looked through to its end is not begun anew.
    return shown, format_positions({key: at or 1 for key, at in older.items()})


def _word(words: Mapping[str, str], name: str) -> str:
    text = words.get(name, "").strip()
    if len(text) > LONGEST_WORD:
        raise Usage(f"{name} has at most {LONGEST_WORD} letters.")
    return text


def _wanted(q: str) -> list[str]:
    return q.casefold().split()


def _search(
    journal: Journal, before: int | None, most: int, *, q: str, stream: str, kind: str
) -> SearchResult:
    """One page of matching records."""
    wanted = _wanted(q)
    kept: list[Record] = []
    may_be_id = len(q) >= SHORTEST_ID and q.isascii() and q.isalnum()
    if may_be_id and before is None:
        kept = journal.find(q.lower(), limit=5)
    known = {record["id"] for record in kept}
    looked, oldest = 0, ""
    while looked < most and len(kept) < PER_PAGE:
        size = min(AT_ONCE, most) if wanted else PER_PAGE
        batch = journal.latest(stream=stream, kind=kind, before=before, limit=size)
        for record in batch:
            looked, before, oldest = looked + 1, record["seq"], record["at"]
            if record["id"] not in known and _fits(record, wanted):
                kept.append(record)
                if len(kept) == PER_PAGE:
                    break
        if len(batch) < size:
            before = 0 if not batch or before == batch[-1]["seq"] else before
            break
    return SearchResult(kept, looked, before or 0, oldest)


def _snippet(record: Record, wanted: list[str]) -> str:
    """The text around the first match in a body."""
    if not wanted or record["body"] is None or wanted[0] in text_of(record)[:LONGEST].casefold():
        return ""
    text = json.dumps(record["body"], ensure_ascii=False)
    at = text.casefold().find(wanted[0])
    if at < 0:
        return ""
    begin, end = max(0, at - AROUND), at + len(wanted[0]) + AROUND
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _fits(record: Record, wanted: list[str]) -> bool:
    if not wanted:
        return True
    head = f"{record['id']} {record['stream']} {record['kind']} {record['actor']} {record['at']} "
    text = (head + json.dumps(record["body"], ensure_ascii=False)).casefold()
    return all(word in text for word in wanted)
