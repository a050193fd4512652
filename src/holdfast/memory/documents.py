"""What of a session is searched: its events as pieces of text, packed into documents. Pure.

`core` documents hold what was asked, said, run, edited, looked at and what failed; `talk` documents only the words and
what is said of the work. What a tool printed is left out, but for the end of a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from holdfast.clients.conversation import SessionEvent
from holdfast.memory.tokens import split

What = Literal["asked", "said", "ran", "edited", "looked", "called", "noted", "failed"]
Table = Literal["core", "talk"]

# How many letters a document of each table holds at most.
LONGEST: dict[Table, int] = {"core": 4000, "talk": 3000}
LONGEST_FAILURE = 400
# A search of ours would find itself, with the words of its question.
_OUR_SEARCH = ("holdfast find", "holdfast why", "mcp__holdfast__find")
_WHAT: dict[str, What] = {
    "prompt": "asked",
    "heard": "asked",
    "answer": "asked",
    "said": "said",
    "plan": "noted",
    "agent": "noted",
    "run": "ran",
    "edit": "edited",
    "read": "looked",
    "search": "looked",
    "call": "called",
}


@dataclass(frozen=True)
class Piece:
    """A text of a session: what it was, the file it is about, and the text."""

    what: What
    path: str
    text: str
    is_talk: bool

    @property
    def searched(self) -> str:
        return f"{self.path}\n{self.text}" if self.path and self.what != "ran" else self.text


def pieces_of(events: Iterable[SessionEvent]) -> Iterator[Piece]:
    """Return what is searched of a session's events."""
    for event in events:
        text = event.text
        if event.kind == "result":
            if event.failed and event.end != "refused" and text.strip():
                yield Piece("failed", "", text[-LONGEST_FAILURE:], is_talk=False)
            continue
        if event.kind in ("tasks", "task"):
            told = "\n".join(task["text"] for task in event.tasks if task["text"])
            if told:
                yield Piece("noted", "", told, is_talk=True)
            continue
        what = _WHAT.get(event.kind)
        if what is None or not (text.strip() or event.path):
            continue
        if what in ("ran", "called") and text.lstrip().startswith(_OUR_SEARCH):
            continue
        if event.kind == "answer":
            text = f"{event.about}\n{text}"
        is_talk = what in ("asked", "said", "noted") or (what == "ran" and "git commit" in text)
        yield Piece(what, event.path, text, is_talk)


@dataclass
class Document:
    """Pieces that are searched together; `words` are theirs."""

    pieces: list[Piece] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    length: int = 0


class Packer:
    """Packs pieces into documents of one table, in order. The last one may take more later."""

    def __init__(self, table: Table) -> None:
        self.longest = LONGEST[table]
        self.documents: list[Document] = []

    def add(self, piece: Piece) -> None:
        """Add a piece; a long one is cut into several."""
        text = piece.text
        while True:
            part = Piece(piece.what, piece.path, text[: self.longest], piece.is_talk)
            self._take(part, split(part.searched))
            text = text[self.longest :]
            if not text:
                return

    def _take(self, piece: Piece, words: list[str]) -> None:
        length = len(piece.searched)
        last = self.documents[-1] if self.documents else None
        if last is None or (last.length and last.length + length > self.longest):
            last = Document()
            self.documents.append(last)
        last.pieces.append(piece)
        last.words += words
        last.length += length
