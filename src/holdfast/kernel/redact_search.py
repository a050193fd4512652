"""Where the secrets stand in a text, by the rules whose literals occur in it; also behind percent signs, in
base64, and over the end of a line."""

from __future__ import annotations

import re

from holdfast.kernel.redact_judges import JUDGES, decode, is_mixed
from holdfast.kernel.redact_quick import BASE64, literals_in, suspects
from holdfast.kernel.redact_rules import EDGE, RULES
from holdfast.kernel.vendor_rules import VENDOR_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.kernel.redact_rules import Rule

    # Where a secret begins and ends, and which rule found it.
    Span = tuple[int, int, str]

# Rules that are looked for everywhere: their literal does not stand at their beginning.
ANYWHERE = frozenset(
    ["webhook", *(name for name, _, pattern in VENDOR_RULES if not pattern.startswith(EDGE))]
)
_ALL_NAMES = frozenset(name for name, _, _ in RULES)
# Rules that know a key by its own shape, whatever stands before it.
_SHAPES = _ALL_NAMES.difference(JUDGES, ("private-key", "putty-key", "webhook", "password-hash"))
# A longer value goes on with these letters.
_LONGEST_VALUE = 300
_REST_OF_VALUE = r"[^\s\"'`,;<>(){}\[\]\\]*+"
# Over how many line breaks a secret may go on.
MOST_BREAKS = 8

_compiled: dict[str, re.Pattern[str]] = {}


def _compile(pattern: str) -> re.Pattern[str]:
    compiled = _compiled.get(pattern)
    if compiled is None:
        compiled = _compiled[pattern] = re.compile(pattern, re.DOTALL)
    return compiled


def find_spans(text: str, rules: Sequence[Rule]) -> list[Span]:
    """Where the secrets stand, in order; two that overlap are one, named by the first rule of the two."""
    spans = _match_rules(text, rules)
    spans += _follow_lines(text, rules, spans)
    if "%" in text:
        spans += _decode_percent(text, rules)
    if any(name == BASE64 for name, _, _ in rules):
        spans += _decode_base64(text)
    return _merge(spans)


def _merge(spans: list[Span]) -> list[Span]:
    if len(spans) < 2:
        return spans
    ranked = sorted(
        (start, end, rank, name) for rank, (start, end, name) in enumerate(spans) if end > start
    )
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, name in ranked:
        if merged and start < merged[-1][1]:
            first = merged[-1]
            merged[-1] = (first[0], max(first[1], end), *min(first[2:], (rank, name)))
        else:
            merged.append((start, end, rank, name))
    return [(start, end, name) for start, end, _, name in merged]


def _match_rules(text: str, rules: Sequence[Rule]) -> list[Span]:
    lowered = text.lower()
    is_aligned = len(lowered) == len(text)
    spans: list[Span] = []
    for name, literals, pattern in rules:
        if not pattern:
            continue
        compiled = _compile(pattern)
        if name in ANYWHERE or not is_aligned:
            places = [match.start() for match in compiled.finditer(text)]
        else:
            # Only where a literal stands: a search over all of the text costs five times as much.
            places = _positions(text, lowered, literals)
        judge = JUDGES.get(name)
        done = 0
        for place in places:
            match = compiled.match(text, place) if place >= done else None
            if match is None:
                continue
            start, end = _secret_in(match)
            if start == end or (judge is not None and not judge(match, text, text[start:end])):
                done = start  # what is no secret may hold one
                continue
            if name == "named-secret" and end - start == _LONGEST_VALUE:
                rest = _compile(_REST_OF_VALUE).match(text, end)
                end = rest.end() if rest else end
            spans.append((start, end, name))
            done = end
    return spans


def _secret_in(match: re.Match[str]) -> tuple[int, int]:
    """The part of a match that goes."""
    groups = match.groupdict()
    for name in ("quoted", "value"):
        if groups.get(name) is not None:
            return match.span(name)
    return (match.end("keep") if groups.get("keep") is not None else match.start()), match.end()


def _positions(text: str, lowered: str, literals: Sequence[str]) -> list[int]:
    """Where the literals stand, in order."""
    found = set()
    for literal in literals:
        where = lowered if literal == literal.lower() else text
        start = where.find(literal)
        while start >= 0:
            found.add(start)
            start = where.find(literal, start + 1)
    return sorted(found)


# What is hidden


def _follow_lines(text: str, rules: Sequence[Rule], spans: list[Span]) -> list[Span]:
    """Secrets that go on after the end of a line: at a backslash, or where a terminal broke it."""
    if "\n" not in text:
        return []
    found: list[Span] = []
    if "\\\n" in text or "\\\r\n" in text:
        found += _search_joined(text, r"\\\r?\n[ \t]{0,40}", rules)
    for start, end, name in spans:
        further = _end_of_continued(text, end, 8 if name.startswith("named") else 4)
        if further > end:
            found.append((start, further, name))
    shapes = [rule for rule in rules if rule[0] in _SHAPES]
    if shapes:
        starts = {start for start, _, _ in spans}
        between = r"(?<=[A-Za-z0-9_+/=.-])\r?\n[ \t]{0,8}(?=[A-Za-z0-9_+/=.-])"
        for start, end, name in _search_joined(text, between, shapes):
            rest = text[start:end].split("\n")[1:]
            if (
                start not in starts
                and rest
                and all(_is_continued(part.strip(), 2) for part in rest)
            ):
                found.append((start, end, name))
    return found


def _search_joined(text: str, between: str, rules: Sequence[Rule]) -> list[Span]:
    """Search a text without what a pattern finds between its lines; give places in the text as it is."""
    parts, removed, end = [], [], 0
    length = 0
    for match in _compile(between).finditer(text):
        length += match.start() - end
        parts.append(text[end : match.start()])
        removed.append((length, match.end() - match.start()))
        end = match.end()
    if not removed:
        return []
    joined = "".join(parts) + text[end:]
    found = []
    before = number = 0
    for start, stop, name in sorted(_match_rules(joined, rules)):
        while number < len(removed) and removed[number][0] <= start:
            before += removed[number][1]
            number += 1
        inside, following = 0, number
        while following < len(removed) and removed[following][0] < stop:
            inside += removed[following][1]
            following += 1
        if inside:
            found.append((start + before, stop + before + inside, name))
    return found


def _end_of_continued(text: str, end: int, shortest: int) -> int:
    """Where a secret that reaches the end of its line ends, if the next lines begin with more of it."""
    for _ in range(MOST_BREAKS):
        match = _compile(r"\r?\n[ \t]{0,8}([A-Za-z0-9_+/=-]{2,500}+)(?=[\s\"'`\\),;]|\Z)").match(
            text, end
        )
        if match is None or not _is_continued(match[1], shortest):
            return end
        end = match.end()
    return end


def _is_continued(part: str, shortest: int) -> bool:
    """Whether the beginning of a line looks like the rest of a key, not like a word."""
    core = part.rstrip("=")
    has_digit = any(letter.isdigit() for letter in core)
    has_letter = any(letter.isalpha() for letter in core)
    if len(core) < shortest or not core.isascii() or core.count("-") + core.count("_") > 2:
        return False
    return (has_digit and has_letter) or is_mixed(core)


def _decode_percent(text: str, rules: Sequence[Rule]) -> list[Span]:
    """Secrets in words with percent signs, as in the parameters of a URL."""
    found = []
    for word in _compile(r"[^\s\"'<>`]+").finditer(text):
        if "%" not in word[0]:
            continue
        letters: list[str] = []
        places: list[int] = []
        for one in _compile(r"%([0-9A-Fa-f]{2})|(.)").finditer(text, *word.span()):
            letters.append(one[2] or chr(int(one[1], 16)))
            places.append(one.start())
        decoded = "".join(letters)
        if len(decoded) == len(word[0]):
            continue
        places.append(word.end())
        for start, end, name in _match_rules(decoded, rules):
            if "[redacted:" not in decoded[start:end]:
                found.append((places[start], places[end], name))
    return found


def _decode_base64(text: str) -> list[Span]:
    """Runs of base64 whose text holds a secret."""
    found = []
    runs = r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/]{60,80}\r?\n)*[A-Za-z0-9+/_-]{16,100000}+={0,2}"
    for run in _compile(runs).finditer(text):
        decoded = decode(run[0])
        if decoded and find_spans(decoded, suspects(literals_in(decoded) - {BASE64})):
            found.append((*run.span(), BASE64))
    return found
