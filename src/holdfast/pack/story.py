"""The story of a session by turns, in whole sentences: those that say most of what is not told yet."""

from __future__ import annotations

from holdfast.kernel.patterns import compile_later
from holdfast.observe.story import (
    ASKED,
    CHANGED,
    CLOSED,
    DONE,
    HEARD,
    OF_PERSON,
    SUMMED,
    pairs_in,
    per_letter,
    weigh_pairs,
)
from holdfast.pack.pack import one_line, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.observe.model import Observation
    from holdfast.observe.story import Pair, Passage

TITLE = "What happened, oldest first"
# A sentence beside one that is told already is worth more: together they can be understood.
_NEIGHBOUR = 1.4
# What a result is worth, and that files were changed: less with each turn since.
_FACTS = {DONE: 9.0, CHANGED: 4.0}
# What sounds like a rule and is none is told first, where it was said.
_NO_RULE = 1000.0
# No more of the room goes to the person's earlier words.
_OF_PERSON = 0.5
# What each turn came to may take this much, before what says most.
_OUTCOMES = 0.3
_TIGHT = 700
# An outcome with fewer letters says it with the sentence behind it.
_SHORT = 80
_LONGEST_HEAD, _LONGEST_LINE = 70, 600
# Who says it, where it is not the agent.
_MARKS = {
    ASKED: "Person: ",
    HEARD: "Person, meanwhile: ",
    SUMMED: "From the client's summary: ",
    DONE: "Result: ",
    CHANGED: "Edited: ",
}
_CLOSES = ".!?:…"
# An order stands at the beginning of a clause, or says "must". Other languages are taken as they are.
_ORDERS = compile_later(
    r"(?i)(?:^\W*|[,;:.!(]\s*|\s[–—-]\s+|\b(?:and|but|so|please|pls|then|or|also|just|ok|okay|yes|no|yeah|nope)\s+)"
    r"(?:don'?t|do not|never|always|stop|avoid|keep|prefer|make sure|only|use|let'?s|no need|rather)\b"
    r"|\b(?:must|should|shouldn'?t|make sure|please)\b"
    r"|\b(?:nicht|nie|niemals|immer|keine?n?|nur|statt|lieber|jamais|toujours|seulement|nunca|siempre|solo)\b"
)
_DOUBTS = compile_later(
    r"(?i)\?$|\b(?:i (?:don'?t )?(?:think|know|guess|see)|thinking|wonder\w*|maybe|probably|perhaps|might|could|"
    r"we can|in theory|for example|if possible|seems?)\b"
)


class Story:
    """The passages of a session and what each is worth. `tell` chooses those for a room."""

    def __init__(self, seen: Observation) -> None:
        self._story: list[Passage] = seen.get("story", [])
        self._turn = seen["prompts"]
        self._weights = weigh_pairs(self._story)
        self._pairs = [() if one[2] in (DONE, CHANGED) else pairs_in(one[3]) for one in self._story]
        # The first words of what a turn came to, the newest turn first, and the first of all requests.
        ends = {one[0]: number for number, one in self._backwards() if one[2] == CLOSED}
        self._outcomes: list[int] = []
        for number in ends.values():
            self._outcomes.append(number)
            if len(self._story[number][3]) < _SHORT and self._story[number + 1 :][:1]:
                self._outcomes += [number + 1] if self._is_beside(number, number + 1) else []
        # What was shown when they were ranked, and their order.
        self._ranked: tuple[set[Pair], list[int]] | None = None
        self._places: dict[Pair, list[int]] = {}
        for number, pairs in enumerate(self._pairs):
            for pair in pairs:
                self._places.setdefault(pair, []).append(number)
        self._facts = [
            _FACTS.get(one[2], 0.0) / (1 + (self._turn - one[0]) / 4) for one in self._story
        ]
        asked = [one["text"][:60] for one in seen["rulings"] if not is_rule(seen, one["text"])]
        for number, one in enumerate(self._story):
            if one[2] in OF_PERSON and any(text in one[3] for text in asked):
                self._facts[number] = _NO_RULE

    def _backwards(self) -> list[tuple[int, Passage]]:
        return list(enumerate(self._story))[::-1]

    def tell(self, room: int, shown: str) -> list[str]:
        """Return the lines of the story that the room allows, without what is shown already: what each turn came
        to, then what says most, no more than a part of it in the person's words, and more of these at the end."""
        chosen: set[int] = set()
        turns = {self._turn}
        ranked = self._rank(shown)

        def take(numbers: Iterable[int], most: int, of_person: int) -> int:
            """Choose as many as there is room for. What room they take."""
            left = most
            for number in numbers:
                turn, _, kind, text = self._story[number]
                cost = self._cost_of(number, turns)
                is_said = kind in OF_PERSON
                if number in chosen or cost > left or (is_said and cost > of_person):
                    continue
                if not _is_shown(text, shown):
                    chosen.add(number)
                    turns.add(turn)
                    left -= cost
                    of_person -= cost if is_said else 0
            return most - left

        musts = [number for number in ranked if self._facts[number] == _NO_RULE]
        first = [number for number, one in enumerate(self._story) if one[2] == ASKED][:1]
        # In little room, what was found last says more than what came first.
        is_tight = room < _TIGHT
        room -= take(musts if is_tight else musts + first, room, room)
        room -= take(self._outcomes, room if is_tight else int(_OUTCOMES * room), 0)
        room -= take(ranked, room, int(_OF_PERSON * room))
        take(ranked, room, room)
        return self._write(chosen)

    def _rank(self, shown: str) -> list[int]:
        """The passages in the order in which they are told: each time the one that says most of what is neither
        shown nor told before it. What says nothing new is left out."""
        known = set(pairs_in(shown))
        if self._ranked is not None and known == self._ranked[0]:
            return self._ranked[1]
        ranked = self._ranked = (set(known), [])
        worth = [
            fact + sum(self._weights[pair] for pair in pairs if pair not in known)
            for fact, pairs in zip(self._facts, self._pairs, strict=True)
        ]
        chosen: set[int] = set()
        values = [self._value(number, worth[number], chosen) for number in range(len(worth))]
        waiting = set(range(len(worth)))
        while waiting:
            number = max(waiting, key=values.__getitem__)
            waiting.remove(number)
            if worth[number] <= 0:
                break
            ranked[1].append(number)
            chosen.add(number)
            changed = {number - 1, number + 1}
            fresh = [pair for pair in self._pairs[number] if pair not in known]
            known.update(fresh)
            for pair in fresh:
                for other in self._places[pair]:
                    worth[other] -= self._weights[pair]
                    changed.add(other)
            for other in changed & waiting:
                values[other] = self._value(other, worth[other], chosen)
        return ranked[1]

    def _cost_of(self, number: int, turns: set[int]) -> int:
        """What room a passage takes; the first of a turn needs words of its request."""
        turn, _, kind, text = self._story[number]
        cost = len(text) + len(_MARKS.get(kind, "")) + 3
        if turn not in turns and kind != ASKED:
            cost += len(self._head(turn)) + 1
        return cost

    def _value(self, number: int, worth: float, chosen: set[int]) -> float:
        one = self._story[number]
        for other in (number - 1, number + 1):
            if other in chosen and self._is_beside(number, other):
                worth *= _NEIGHBOUR
                break
        return per_letter(worth, one[3])

    def _is_beside(self, number: int, other: int) -> bool:
        one, another = self._story[number], self._story[other]
        return bool(abs(one[1] - another[1]) == 1 and one[2] == another[2])

    def _write(self, chosen: set[int]) -> list[str]:
        """The chosen passages by turn: the person's words, then what the agent said and what came of it."""
        lines: list[str] = []
        turn = before = None
        for number in sorted(chosen):
            one = self._story[number]
            mark = _MARKS.get(one[2], "")
            if one[0] != turn:
                turn, before = one[0], None
                if one[2] != ASKED:
                    lines.append(self._head(turn))
            is_next = before is not None and (
                (mark and self._story[before][2] == one[2])
                or (self._is_beside(before, number) and len(lines[-1]) < _LONGEST_LINE)
            )
            if is_next:
                lines[-1] += f"{'' if lines[-1][-1] in _CLOSES else ';'} {one_line(one[3])}"
            else:
                start = "- " if one[2] == ASKED else "  "
                lines.append(f"{start}{mark}{one_line(one[3])}")
            before = number
        return lines

    def _head(self, turn: int) -> str:
        """The first words of a turn's request, where none of it was chosen."""
        if turn == self._turn:
            return "- Under this request:"
        first = next((one[3] for one in self._story if one[0] == turn and one[2] == ASKED), "")
        return f"- Person: {shorten(one_line(first), _LONGEST_HEAD)}" if first else "- Before:"


def is_rule(seen: Observation, ruling: str) -> bool:
    """Return whether a sentence with a word such as "only" or "never" orders something. A question, a doubt or a
    description stands in the story, as no rule."""
    is_told = any(one[2] in OF_PERSON and ruling[:60] in one[3] for one in seen.get("story", []))
    return not is_told or (_ORDERS.search(ruling) is not None and not _DOUBTS.search(ruling))


def _is_shown(text: str, shown: str) -> bool:
    """Return whether a passage stands there already, whole or in two places."""
    text = one_line(text)
    return text[:60] in shown or (text[:9] in shown and text[-30:].rstrip("…") in shown)
