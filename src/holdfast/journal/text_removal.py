"""How a text is taken out of rows and records; each store writes what these give it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.journal.chain import seal
from holdfast.kernel import canonical_json

if TYPE_CHECKING:
    from holdfast.journal.interface import Draft

# The columns beside the records that may hold a text: of plain text, and of JSON with a plain one beside it.
PLAIN = (("outbox", "key"), ("refused", "actor"), ("meta", "value"))
STRUCTURED = (("outbox", "body", "error"), ("refused", "drafts", "reason"))
# What `seal_again` needs of a record, as columns.
RECORD = "seq, id, version, at, actor, fence, kind, body"


def replace_in_rows(
    rows: Iterable[Sequence[Any]], text: str, mark: str
) -> Iterator[tuple[str, str, str]]:
    """Return the rows (an id, a JSON text, a plain text) that hold the text, with the mark in its place."""
    for id, value, words in rows:
        before = [canonical_json.loads(value), words]
        after = canonical_json.replace_text(before, text, mark)
        if after != before:
            yield id, canonical_json.dumps(after[0]), after[1]


def seal_again(
    records: Iterable[Sequence[Any]], previous: bytes, name: str, text: str, mark: str
) -> Iterator[tuple[int, Draft, bytes | None, bytes, bytes]]:
    """Return the records of a stream under its new name, without the text in their ids and actors: the number of
    each, the record, its salt, and the hashes of its body and of itself."""
    for seq, id, version, at, actor, fence, kind, body in records:
        draft: Any = {
            "id": id.replace(text, f"purged-{seq}"),
            "at": at,
            "actor": actor.replace(text, mark),
            "kind": kind,
            "text": body or "",
        }
        salt, body_hash, previous = seal(previous, name, version, fence, draft)
        yield seq, draft, salt if body else None, body_hash, previous


def find_free_name(old: str, wanted: str, is_taken: Callable[[str], bool]) -> str:
    """Return the wanted name, with a number behind it where another stream has it."""
    name, number = wanted, 1
    while name != old and is_taken(name):
        number += 1
        name = f"{wanted}-{number}"
    return name
