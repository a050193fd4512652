"""The story of a session: what was asked, what the agent said and what came of it, in whole sentences.

A passage is a list of the turn, its place, its kind and its text. Sentences that were said one behind the
other have neighbouring places. Where there is no room for all, those stay whose pairs of words came again,
lately, or from the person: what was said five times is needed again ten times as often as what was said once.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from holdfast.kernel.patterns import DOTALL, compile_later
from holdfast.kernel.text import one_line, split_words
from holdfast.observe.model import ROOM, clipped, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from holdfast.observe.model import Observation

    Passage = list[Any]
    Pair = tuple[str, str]

ASKED, HEARD, SAID, CLOSED, DONE, CHANGED, SUMMED = split_words(
    "asked heard said closed done changed sum"
)
OF_PERSON = (ASKED, HEARD)
LONGEST, LONGEST_ASKED, SHORTEST = 420, 300, 24
# A sentence of so few letters says something in a person's mouth.
SHORTEST_ASKED = 3
# A passage with so many letters stands alone.
ENOUGH = 120
# A sentence with fewer belongs to the one before it: "See there."
SHORT = 40
LONGEST_LEAD = 90
# A part of an erased text that is shorter is no part of it, but a word.
SHORTEST_PIECE = 8
_CLOSES = ".!?:…"
MOST_PASTED = 30
MOST_DONE, MOST_CHANGED = 60, 8
# The first words of so many turns stay, and those of the first.
MOST_HEADS = 40
# What a passage takes beside its text.
_ENTRY = 26
# What a pair of words counts by how often it was said, and how fast it ages, in messages.
_OFTEN = (0.0, 1.0, 3.0, 5.5, 8.0, 12.0)
_HALF, _FLOOR, _OF_PERSON = 8.0, 0.05, 3.0
_POWER, _OVERHEAD = 0.8, 40

_FENCED = compile_later(r"```.*?(?:```|\Z)", DOTALL)
_LINK = compile_later(r"\[([^\]]+)\]\([^)\s]+\)")
_RULE_LINE = compile_later(r"[|:\s=_*-]+$")
_HEADING = compile_later(r"(?:#+\s.*|\*\*[^*]+\*\*:?|.{1,90}:)$")
_MARKER = compile_later(r"^(?:[-*•>]|#+|\d+[.)])\s+")
_BOLD = compile_later(r"\*\*|__(?=\w)|(?<=\w)__")
_CELL = compile_later(r"\s*\|\s*")
_END = compile_later(r"(?<=[.!?])\s+(?=[A-ZÀ-ÞА-Я`\"*(])|(?<=[。！？])")
# An agent says so what it is about to look at: the calls behind it say it better.
_NARRATES = compile_later(
    r"(?i)(?:(?:now|good|ok|okay|great|perfect|so|and|then)\b[,.!]? )*(?:let me|let's|i'll|i will|i'm going to|"
    r"i am going to|i'm now|now i|now (?!(?:it|the\w*|this|that|we|you|there|all|both|only|when|if|with|in|on|an?|no|"
    r"every|each)\b)[a-z]+)\b"
)
_PRAISES = compile_later(
    r"(?i)(?:good|great|perfect|done|ok|okay|excellent|all tests pass)\b.{0,40}$"
)
# In its own summary a client repeats what the person said.
_REPEATS = compile_later(
    r"(?s)(?:<analysis>.*?</analysis>|\n\s*\d*\.?\s*(?:\*\*)?All [Uu]ser [Mm]essages.*?(?=\n\s*\d+\. |\Z))"
)
# What a person pastes, but does not say: quotes, logs, options, diffs, tables, headings, code.
_PASTED = compile_later(
    r"[>│╭╰├└|+$#{}<❯➜]|\w+=\S|--?\w+[ =]|\[\d|\d{4}-\d\d-\d\d|\d\d:\d\d|at \S+\(|\S+\.\w+:\d+|"
    r"(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FAIL|PASS|ok|Error|Warning|error|warning|panic)\b[: ]"
)
_NO_LETTERS = {
    code: " " for code in range(128) if not chr(code).isalpha() and chr(code) not in "'-"
}
_STOP = frozenset(
    split_words(
        "a about above after again against all also am an and any are as at be because been before being below "
        "between both but by can cannot could did do does doing down during each few for from further get got had "
        "has have having he her here him his how i if in into is it its itself just let me more most my no nor not "
        "now of off on once one only or other our ours out over own same she should so some such than that the "
        "their them then there these they this those through to too under until up us very was we were what when "
        "where which while who whom why will with would you your yours"
    )
)


def tell(seen: Observation, kind: str, text: str) -> None:
    """Add what was said or asked, sentence by sentence."""
    story = seen["story"]
    place = _next_place(story)
    is_asked = kind in OF_PERSON
    found = list(sentences_in(text) if is_asked else passages_in(text))
    if is_asked:
        found = [one for one in found if not is_pasted(one)] or found[:1]
        found = found[: MOST_PASTED - 6] + found[max(MOST_PASTED - 6, len(found) - 6) :]
    fresh = set(found)
    # What is said again stands where it was said last; a word in between that becomes a prompt is one.
    again = (HEARD,) if is_asked else (SAID, CLOSED, SUMMED)
    story[:] = [one for one in story if one[2] not in again or one[3] not in fresh]
    told: set[str] = set()
    for sentence in found:
        if sentence not in told:
            told.add(sentence)
            story.append([seen["prompts"], place, kind, sentence])
        place += 1
    _bound(story)


def take_back_heard(seen: Observation, text: str) -> None:
    """Take out what the person took back into the input line."""
    taken = set(sentences_in(text))
    seen["story"] = [one for one in seen["story"] if one[2] != HEARD or one[3] not in taken]


def close_turn(seen: Observation) -> None:
    """Mark the last message of a turn that ends: there stands what came of it."""
    place = None
    for one in reversed(seen["story"]):
        if one[2] in (DONE, CHANGED):
            continue
        if one[2] != SAID or place not in (None, one[1] + 1):
            break
        one[2], place = CLOSED, one[1]


def sum_up(seen: Observation, text: str) -> None:
    """Add what the client wrote when it compacted. An older summary of it is in the newer one."""
    story = seen["story"]
    story[:] = [one for one in story if one[2] != SUMMED]
    tell(seen, SUMMED, _REPEATS.sub("\n", text))


def record(seen: Observation, fact: str) -> None:
    """Add a result that matters, in our words and the program's: a commit, a push, a failure that ended."""
    story = seen["story"]
    fact = clipped(one_line(fact), 240)
    story[:] = [one for one in story if one[3] != fact]
    story.append([seen["prompts"], _next_place(story), DONE, fact])
    done = [one for one in story if one[2] == DONE]
    if len(done) > MOST_DONE:
        story.remove(done[0])
    _bound(story)


def change(seen: Observation, path: str) -> None:
    """Add a file to those that were changed in this turn."""
    story = seen["story"]
    name = clipped(one_line("/".join(path.split("/")[-2:])), 80)
    of_turn = next(
        (one for one in story[::-1] if one[2] == CHANGED and one[0] == seen["prompts"]), None
    )
    if of_turn is None:
        story.append([seen["prompts"], _next_place(story), CHANGED, name])
    else:
        names = [one for one in of_turn[3].split(", ") if one != name]
        of_turn[3] = ", ".join([*names, name][-MOST_CHANGED:])
        # It stands where its last edit was.
        story.remove(of_turn)
        story.append([of_turn[0], _next_place(story), CHANGED, of_turn[3]])


def pieces_of(text: str) -> list[str]:
    """The parts in which a story would hold a text of several sentences or lines."""
    found = [one for one in sentences_in(text) if len(one) >= SHORTEST_PIECE]
    return found if len(found) > 1 else []


def drop(seen: Any, text: str) -> None:
    """Take out the passages that hold a part of a text, or are one."""
    pieces, whole = pieces_of(text), one_line(text)
    if pieces:
        seen["story"] = [
            one
            for one in seen.get("story", [])
            if one[3] not in whole and not any(piece.rstrip("…") in one[3] for piece in pieces)
        ]


def _next_place(story: Sequence[Passage]) -> int:
    return int(story[-1][1]) + 2 if story else 0


def passages_in(text: str) -> Iterator[str]:
    """What an agent says, in passages of whole sentences. What is short stays with what stands before it in the
    same list or paragraph, and a heading, or a line that ends with a colon, with what follows it."""
    passage = lead = ""
    for line in _lines_of(text):
        if not line:
            yield from _worth_telling(passage)
            passage = ""
        elif _HEADING.match(line):
            yield from _worth_telling(passage)
            plain = _plain(line).rstrip(":. ")
            passage, lead = "", "" if _NARRATES.match(plain) else f"{plain[:LONGEST_LEAD]}: "
        else:
            sign = "; " if _MARKER.match(line) else " "
            for sentence in map(_plain, _END.split(line)):
                if _says_nothing(sentence):
                    continue
                is_short = len(passage) < ENOUGH or len(sentence) < SHORT
                is_short = is_short and len(passage) + len(sentence) < LONGEST
                if passage and is_short:
                    passage += (" " if passage[-1] in _CLOSES else sign) + sentence
                else:
                    yield from _worth_telling(passage)
                    passage, lead = lead + sentence, ""
    yield from _worth_telling(passage)


def sentences_in(text: str) -> Iterator[str]:
    """What a person says, by sentences and lines."""
    for line in _lines_of(text):
        for sentence in map(_plain, _END.split(line)):
            if len(sentence) >= SHORTEST_ASKED:
                yield _shorten(sentence, LONGEST_ASKED)


def is_pasted(sentence: str) -> bool:
    """Whether a person pasted it: a log, an option, a table or code is not said by anybody."""
    if _PASTED.match(sentence) or sentence.endswith("\\"):
        return True
    plain = sum(letter.isalpha() or letter in " ,.'’" for letter in sentence)
    return plain < 0.75 * len(sentence)


def _lines_of(text: str) -> Iterator[str]:
    """The lines of a text without code, addresses and rules."""
    if "```" in text:
        text = _FENCED.sub("\n", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    for line in map(str.strip, text.split("\n")):
        if not _RULE_LINE.match(line):
            yield _CELL.sub(" | ", line).strip(" |") if line.startswith("|") else line


def _worth_telling(passage: str) -> Iterator[str]:
    if len(passage) >= SHORTEST:
        yield _shorten(passage, LONGEST)


def _says_nothing(sentence: str) -> bool:
    if _PRAISES.match(sentence):
        return True
    return len(sentence) < 160 and _NARRATES.match(sentence) is not None


def _plain(sentence: str) -> str:
    sentence = one_line(_MARKER.sub("", sentence.strip(), count=1))
    return _BOLD.sub("", sentence).strip() if "*" in sentence or "_" in sentence else sentence


def _shorten(sentence: str, most: int) -> str:
    if len(sentence) > most:
        sentence = f"{sentence[: most - 1].rpartition(' ')[0] or sentence[: most - 1]}…"
    return clipped(sentence, most)


# What a passage is worth


@lru_cache(maxsize=2048)
def pairs_in(text: str) -> tuple[Pair, ...]:
    """The pairs of neighbouring content words of a text, each once, in order: sums over them are always the same."""
    said = [word.strip("'-") for word in text.lower().translate(_NO_LETTERS).split()]
    words = [_stem_of(word) for word in said if len(word) > 2 and word not in _STOP]
    return tuple(dict.fromkeys(pairwise(words)))


def _stem_of(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def weigh_pairs(story: Sequence[Passage]) -> dict[Pair, float]:
    """What each pair of words is worth: how often it was said, how lately, and by whom."""
    count: dict[Pair, int] = {}
    last: dict[Pair, int] = {}
    asked: set[Pair] = set()
    message, before = 0, -1
    for _, place, kind, text in story:
        if kind in (DONE, CHANGED):
            continue
        message += place != before + 1
        before = place
        pairs = pairs_in(text)
        for pair in pairs:
            count[pair] = count.get(pair, 0) + 1
            last[pair] = message
        if kind in OF_PERSON:
            asked.update(pairs)
    return {
        pair: _OFTEN[min(number, 5)]
        * (1 / (1 + (message - last[pair]) / _HALF) + _FLOOR)
        * (_OF_PERSON if pair in asked else 1.0)
        for pair, number in count.items()
    }


def per_letter(worth: float, text: str) -> float:
    """What a passage is worth for the room that it takes."""
    return float(worth / (len(text) + _OVERHEAD) ** _POWER)


_size_of_text = lru_cache(maxsize=2048)(size_of)


def _bound(story: list[Passage]) -> None:
    """Drop what is worth least where there is no room for all. The newest message stays, and each turn's
    first words."""
    over = sum(_size_of_text(one[3]) for one in story) + _ENTRY * len(story) - ROOM["story"]
    if over <= 0:
        return
    sizes = [_size_of_text(one[3]) + _ENTRY for one in story]
    over += ROOM["story"] // 3
    weights = weigh_pairs(story)
    ranked = []
    newest = None
    for place in range(len(story) - 1, -1, -1):
        one = story[place]
        if newest is None or one[1] == newest - 1:
            newest = one[1]
            if sum(sizes[place:]) < ROOM["story"] // 2:
                continue
        # Of pairs that were said twice, each of the two passages has its part.
        worth = per_letter(sum(weights.get(pair, 0.0) for pair in pairs_in(one[3])), one[3])
        ranked.append((worth, place))
    turns = {one[0]: place for place, one in reversed(list(enumerate(story))) if one[2] == ASKED}
    heads = {turns[turn] for turn in (sorted(turns)[:1] + sorted(turns)[-MOST_HEADS:])}
    # The oldest facts and the first words of a turn go last.
    last = [(worth, place) for worth, place in ranked if place in heads or story[place][2] == DONE]
    first = [
        (worth, place) for worth, place in ranked if place not in heads and story[place][2] != DONE
    ]
    dropped = set()
    for _, place in (*sorted(first), *sorted(last, key=lambda one: one[1])):
        if over <= 0:
            break
        over -= sizes[place]
        dropped.add(place)
    story[:] = [one for place, one in enumerate(story) if place not in dropped]
