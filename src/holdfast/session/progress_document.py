"""A session's progress as a program hands it in, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.kernel.canonical_json import table_of
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import nearest
from holdfast.session.rules.fields import GIVEN, PAIRS, Field

NAMES = [field.name for field in GIVEN]


def read(document: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What is new about the progress, and the claims."""
    if not isinstance(document, dict):
        raise Usage("The document must be a JSON object.")
    given = {name: value for name, value in document.items() if name != "claims"}
    claims = document.get("claims", [])
    for name in given:
        if name not in NAMES:
            raise _unknown(name)
    for field in GIVEN:
        value = given.get(field.name, field.begin())
        if field.is_list and not isinstance(value, list):
            raise Usage(f"The document's {field.name} must be a list.")
        if not field.is_list and not isinstance(value, str | None):
            raise Usage(f"The document's {field.name} must be text.")
        for item in value if field.is_list else ():
            _check_item(field, item)
    if "decisions" in given:
        given["decisions"] = [_as_text(made) for made in given["decisions"]]
    if given.get("mode") is not None:
        # The file says `exec:tdd`, and many callers do.
        given["mode"] = given["mode"].removeprefix("exec:")
        if not given["mode"].strip():
            raise Usage("The mode is empty.", hint="Such as tdd; leave it out to keep it.")
    if not isinstance(claims, list) or not all(_is_claim(claim) for claim in claims):
        raise Usage("The document's claims must be a list of {claim, probe}.")
    return given, list(claims)


def read_arguments(arguments: Mapping[str, Any], called: str) -> dict[str, Any]:
    """Return the fields that a program gives as arguments of `called`. None is the same as no argument."""
    known = {field.keyword: field for field in GIVEN if field.option}
    document = {}
    for keyword, value in arguments.items():
        field = known.get(keyword)
        if field is None:
            hint = nearest(keyword, known, f"It has: {', '.join(known)}.")
            raise Usage(f"{called} has no argument {keyword}.", hint=hint)
        is_text = isinstance(value, str)
        is_iterable = hasattr(value, "__iter__") and not is_text
        if value is not None and not (is_iterable if field.is_list else is_text):
            what = "a list of texts" if field.is_list else "a text"
            raise Usage(f"{keyword} must be {what}, not {value!r:.40}.")
        if value is not None:
            document[field.name] = list(value) if field.is_list else value
    return read(document)[0]


def _unknown(name: str) -> Usage:
    hint = nearest(name, NAMES, f"Known are: {', '.join((*NAMES, 'claims'))}.")
    return Usage(f"The document has an unknown field {name!r}.", hint=hint)


def _check_item(field: Field, item: object) -> None:
    """Require a line of text; a pair may also be an object with its two parts."""
    if isinstance(item, str) and item.strip():
        return
    if field.kind != PAIRS or not isinstance(item, dict):
        raise Usage(
            f"Each of the document's {field.name} must be text, not {item!r:.80}.",
            hint="One line each; leave it out when there is nothing to say.",
        )
    first, second = field.parts
    wanted = isinstance(item.get(first), str) and item[first].strip()
    if (
        not wanted
        or not isinstance(item.get(second, ""), str)
        or not {*field.parts}.issuperset(item)
    ):
        raise Usage(
            f"Each of the document's {field.name} must hold {first} and {second}, not {item!r:.80}."
        )


def _as_text(made: Any) -> str:
    """A decision as the file shows it, so that a secret that spans both parts is seen."""
    if isinstance(made, str):
        return made
    return ": ".join(filter(None, (made["decision"], made.get("rationale"))))


def _is_claim(claim: object) -> bool:
    told = table_of(claim)
    return isinstance(told.get("claim"), str) and isinstance(told.get("probe"), dict)
