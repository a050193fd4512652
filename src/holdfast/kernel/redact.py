"""Secrets are taken out once, at the writer, before anything is hashed or stored.

Six layers: exact values of environment variables with secret names, vendors' shapes (`vendor_rules.py`,
from a maintained list), structures (PEM, JWT, URLs, headers, commands, files such as `.netrc`),
`name = value`, what is hidden by percent signs, base64 or a line break, and the user's own rules. There is no
entropy rule: it destroys commit hashes and misses plain passwords. It is best effort.

Clean text never reaches a regular expression: every rule names literals, one of which must occur
in the text before the rule (and `re` itself) is even loaded. That test runs on every record, so
it is built for speed: looking for 54 literals one by one took 65 microseconds for 2 KB.

Every rule is bounded: it starts where its literal stands, and looks at a bounded number of letters or at
each letter once.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.redact_quick import literals_in, suspects
from holdfast.kernel.redact_rules import RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from holdfast.kernel.redact_rules import Rule
    from holdfast.kernel.redact_search import Span

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

# Seconds that a rule of the user's may take on one text.
LONGEST_SECONDS = 0.5


class Redactor:
    """Takes secrets out of text and of JSON values, and counts what it took by rule."""

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
        found = literals_in(serialised)
        if not found and not self._own and not self._spellings:
            return body
        rules = suspects(found)
        if not self._holds_exact(serialised):
            if not rules and not self._own:
                return body
            if not self._own and not _find_spans(_flat(body), rules):
                return body
        walked = self._walk(body, rules)
        return body if walked == body else walked

    def text(self, text: str) -> str:
        return self._clean(text, suspects(literals_in(text)))

    def list_secrets(self, body: Any) -> set[str]:
        """Return what the rules take out of a JSON value."""
        text = _flat(body)
        return {text[start:end] for start, end, _ in _find_spans(text, suspects(literals_in(text)))}

    def _clean(self, text: str, rules: Sequence[Rule]) -> str:
        for secret in self._exact:
            if secret in text:
                self._count("environment", text.count(secret))
                text = text.replace(secret, "[redacted:environment]")
        if rules:
            text = self._replace(text, _find_spans(text, rules))
        for name, _, pattern in self._own:
            with TimeLimit(name):
                text = self._apply(name, pattern, text)
        return text

    def _replace(self, text: str, spans: list[Span]) -> str:
        if not spans:
            return text
        parts, end = [], 0
        for start, stop, name in spans:
            parts += [text[end:start], f"[redacted:{name}]"]
            end = stop
            self._count(name, 1)
        return "".join(parts) + text[end:]

    def _holds_exact(self, serialised: str) -> bool:
        for spelling in self._spellings:  # noqa: SIM110  # for each record, and most have none
            if spelling in serialised:
                return True
        return False

    def _apply(self, name: str, pattern: str, text: str) -> str:
        """Apply a rule of the user's."""

        def mark(match: re.Match[str]) -> str:
            self._count(name, 1)
            return f"{match.groupdict().get('keep') or ''}[redacted:{name}]"

        import re

        return re.compile(pattern, re.DOTALL).sub(mark, text)

    def _walk(self, value: Any, rules: Sequence[Rule]) -> Any:
        if isinstance(value, str):
            return self._clean(value, rules)
        if isinstance(value, dict):
            shown: dict[str, Any] = {}
            named = _named_value(value)
            for key, item in value.items():
                # A short plain name is a field of ours or of an agent's, not a secret.
                is_field = key.isidentifier() and len(key) < LONGEST_FIELD
                name = clean = key if is_field else self._clean(key, rules)
                while name in shown:  # two secrets as keys must not become one member
                    name = f"{clean}#{len(shown)}"
                shown[name] = self._member(named if named and key == "value" else key, item, rules)
            return shown
        if isinstance(value, list):
            return [self._walk(item, rules) for item in value]
        return value

    def _member(self, key: str, item: Any, rules: Sequence[Rule]) -> Any:
        """`{"password": "hunter22"}` says in its key what the text alone does not."""
        walked = self._walk(item, rules)
        if isinstance(walked, str) and (self._own or literals_in(f"{key}=")):
            named = self._clean(f"{key}={walked}", rules)
            if named.startswith(f"{key}=") and named != f"{key}={walked}":
                return named[len(key) + 1 :]
        return walked

    def _count(self, name: str, times: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + times


class TimeLimit:
    """Ends a rule of the user's that takes too long, by the timer's signal: `re` looks for signals
    while it searches. Only the main thread gets signals; in others, the form of the rules that the
    settings accept is the bound."""

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


def _find_spans(text: str, rules: Sequence[Rule]) -> list[Span]:
    from holdfast.kernel.redact_search import find_spans

    return find_spans(text, rules)


def _flat(value: Any) -> str:
    """Every text of a value, that of a member behind `key=`, with a line break and a NUL between two of them.

    To a pattern, these or a `=` are as little part of a word as the end of a text. So a rule that finds
    nothing here finds nothing in the value.
    """
    texts: list[str] = []
    _collect(value, texts)
    return "\n\0".join(texts)


def _collect(value: Any, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        named = _named_value(value)
        if named:
            texts.append(f"{named}={value['value']}")
        for key, item in value.items():
            if isinstance(item, str):
                texts.append(f"{key}={item}")
                texts.append(item)
            else:
                texts.append(key)
                _collect(item, texts)
    elif isinstance(value, list):
        for item in value:
            _collect(item, texts)


def _named_value(value: dict[str, Any]) -> str:
    """Return the name in `{"name": "DB_PASSWORD", "value": ...}`, as files for containers have it."""
    name = value.get("name") or value.get("key")
    return name if isinstance(name, str) and isinstance(value.get("value"), str) else ""


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
        and not (value.isalpha() and value.islower() and len(value) < LONGEST_WORD)
        and value not in marks  # or every pass would find it in the mark of the last
    }
    return sorted(values, key=lambda value: (-len(value), value))


def _names_secret(name: str) -> bool:
    for word in SECRET_NAMES:  # noqa: SIM110  # many times faster than `any`, in each process
        if word in name:
            return True
    return False
