"""A session's progress as a program hands it in, checked before anything is written."""

from __future__ import annotations

import difflib

from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELDS = (
    *("issue", "title", "mode", "completed", "done", "current", "status", "remaining"),
    *("decisions", "blockers", "next"),
)
LISTS = ("completed", "done", "remaining", "decisions", "blockers")
TEXTS = ("issue", "title", "mode", "current", "status", "next")


def read(document: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What is new about the progress, and the claims."""
    if not isinstance(document, dict):
        raise Usage("The document must be a JSON object.")
    given = {name: value for name, value in document.items() if name != "claims"}
    claims = document.get("claims", [])
    for name in given:
        if name not in FIELDS:
            raise _unknown(name)
    for name in LISTS:
        if not isinstance(given.get(name, []), list):
            raise Usage(f"The document's {name} must be a list.")
        for item in given.get(name, []):
            _check_item(name, item)
    if "decisions" in given:
        given["decisions"] = [_as_text(made) for made in given["decisions"]]
    for name in TEXTS:
        if not isinstance(given.get(name, ""), str | None):
            raise Usage(f"The document's {name} must be text.")
    if given.get("mode") is not None:
        # The file says `exec:tdd`, and many callers do.
        given["mode"] = given["mode"].removeprefix("exec:")
        if not given["mode"].strip():
            raise Usage("The mode is empty.", hint="Such as tdd; leave it out to keep it.")
    if not isinstance(claims, list) or not all(_is_claim(claim) for claim in claims):
        raise Usage("The document's claims must be a list of {claim, probe}.")
    return given, list(claims)


def _unknown(name: str) -> Usage:
    close = difflib.get_close_matches(name, FIELDS, n=1)
    known = f"Known are: {', '.join((*FIELDS, 'claims'))}."
    hint = f"Did you mean {close[0]}?" if close else known
    return Usage(f"The document has an unknown field {name!r}.", hint=hint)


def _check_item(name: str, item: object) -> None:
    """A line of text; a decision and a blocker may also be an object with their two parts."""
    parts = {"decisions": ("decision", "rationale"), "blockers": ("blocker", "until")}.get(name)
    if isinstance(item, str) and item.strip():
        return
    if parts is None or not isinstance(item, dict):
        raise Usage(
            f"Each of the document's {name} must be text, not {item!r:.80}.",
            hint="One line each; leave it out when there is nothing to say.",
        )
    first, second = parts
    wanted = isinstance(item.get(first), str) and item[first].strip()
    if not wanted or not isinstance(item.get(second, ""), str) or not {*parts}.issuperset(item):
        raise Usage(
            f"Each of the document's {name} must hold {first} and {second}, not {item!r:.80}."
        )


def _as_text(made: Any) -> str:
    """A decision as the file shows it, so that a secret that spans both parts is seen."""
    return (
        made
        if isinstance(made, str)
        else ": ".join(filter(None, (made["decision"], made.get("rationale"))))
    )


def _is_claim(claim: object) -> bool:
    return (
        isinstance(claim, dict)
        and isinstance(claim.get("claim"), str)
        and isinstance(claim.get("probe"), dict)
    )
