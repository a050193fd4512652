"""Where the secrets stand in a text, by the rules whose literals occur in it; also behind percent signs, in
base64, and over the end of a line."""

from __future__ import annotations

import re

from holdfast.kernel.redact_judges import (
    JUDGES,
    decode,
    is_column_value,
    is_free,
    is_generated,
    is_mixed,
)
from holdfast.kernel.redact_quick import (
    BASE64,
    COLUMN,
    MANIFEST,
    NEAR,
    NEAR_LETTERS,
    NEAR_NAMES,
    literals_in,
    suspects,
)
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
    [
        "webhook",
        "dotted-token",
        "database-password",
        *(name for name, _, pattern in VENDOR_RULES if not pattern.startswith(EDGE)),
    ]
)
_ALL_NAMES = frozenset(name for name, _, _ in RULES)
# Rules that know a key by its own shape, whatever stands before it.
_SHAPES = _ALL_NAMES.difference(JUDGES, ("private-key", "putty-key", "webhook", "password-hash"))
# A longer value goes on with these letters.
_LONGEST_VALUE = 300
_REST_OF_VALUE = r"[^\s\"'`,;<>(){}\[\]\\]*+"
# Over how many line breaks a secret may go on.
MOST_BREAKS = 8

# How often one after the other a secret may be encoded, and how long a table may be.
MOST_ENCODINGS, MOST_ROWS = 2, 500
COLUMN_NAMES = ("password", "secret access key")
_SQL_FIELD = r"\s*(?:'(?:[^'\n]|'')*'|[^',()\n]*)\s*"
_SQL_ROW = r"\(((?:'(?:[^'\n]|'')*+'|[^'()\n]){1,4000}+)\)"
_TABLE_HEAD = (
    r"(?im)^\0?[ \t]{0,8}(?P<head>(?=[^\n]{0,1000}(?:password|secret access key))[\"']?[a-z][a-z0-9_ ]{0,40}[\"']?(?P<sign>[,;\t])"
    r"(?:[\"']?[a-z][a-z0-9_ ]{0,40}[\"']?(?:(?P=sign)|(?=\r?$))){1,60})(?=\r?\n)"
)
_MARKDOWN_ROW = r"\r?\n[ \t]{0,8}\|([^\n]{1,2000})"
_MARKDOWN_HEAD = r"(?im)^\0?[ \t]{0,8}\|(?P<head>(?=[^\n]{0,1000}password)[^\n]{1,1000})\|[ \t]{0,8}\r?\n[ \t]{0,8}\|[ :|-]{3,1000}(?=\r?\n)"

_KIND_OF_MANIFEST = r"(?i:(?m:^[ \t]{0,40}kind:[ \t]{1,3}secret[ \t]{0,8}\r?$)|\bkind\\{0,3}\"\s{0,3}:\s{0,3}\\{0,3}\"secret\\{0,3}\")"
_DATA_OF_MANIFEST = r"(?m:^(?P<blanks>[ \t]{0,40})(?:stringData|data):[ \t]{0,8}\r?\n(?P<values>(?:(?P=blanks)[ \t]{1,8}[^\n]{1,8000}(?:\n|\Z)){1,60}))"
_VALUE_OF_MANIFEST = r"(?m)^[ \t]{1,48}[A-Za-z0-9_.-]{1,80}:[ \t]{1,3}[\"']?([^\s\"'|>]{6,8000})"
# Rules whose value may be the first of several pieces in quotes.
_IN_QUOTES = ("named-secret", "named-key", "paired-secret", "vendor-key")
# Ids of requests and of calls of tools, as agents' records hold many.
_IDS = ("req_", "call_", "toolu_", "msg_", "resp_", "chatcmpl-")
_NO_SECRET_FOLLOWS = (
    "sha1-",
    "sha256-",
    "sha384-",
    "sha512-",
    "sha256:",
    "public key: ",
    "base64,",
)

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
    if "\x1b[" in text:
        spans += _search_joined(text, r"\x1b\[[0-9;?]{0,20}[A-Za-z]", rules, whole=True)
    if "%" in text:
        spans += _decode_percent(text, rules)
    functions = [name for name, _, pattern in rules if not pattern]
    if COLUMN in functions:
        spans += _search_columns(text)
    if MANIFEST in functions:
        spans += _search_manifests(text)
    if NEAR in functions:
        spans += _search_near_names(text)
    if BASE64 in functions:
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
        further = _end_of_pieces(text, end) if name in _IN_QUOTES else end
        further = (
            further
            if further > end
            else _end_of_continued(text, end, 8 if name.startswith("named") else 4)
        )
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


def _end_of_pieces(text: str, end: int) -> int:
    """Return where a secret ends that a program joins of pieces in quotes."""
    for _ in range(MOST_BREAKS):
        match = _compile(
            r"([\"'])\s{0,3}(?:[+.]|\\?(?=\s{0,3}\n))\s{0,40}[brf]?(?=[\"'])\1([A-Za-z0-9_+/=-]{4,300}+)(?=\1)"
        ).match(text, end)
        if match is None or not _is_continued(match[2], 4):
            return end
        end = match.end()
    return end


def _search_joined(
    text: str, between: str, rules: Sequence[Rule], whole: bool = False
) -> list[Span]:
    """Search a text without what a pattern finds; give places in the text as it is.

    Without `whole`, only secrets from which something was taken out.
    """
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
        if inside or whole:
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


def _search_near_names(text: str) -> list[Span]:
    """Search for words that a program made up, shortly behind the name of a secret on their line."""
    found: list[Span] = []
    for word in _compile(r"(?<![A-Za-z0-9_+/=.-])[A-Za-z0-9_+/=.-]{20,400}+").finditer(text):
        start = word.start()
        front = (
            text[max(0, start - NEAR_LETTERS) : start]
            .rpartition("\n")[2]
            .lower()
            .replace("tokens", "")
            .rpartition("]")[2]  # the mark of a rule has its name
        )
        if (
            any(name in front for name in NEAR_NAMES)
            and not front.endswith(_NO_SECRET_FOLLOWS)
            and not front.rstrip(" \t\\\"'`:=").endswith(("id", "sha", "hash", "commit"))
            and is_free(word[0])
            and word[0].count("/") < 3
            and not word[0].startswith(_IDS)
            and is_generated(word[0])
        ):
            found.append((start, start + len(word[0].rstrip(".")), NEAR))
    return found


def _search_manifests(text: str) -> list[Span]:
    """Search for the values of a secret of Kubernetes, beside whatever name."""
    found: list[Span] = []
    if not _compile(_KIND_OF_MANIFEST).search(text):
        return found
    for data in _compile(_DATA_OF_MANIFEST).finditer(text):
        for value in _compile(_VALUE_OF_MANIFEST).finditer(text, *data.span("values")):
            if is_free(value[1]):
                found.append((*value.span(1), MANIFEST))
    return found


def _decode_percent(text: str, rules: Sequence[Rule]) -> list[Span]:
    """Secrets in words with percent signs, as in the parameters of a URL."""
    found = []
    for word in _compile(r"[^\s\"'<>`]+").finditer(text):
        if "%" not in word[0]:
            continue
        decoded = word[0]
        places = list(range(word.start(), word.end() + 1))
        for _ in range(MOST_ENCODINGS):
            letters: list[str] = []
            starts: list[int] = []
            for one in _compile(r"%([0-9A-Fa-f]{2})|(.)").finditer(decoded):
                letters.append(one[2] or chr(int(one[1], 16)))
                starts.append(places[one.start()])
            decoded, places = "".join(letters), [*starts, word.end()]
        if len(decoded) == len(word[0]):
            continue
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
        if decoded and _holds_secret(decoded, MOST_ENCODINGS - 1):
            found.append((*run.span(), BASE64))
    return found


def _holds_secret(text: str, encodings: int) -> bool:
    """Return whether a text holds a secret, under no more encodings in base64 than these."""
    literals = literals_in(text)
    if find_spans(text, suspects(literals - {BASE64})):
        return True
    inner = decode(text) if encodings and BASE64 in literals else ""
    return bool(inner) and _holds_secret(inner, encodings - 1)


# Tables


def _search_columns(text: str) -> list[Span]:
    """Search the columns of passwords: of rows with signs between their fields, and of `VALUES` in SQL."""
    found: list[Span] = []
    heads = r"(?i:insert\s{1,3}into)\s{1,3}[^\s(]{1,100}\s{0,3}\(([^()\n]{1,1000})\)\s{0,3}(?i:values)\s{0,3}(?=\()"
    for head in _compile(heads).finditer(text):
        columns = [name.strip(" \"'`[]") for name in head[1].split(",")]
        end = head.end()
        row = _compile(_SQL_ROW).match(text, end)
        while row is not None:
            found += _list_passwords(columns, _compile(_SQL_FIELD), text, row.start(1), row.end(1))
            row = _compile(r"\s{0,3},\s{0,8}" + _SQL_ROW).match(text, row.end())
    for head in _compile(_MARKDOWN_HEAD).finditer(text) if "|" in text else ():
        columns = head["head"].split("|")
        row = _compile(_MARKDOWN_ROW).match(text, head.end())
        while row is not None:
            found += [
                one
                for one in _list_passwords(columns, _compile(r"[^|\n]*"), text, *row.span(1))
                if any(letter.isdigit() for letter in text[one[0] : one[1]])
                and " " not in text[one[0] : one[1]]
            ]
            row = _compile(_MARKDOWN_ROW).match(text, row.end())
    start = 0
    for head in _compile(_TABLE_HEAD).finditer(text):
        sign = head["sign"]
        columns = [name.strip("\"'") for name in head["head"].split(sign)]
        if head.start() < start:
            continue  # a row of the table before
        start = text.index("\n", head.end()) + 1
        for _ in range(MOST_ROWS):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            if text.count(sign, start, end) != len(columns) - 1:
                break
            found += _list_passwords(columns, _compile(f"[^{sign}\n]*"), text, start, end)
            start = end + 1
    return found


def _list_passwords(
    columns: list[str], field: re.Pattern[str], text: str, start: int, end: int
) -> list[Span]:
    """List the passwords in a row."""
    found: list[Span] = []
    for name in columns:
        match = field.match(text, start, end)
        if match is None:
            return found
        value = match[0].strip()
        first = match.start() + len(match[0]) - len(match[0].lstrip())
        bare = value.strip("\"'`")
        if name.strip().lower().endswith(COLUMN_NAMES) and is_column_value(bare, bare != value):
            first += value.find(bare)
            found.append((first, first + len(bare), COLUMN))
        start = match.end() + 1
    return found
