"""Secrets are taken out once, at the writer, before anything is hashed or stored.

Five layers: exact values of environment variables with secret names, vendors' shapes, structures
(PEM, JWT, URL userinfo, Authorization), `name = value`, and the user's own rules. There is no
entropy rule: it destroys commit hashes and misses plain passwords. It is best effort.

Clean text never reaches a regular expression: every rule names literals, one of which must occur
in the text before the rule (and `re` itself) is even loaded. That test runs on every record, so
it is built for speed: looking for 54 literals one by one took 65 microseconds for 2 KB.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Rule = tuple[str, tuple[str, ...], str]

_KEYS = tuple(
    f"{what}{sign}key" for what in ("api", "access", "private") for sign in ("", "_", "-")
)
_NAMES_OF_SECRETS = ("secret", "token", "passw", "passphrase", "pwd", "credential", *_KEYS)

# name, literals of which one must occur, pattern. A literal in lower case is looked for in any case.
# Where a pattern has a group named `keep`, that part stays in front of the mark.
RULES: tuple[Rule, ...] = (
    (
        "private-key",
        ("-----begin",),
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r".*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    ("aws-key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    (
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})",
    ),
    ("gitlab-token", ("glpat-",), r"\bglpat-[A-Za-z0-9_.-]{16,}"),
    ("anthropic-key", ("sk-",), r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    ("openai-key", ("sk-",), r"\bsk-(?!ant-)(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    ("google-key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    (
        "google-oauth",
        ("ya29.", "GOCSPX-"),
        r"\b(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})",
    ),
    ("linear-key", ("lin_",), r"\blin_(?:api|oauth)_[A-Za-z0-9]{16,}"),
    (
        "slack-token",
        ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-"),
        r"\b(?:xox[abprse](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{10,}",
    ),
    (
        "slack-webhook",
        ("hooks.slack.com/",),
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    ),
    (
        "stripe-key",
        ("sk_", "rk_", "whsec_"),
        r"\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{16,})",
    ),
    ("npm-token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi-token", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{32,}"),
    ("huggingface-token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
    ("supabase-key", ("sb_", "sbp_"), r"\b(?:sb_secret_[A-Za-z0-9_-]{16,}|sbp_[a-f0-9]{40})"),
    ("sendgrid-key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("jwt", ("eyJ",), r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    (
        "url-password",
        ("@",),
        r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@\"'<>]*:)(?!\[redacted:|\$|<)[^\s/@\"'<>]+(?=@)",
    ),
    (
        "authorization",
        ("authorization", "bearer "),
        r"(?P<keep>(?i:\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)?|\bbearer)\s+)"
        r"(?!\[redacted:|\$|<)[A-Za-z0-9_.~+/=-]{12,}",
    ),
    (
        "named-secret",
        _NAMES_OF_SECRETS,
        # Without the front of the name: looking for where it begins would cost ten times as much.
        r"(?P<keep>(?i:(?:secret|token|passwd|password|passphrase|pwd|api[_-]?key|access[_-]?key|private[_-]?key|credential)"
        r"(?:s|[_-]?(?:key|value|id))?)[\"']?\s{0,3}(?:=|:=|:)\s{0,3}[\"']?)"
        r"(?!\[redacted:|\$|<|\{|%|(?i:true|false|null|none|undefined)\b)"
        r"(?P<value>[^\s\"'`,;<>(){}\[\]]{8,})",
    ),
)
# Where the rules of each literal stand in the list.
_PLACES: dict[str, list[int]] = {}
for _place, (_, _literals, _) in enumerate(RULES):
    for _literal in _literals:
        _PLACES.setdefault(_literal, []).append(_place)
SECRET_NAMES = (
    "SECRET",
    "TOKEN",
    "PASSW",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
)
SHORTEST_SECRET = 8
LONGEST_FIELD = 24
LONGEST_WORD = 12  # a shorter value of lower-case letters is a word such as "disabled"

# The literals again, as the quick test wants them. Words that end in `_` or `-` are found by looking
# only at what stands before each such sign, and the names of secrets before each `=` and `:`. A name, its
# ending, a quote and three blanks, which JSON spells in six letters each, take no more than that.
BEFORE_SIGN = 40
_SHORT_NAMES = tuple(name for name in _NAMES_OF_SECRETS if name not in _KEYS)
_LITERALS = {literal for _, literals, _ in RULES for literal in literals}.difference(
    _NAMES_OF_SECRETS
)
_WORDS = {sign: tuple(word[:-1] for word in _LITERALS if word.endswith(sign)) for sign in "_-"}
_TAILS = {
    sign: frozenset([*(word[-2:] for word in words), *([""] if sign == "-" else [])])
    for sign, words in _WORDS.items()
}
# The rest, each behind a part of it that most texts lack: looking for one letter costs next to nothing.
# A private key begins with dashes alone, which the look at the words before each dash finds.
_PRIVATE_KEY = "-----begin"
_RARE = "jqzxJKQZXGI9"
_OTHERS = tuple(
    (
        next((one for one in _RARE if one in word), word),
        word,
        word.islower(),
    )
    for word in sorted(_LITERALS)
    if word[-1] not in "_-" and word != _PRIVATE_KEY
)

# Seconds that a rule of the user's may take on one text.
LONGEST_SECONDS = 0.5
# Rules whose literal does not stand at the beginning of what they find.
ANYWHERE = ("url-password", "slack-webhook")
_NAMES = frozenset(name for name, _, _ in RULES)

_compiled: dict[str, re.Pattern[str]] = {}


class Redactor:
    """Takes secrets out of text and of JSON values, and counts what it took by rule."""

    __slots__ = ("_exact", "_own", "_spellings", "counts")

    def __init__(
        self, environment: Mapping[str, str] | None = None, rules: Mapping[str, str] | None = None
    ) -> None:
        self._exact = tuple(_secret_values(os.environ if environment is None else environment))
        # As they stand inside a JSON text, if they stand otherwise there.
        escaped = (canonical_json.dumps(secret)[1:-1] for secret in self._exact)
        self._spellings = tuple(dict.fromkeys((*self._exact, *escaped)))
        self._own: tuple[Rule, ...] = tuple(
            (name, ("",), rule) for name, rule in (rules or {}).items()
        )
        self.counts: dict[str, int] = {}

    def value(self, body: Any, serialised: str) -> Any:
        """The JSON value without secrets: itself, untouched, when there are none."""
        found = _literals_in(serialised)
        if not found and not self._own and not self._spellings:
            return body
        rules = self._suspects(found)
        if not self._holds_exact(serialised):
            if not rules:
                return body
            if not self._own and not _holds_secret(_flat(body), rules):
                return body
        walked = self._walk(body, rules)
        return body if walked == body else walked

    def text(self, text: str) -> str:
        return self._clean(text, self._suspects(_literals_in(text)))

    def _clean(self, text: str, rules: Sequence[Rule]) -> str:
        for secret in self._exact:
            if secret in text:
                self._count("environment", text.count(secret))
                text = text.replace(secret, "[redacted:environment]")
        for rule in rules:
            if rule[0] in _NAMES:
                text = self._apply(rule, text)
            else:
                with TimeLimit(rule[0]):
                    text = self._apply(rule, text)
        return text

    def _holds_exact(self, serialised: str) -> bool:
        for spelling in self._spellings:  # noqa: SIM110  # for each record, and most have none
            if spelling in serialised:
                return True
        return False

    def _suspects(self, found: set[str]) -> Sequence[Rule]:
        """The rules of which a literal was found, each with those that were; the user's own always."""
        suspects = []
        for place in sorted({place for literal in found for place in _PLACES[literal]}):
            name, literals, pattern = RULES[place]
            suspects.append((name, tuple([each for each in literals if each in found]), pattern))
        return [*suspects, *self._own]

    def _apply(self, rule: Rule, text: str) -> str:
        name, literals, pattern = rule
        compiled = _compile(pattern)

        def mark(match: re.Match[str]) -> str:
            groups = match.groupdict()
            keep, value = groups.get("keep") or "", groups.get("value")
            if value is not None and not _is_secret(value, assigned=keep[-1:] in "=\"'"):
                return match[0]
            self._count(name, 1)
            return f"{keep}[redacted:{name}]"

        lowered = text.lower()
        if name in ANYWHERE or name not in _NAMES or len(lowered) != len(text):
            return compiled.sub(mark, text)
        # Only where a literal stands: a search over all of the text costs five times as much.
        parts, end = [], 0
        for start in _positions(text, lowered, literals):
            match = compiled.match(text, start) if start >= end else None
            if match is not None:
                parts += [text[end:start], mark(match)]
                end = match.end()
        return "".join(parts) + text[end:] if parts else text

    def _walk(self, value: Any, rules: Sequence[Rule]) -> Any:
        if isinstance(value, str):
            return self._clean(value, rules)
        if isinstance(value, dict):
            shown: dict[str, Any] = {}
            for key, item in value.items():
                # A short plain name is a field of ours or of an agent's, not a secret.
                is_field = key.isidentifier() and len(key) < LONGEST_FIELD
                name = clean = key if is_field else self._clean(key, rules)
                while name in shown:  # two secrets as keys must not become one member
                    name = f"{clean}#{len(shown)}"
                shown[name] = self._member(key, item, rules)
            return shown
        if isinstance(value, list):
            return [self._walk(item, rules) for item in value]
        return value

    def _member(self, key: str, item: Any, rules: Sequence[Rule]) -> Any:
        """`{"password": "hunter22"}` says in its key what the text alone does not."""
        walked = self._walk(item, rules)
        if isinstance(walked, str) and (self._own or _literals_in(f"{key}=")):
            named = self._clean(f"{key}={walked}", rules)
            if named.startswith(f"{key}=[redacted:"):
                return named[len(key) + 1 :]
        return walked

    def _count(self, name: str, times: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + times


class TimeLimit:
    """Ends a rule of the user's that takes too long, by the timer's signal: `re` looks for signals
    while it searches. Only the main thread gets signals; in others, the form of the rules that the
    settings accept is the bound."""

    __slots__ = ("_before", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._before: Any = None

    def __enter__(self) -> None:
        import signal

        try:
            if signal.getitimer(signal.ITIMER_REAL)[0]:
                return  # the timer is in use
            self._before = signal.signal(signal.SIGALRM, self._end)
        except ValueError:
            return  # not the main thread
        signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)

    def _end(self, *_: object) -> None:
        raise HoldfastError(
            f"The rule redact.rules.{self._name} took longer than {LONGEST_SECONDS:g} s on one text. "
            "Nothing was written.",
            hint="Make the rule simpler, or take it out of the settings.",
            kind="slow_rule",
        )

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            return
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)


def _compile(pattern: str) -> re.Pattern[str]:
    compiled = _compiled.get(pattern)
    if compiled is None:
        import re

        compiled = _compiled[pattern] = re.compile(pattern, re.DOTALL)
    return compiled


def _flat(value: Any) -> str:
    """Every text of a value, that of a member behind `key=`, with a NUL between two of them.

    No rule begins or ends at a place where it would not in the texts themselves: to a pattern, a NUL
    or a `=` is as little part of a word as the end of a text. So a rule that finds nothing here finds nothing
    in the value.
    """
    texts: list[str] = []
    _collect(value, texts)
    return "\0".join(texts)


def _collect(value: Any, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                texts.append(f"{key}={item}")
            else:
                texts.append(key)
                _collect(item, texts)
    elif isinstance(value, list):
        for item in value:
            _collect(item, texts)


def _holds_secret(text: str, rules: Sequence[Rule]) -> bool:
    """Whether one of the rules of ours would take something out."""
    lowered = text.lower()
    for name, literals, pattern in rules:
        compiled = _compile(pattern)
        if name in ANYWHERE or len(lowered) != len(text):
            if compiled.search(text) is not None:
                return True
            continue
        for start in _positions(text, lowered, literals):
            match = compiled.match(text, start)
            if match is None:
                continue
            value = match.groupdict().get("value")
            if value is None or _is_secret(value, assigned=match["keep"][-1:] in "=\"'"):
                return True
    return False


def _secret_values(environment: Mapping[str, str]) -> Iterable[str]:
    """Longest first, so that a value that contains another is replaced whole."""
    marks = "".join(f"[redacted:{name}]" for name, _, _ in RULES) + "[redacted:environment]"
    # A value of the environment is decoded whenever it is read.
    named = [environment[name] for name in environment if _names_secret(name.upper())]
    values = {
        value
        for value in named
        if len(value) >= SHORTEST_SECRET
        and not value.startswith("/")
        and not (_is_plain_word(value) and len(value) < LONGEST_WORD)
        and value not in marks  # or every pass would find it in the mark of the last
    }
    return sorted(values, key=lambda value: (-len(value), value))


def _names_secret(name: str) -> bool:
    for word in SECRET_NAMES:  # noqa: SIM110  # many times faster than `any`, in each process
        if word in name:
            return True
    return False


def _literals_in(text: str) -> set[str]:
    """Every literal of the rules that occurs in a text, or in the JSON spelling of one."""
    lowered = text.lower()
    found: set[str] = set()
    for gate, literal, is_lower in _OTHERS:
        where = lowered if is_lower else text
        if gate in where and literal in where:
            found.add(literal)
    pieces = (lowered.replace("=", ":") if "=" in lowered else lowered).split(":")
    pieces.pop()
    names = "\0".join([piece[-BEFORE_SIGN:] for piece in pieces])
    for name in _SHORT_NAMES:
        if name in names:
            found.add(name)
    if "key" in names:
        found.update([literal for literal in _KEYS if literal in names])
    for sign, tails in _TAILS.items():
        for piece in text.split(sign):
            if piece[-2:] in tails:
                found.update([word + sign for word in _WORDS[sign] if _ends_in(piece, word)])
                if not piece and _PRIVATE_KEY in lowered:
                    found.add(_PRIVATE_KEY)
    return found


def _ends_in(text: str, word: str) -> bool:
    """Whether it ends in the word, and not merely in the end of a longer one.

    In JSON, the letter before it may be the end of an escape, such as the n of a line break.
    """
    if not text.endswith(word):
        return False
    before = text[: -len(word)]
    return not before[-1:].isalnum() or before[-2:-1] == "\\" or before[-6:-4] == "\\u"


def _positions(text: str, lowered: str, literals: Sequence[str]) -> list[int]:
    """Where the literals stand, in order."""
    found = set()
    for literal in literals:
        where = lowered if literal.islower() else text
        start = where.find(literal)
        while start >= 0:
            found.add(start)
            start = where.find(literal, start + 1)
    return sorted(found)


def _is_secret(value: str, *, assigned: bool) -> bool:
    """Whether the right-hand side of `name = value` is a secret and not a path, code or prose.

    `password=correcthorse` is one; "token: required" is a sentence.
    """
    if value.startswith(("/", "./", "../", "~", "http://", "https://", "os.", "env.", "process.")):
        return False
    return assigned or not _is_plain_word(value)


def _is_plain_word(value: str) -> bool:
    return value.isalpha() and value.islower()
