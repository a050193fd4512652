"""What happened, newest first, and a search through it: so many records at a look, never all at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import Usage
from holdfast.web.telling import LONGEST, number, said, told

if TYPE_CHECKING:
    from holdfast.kernel.journal.interface import Journal, Record
    from holdfast.web.meter import Meter
    from holdfast.web.site import Site

PER_PAGE = 50
# Measured: 1,000 records are read and searched in 10 to 20 ms.
AT_ONCE, MOST_LOOKED = 500, 5_000
SHORTEST_ID = 6
LONGEST_WORD = 200
AROUND = 60
STREAMS = (
    *("session:*", "agent:*", "loop:*", "run:*", "gate:*", "budget:*", "rfc:*", "note:*", "stop:*"),
)


def gather(site: Site, words: Mapping[str, str], now: int, meter: Meter) -> dict[str, Any]:
    keys = [place.key for place in site]
    place = site.place(words.get("workspace") or keys[0])
    before = number(words, "before")
    asked = {name: _word(words, name) for name in ("q", "stream", "kind")}
    found: dict[str, Any] = {"records": [], "looked": 0, "older": 0, "oldest": ""}
    if place.workspace.exists():
        found = _search(place.workspace.journal, place.key, before, **asked)
    return {
        "workspace": place.key,
        "workspaces": keys,
        "streams": STREAMS,
        **asked,
        "before": before,
        **found,
    }


def _word(words: Mapping[str, str], name: str) -> str:
    text = words.get(name, "").strip()
    if len(text) > LONGEST_WORD:
        raise Usage(f"{name} has at most {LONGEST_WORD} letters.")
    return text


def _search(
    journal: Journal, key: str, before: int | None, *, q: str, stream: str, kind: str
) -> dict[str, Any]:
    """One page of what fits. `older` is where to look on; 0 when all was looked at."""
    wanted = q.casefold().split()
    kept: list[Record] = []
    if _may_be_id(q) and before is None:
        kept = journal.find(q.lower(), limit=5)
    known = {record["id"] for record in kept}
    looked, oldest = 0, ""
    while looked < MOST_LOOKED and len(kept) < PER_PAGE:
        size = AT_ONCE if wanted else PER_PAGE
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
    return {
        "records": [{**told(key, record), "snippet": _snippet(record, wanted)} for record in kept],
        "looked": looked,
        "older": before or 0,
        "oldest": oldest,
    }


def _snippet(record: Record, wanted: list[str]) -> str:
    """Where in its body the first of the words stands, with a little around it."""
    if not wanted or record["body"] is None or wanted[0] in said(record)[:LONGEST].casefold():
        return ""
    text = json.dumps(record["body"], ensure_ascii=False)
    at = text.casefold().find(wanted[0])
    if at < 0:
        return ""
    begin, end = max(0, at - AROUND), at + len(wanted[0]) + AROUND
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _may_be_id(q: str) -> bool:
    return len(q) >= SHORTEST_ID and q.isascii() and q.isalnum()


def _fits(record: Record, wanted: list[str]) -> bool:
    if not wanted:
        return True
    head = f"{record['id']} {record['stream']} {record['kind']} {record['actor']} {record['at']} "
    text = (head + json.dumps(record["body"], ensure_ascii=False)).casefold()
    return all(word in text for word in wanted)
