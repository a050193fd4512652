"""Rank sessions for a question, and choose the lines that show why.

Two tables are asked: `core` has all that was done, `talk` only the words. The best documents of each by BM25 are scored
again: their words by how rare these are among sessions, and pairs of words that stand near each other in the question
and in the document, the nearer the better. A session has the best of its documents. ADR 0082 has what was measured.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

import apsw

from holdfast.memory.index import SHIFT, span
from holdfast.memory.tokens import MOST_WORDS, WORD, split

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from holdfast.memory.documents import Piece, What
    from holdfast.memory.index import Index

# BM25's saturation, and how much a document's length counts.
SATURATION, LENGTH = 1.5, 0.75
# Documents of each table that are scored again.
CANDIDATES = 100
# Words of the question so many places apart are a pair; in a document they may stand so far apart. The weight of
# pairs against single words.
APART, NEAR, PAIRS = 4, 20, 2.0
# How much more the logarithm of its edits makes a session worth: who looks for something mostly means who made it.
EDITED = 0.02
# A session with this part of another's score fits almost as well; so many of the best are put in order by it.
AS_GOOD, REORDERED = 0.9, 10
# Occurrences of a word in one document that are looked at.
MOST_PLACES = 60
MOST_LINES, LONGEST_LINE = 3, 160
DOCUMENTS_SHOWN = 3
# A line that says the same as another, but for a few words, is not shown twice.
ALIKE = 0.7
# What a line was makes it worth more or less to a reader.
WORTH: dict[What, float] = {
    "asked": 1.25,
    "said": 1.15,
    "failed": 1.1,
    "noted": 1.0,
    "ran": 0.95,
    "edited": 0.85,
}
OTHERS_WORTH = 0.6


class Line(TypedDict):
    """A matching line: what it was, the file it is about, and the text. `words` are the words of the question in
    it."""

    what: What
    path: str
    text: str
    words: list[str]


@dataclass
class Scores:
    """The scores of one session's documents in one table."""

    words: float = 0.0
    pairs: float = 0.0


@dataclass
class Found:
    """The documents of a table with the words of a question: length, and where each word stands."""

    rows: dict[int, tuple[int, list[list[int]]]] = field(default_factory=dict)

    def take(self, api: apsw.FTS5ExtensionApi, *_: object) -> None:
        """Keep where the words stand in a row; a function of FTS5."""
        places = [
            api.phrase_locations(number)[0][:MOST_PLACES] for number in range(api.phrase_count)
        ]
        self.rows[api.rowid] = (api.column_size(0), places)


class Stems:
    """The stems of words, as the index makes them."""

    def __init__(self, index: Index) -> None:
        self._tokenize = index.connection.fts5_tokenizer(
            "porter", ["unicode61", "remove_diacritics", "2"]
        )
        self._known: dict[str, str] = {}

    def of(self, word: str) -> str:
        if word not in self._known:
            found: Any = self._tokenize(
                word.encode(),
                apsw.FTS5_TOKENIZE_DOCUMENT,
                None,
                include_offsets=False,
                include_colocated=False,
            )
            self._known[word] = str(found[0]) if found else word
        return self._known[word]

    def distinct(self, words: Sequence[str]) -> list[str]:
        """Return the words without those that have the stem of an earlier one."""
        return list({self.of(word): word for word in reversed(words)}.values())[::-1]


class Question:
    """The words of a question, and how rare each is among the sessions."""

    def __init__(self, index: Index, words: Sequence[str]) -> None:
        self.index = index
        self.stems = Stems(index)
        known = max(1, int(index.ask("SELECT count(*) FROM session")[0][0]))
        weights = {word: self._weigh(word, known) for word in self.stems.distinct(words)}
        rarest = sorted(weights, key=lambda word: -weights[word])[:MOST_WORDS]
        self.words = [word for word in weights if word in set(rarest)]
        self.weights = [weights[word] for word in self.words]
        self.by_stem = {self.stems.of(word): weights[word] for word in self.words}
        self.match = " OR ".join(f'"{word}"' for word in self.words)
        self._hits: dict[str, tuple[str, ...]] = {}

    def hits_in(self, word: str) -> tuple[str, ...]:
        """Return the stems of the question's words that a word of a text has; a name in mixed case has several."""
        if word not in self._hits:
            stems = (self.stems.of(part) for part in split(word))
            self._hits[word] = tuple(stem for stem in stems if stem in self.by_stem)
        return self._hits[word]

    def _weigh(self, word: str, known: int) -> float:
        sql = f"SELECT count(DISTINCT rowid >> {SHIFT}) FROM core WHERE core MATCH ?"
        have = int(self.index.ask(sql, f'"{word}"')[0][0])
        return math.log(1 + (known - have + 0.5) / (have + 0.5))


def rank(question: Question, among: Collection[int] | None, limit: int) -> list[tuple[int, float]]:
    """Return the best sessions with their scores; `among` limits them to some."""
    total: dict[int, float] = defaultdict(float)
    for table in ("core", "talk"):
        for session, scores in _score(question, table, among).items():
            total[session] += scores.words + PAIRS * scores.pairs
    ids = ",".join(map(str, total))
    known = question.index.ask(f"SELECT id, began, edits FROM session WHERE id IN ({ids})")
    scored = [
        (id, total[id] * (1 + EDITED * math.log1p(edits)), began) for id, began, edits in known
    ]
    best = sorted(scored, key=lambda one: (-round(one[1], 6), one[2]))[: max(limit, REORDERED)]
    return [(id, score) for id, score, _ in _put_first_ones_first(best)][:limit]


def _put_first_ones_first(best: list[tuple[int, float, str]]) -> Iterator[tuple[int, float, str]]:
    """Of sessions that fit almost equally well, the one that began first comes first: later ones read, review and
    mention what it did."""
    rest = list(best)
    while rest:
        near = [one for one in rest if one[1] >= AS_GOOD * rest[0][1]]
        first = min(near, key=lambda one: one[2])
        rest.remove(first)
        yield first


def _score(question: Question, table: str, among: Collection[int] | None) -> dict[int, Scores]:
    index, found = question.index, Found()
    index.read_places(found.take)
    only, values = "", [question.match]
    if among is not None:
        only = f"AND rowid >> {SHIFT} IN (SELECT value FROM json_each(?))"
        values.append(f"[{','.join(map(str, among))}]")
    index.ask(
        f"SELECT places({table}) FROM {table} WHERE {table} MATCH ? {only} ORDER BY rank LIMIT {CANDIDATES}",
        *values,
    )
    usual = sum(length for length, _ in found.rows.values()) / max(1, len(found.rows)) or 1.0
    best: dict[int, Scores] = defaultdict(Scores)
    for row, (length, places) in found.rows.items():
        room = SATURATION * (1 - LENGTH + LENGTH * length / usual)
        one = best[row >> SHIFT]
        one.words = max(
            one.words,
            sum(
                _gain(len(at), room) * weight
                for at, weight in zip(places, question.weights, strict=True)
            ),
        )
        one.pairs = max(one.pairs, _score_pairs(places, question.weights, room))
    return best


def _gain(count: float, room: float) -> float:
    return count * (SATURATION + 1) / (count + room) if count else 0.0


def _score_pairs(places: Sequence[list[int]], weights: Sequence[float], room: float) -> float:
    """The score of the pairs of words that stand near each other in the question and in a document."""
    score = 0.0
    for first, at in enumerate(places):
        for second in range(first + 1, min(first + 1 + APART, len(places))) if at else ():
            near = sum(_nearness(place, places[second]) for place in at) if places[second] else 0.0
            score += (weights[first] + weights[second]) / 2 * _gain(near, room)
    return score


def _nearness(place: int, others: Sequence[int]) -> float:
    gap = min(abs(place - other) for other in others)
    return 1 / max(gap, 1) if gap <= NEAR else 0.0


# The lines that show why


def choose_lines(question: Question, session: int) -> list[Line]:
    """Return the lines of a session that match best, in different words."""
    first, last = span(session)
    sql = (
        "SELECT rowid FROM core WHERE core MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rank LIMIT ?"
    )
    rows = question.index.ask(sql, question.match, first, last, DOCUMENTS_SHOWN)
    pieces = [one for (id,) in rows for _, parts in question.index.pieces(id, id) for one in parts]
    scored = sorted(_score_lines(question, pieces), key=lambda one: -one[0])
    chosen: list[Line] = []
    said: list[set[str]] = []
    for _, line in scored:
        words = set(split(line["text"]))
        if all(len(words & other) < ALIKE * max(1, min(len(words), len(other))) for other in said):
            chosen.append(line)
            said.append(words)
        if len(chosen) == MOST_LINES:
            break
    return chosen


def _score_lines(question: Question, pieces: Sequence[Piece]) -> Iterator[tuple[float, Line]]:
    for piece in pieces:
        worth = WORTH.get(piece.what, OTHERS_WORTH)
        known = {
            word: hits for word in set(WORD.findall(piece.text)) if (hits := question.hits_in(word))
        }
        for line in piece.text.splitlines() if known else ():
            named = [word for word in known if word in line]
            found = {stem: question.by_stem[stem] for word in named for stem in known[word]}
            if found:
                text = _window(" ".join(line.split()), named)
                score = worth * sum(found.values()) * len(found) ** 0.5
                yield score, {"what": piece.what, "path": piece.path, "text": text, "words": named}


def _window(line: str, words: Sequence[str]) -> str:
    """The part of a long line with the most of its words."""
    if len(line) <= LONGEST_LINE:
        return line
    at = [line.find(word) for word in words]
    start = max(at, key=lambda begin: sum(begin <= one < begin + LONGEST_LINE - 20 for one in at))
    start = max(0, min(start - 20, len(line) - LONGEST_LINE))
    cut = line[start : start + LONGEST_LINE]
    return f"{'…' if start else ''}{cut.strip()}{'…' if start + LONGEST_LINE < len(line) else ''}"


def split_marked(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Return a text in parts, each with whether it is one of the words."""
    parts = [(text, False)]
    for word in sorted(words, key=len, reverse=True):
        cut: list[tuple[str, bool]] = []
        for part, is_marked in parts:
            pieces = [part] if is_marked else part.split(word)
            for number, piece in enumerate(pieces):
                cut += [(word, True)] if number else []
                cut += [(piece, is_marked)] if piece else []
        parts = cut
    return parts
