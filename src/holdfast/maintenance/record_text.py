"""Records in the words of people: what each one says, and whether it is good news. Each feature has the words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast import registry
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import at_version, fold, load
from holdfast.kernel.streams import is_known, rules_of
from holdfast.kernel.text import one_line
from holdfast.parts import Tone, Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record

LONGEST = 200
# A state is built from the first record of its stream; of a longer one only the record is read.
LONGEST_WAY = 3_000
# Kinds of records that several features have.
WORDS = {"edited_outside": "edited by hand", "removed_outside": "removed by hand"}
# Names of streams that tell a person nothing.
_UNTOLD_NAMES = ("default", "workspace")
# Fields that a line of the history has already, or that tell a person nothing.
_UNTOLD = ("at", "session", "digest", "sender", "receiver")
_TEXTS = ("text", "reason", "message", "summary", "subject", "notes", "title", "path")
_NO_WORDS = Words()


def word_of(record: Record) -> str:
    """Return what people call the kind of a record."""
    kind = record["kind"]
    return _find_words(record["stream"]).words.get(kind) or WORDS.get(kind, kind.replace("_", " "))


def subject_of(stream: str) -> str:
    """Return the name that people know a stream by; empty when they know none."""
    kind, _, name = stream.partition(":")
    is_unnamed = name in _UNTOLD_NAMES or kind in _find_words(stream).unnamed
    return "" if is_unnamed else name


def tone_of(record: Record) -> Tone:
    """Return whether a record is good news: `good`, `bad`, `wait` or empty."""
    tone = _find_words(record["stream"]).tones.get(record["kind"], "")
    if callable(tone):
        return tone(record["body"] if isinstance(record["body"], dict) else {})
    return tone


def describe(record: Record, before: Any = None) -> str:
    """Return what a record says, on one line. `before` is the state ahead of it, for a feature that compares."""
    if record["erased"]:
        return "erased"
    compare = _find_words(record["stream"]).compared.get(record["kind"])
    changed = ""
    if compare is not None and before is not None:
        try:
            changed = compare(before, record["body"])
        except (KeyError, TypeError, AttributeError):
            pass  # what another version wrote
    return one_line(changed or text_of(record), LONGEST)


def describe_all(journal: Journal, records: Sequence[Record]) -> dict[str, str]:
    """Return the line of each record, by its id. A checkpoint says what it changed."""
    compared: dict[str, list[int]] = {}
    for record in records:
        if record["kind"] in _find_words(record["stream"]).compared and not record["erased"]:
            compared.setdefault(record["stream"], []).append(record["version"])
    before = {
        (stream, version): state
        for stream, versions in compared.items()
        for version, state in _states_before(journal, stream, sorted(versions)).items()
    }
    return {
        record["id"]: describe(record, before.get((record["stream"], record["version"])))
        for record in records
    }


def _states_before(journal: Journal, stream: str, versions: list[int]) -> dict[int, Any]:
    """Return the state ahead of each of these versions; nothing when `gc` removed what it was made of."""
    rules, first = rules_of(stream), versions[0]
    if versions[-1] > LONGEST_WAY:
        return {}
    try:
        state = (
            at_version(journal, rules, stream, first - 1) if first > 1 else rules.initial(stream)
        )
    except HoldfastError:
        return {}
    found, wanted = {}, set(versions)
    for record in journal.read(stream, after=first - 1, limit=versions[-1] - first + 1):
        if record["version"] in wanted:
            found[record["version"]] = state
        state = fold(rules, state, [record])
    return found


def tell_about(journal: Journal, stream: str) -> str:
    """Return what a stream is about; empty where its feature does not say."""
    tell = _find_words(stream).about
    return one_line(tell(load(journal, rules_of(stream), stream)[0]), LONGEST) if tell else ""


def hide_packed(record: Record) -> Record:
    """Return a record as faces show it: without what its feature packed."""
    hidden = _find_words(record["stream"]).hidden
    if not hidden or not isinstance(record["body"], dict):
        return record
    body = {name: value for name, value in record["body"].items() if name not in hidden}
    return {**record, "body": body}


def text_of(record: Record) -> str:
    """Return the text of a record of any stream."""
    body = record["body"]
    if not is_known(record["stream"]):
        kind = record["stream"].partition(":")[0]
        return f"a record of {kind}, which this holdfast does not know"
    if isinstance(body, str):
        return body
    if not isinstance(body, dict):
        return "" if body is None else json.dumps(body, ensure_ascii=False)
    tell = _find_words(record["stream"]).texts.get(record["kind"])
    try:
        told = tell(record, body) if tell else ""
    except (KeyError, TypeError, AttributeError):
        told = ""  # what another version wrote
    return told or _fields_in_words(body)


def _fields_in_words(body: dict[str, Any]) -> str:
    for name in _TEXTS:
        if isinstance(body.get(name), str) and body[name]:
            return str(body[name])
    flat = {
        name: value
        for name, value in body.items()
        if name not in _UNTOLD and isinstance(value, (str, int, float))
    }
    return ", ".join(f"{name}: {value}" for name, value in flat.items() if value not in ("", False))


def _find_words(stream: str) -> Words:
    """Return how people read the records of a stream."""
    feature = registry.feature_of(stream)
    if feature is None or not feature.describe:
        return _NO_WORDS
    words: Words = registry.load(feature.describe)
    return words
