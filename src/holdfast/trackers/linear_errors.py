"""What Linear means when it says no.

It says "too many requests" with HTTP 400 and "not found" with HTTP 200, so the body decides and
the status is asked only when the body says nothing.
"""

from __future__ import annotations

from holdfast.trackers import limits
from holdfast.trackers.port import (
    NOT_FOUND,
    REFUSED,
    TrackerError,
    rate_limited,
    report_line,
    unauthenticated,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.trackers.http import Answer

LIMIT_FAMILIES = (
    "x-ratelimit-requests",
    "x-ratelimit-complexity",
    "x-ratelimit-endpoint-requests",
)
# The types of error, of those that Linear's SDK names, that pass by themselves.
PASSING_TYPES = frozenset(
    {"internal error", "lock timeout", "network error", "bootstrap error", "other", "unknown"}
)


class Taken(TrackerError):
    """The chosen id is in use: somebody, perhaps we ourselves, has made the comment."""


def failure_of(answer: Answer) -> TrackerError:
    """The error to raise for an answer that holds no result."""
    errors = _errors(answer)
    if answer.status == 429 or any(_is_limit(error) for error in errors):
        resets = limits.exhausted(answer.headers, LIMIT_FAMILIES, milliseconds=1)
        return rate_limited(limits.wait_seconds(answer.headers, resets))
    if answer.status == 401 or any(_is_authentication(error) for error in errors):
        return unauthenticated("LINEAR_API_KEY")
    if answer.status >= 500:
        return TrackerError(f"HTTP {answer.status}")
    for error in errors:
        return _from_body(error, answer.status)
    if answer.status == 404:
        return TrackerError("HTTP 404", kind=NOT_FOUND)
    if answer.status >= 300:
        return TrackerError(f"HTTP {answer.status}", kind=REFUSED)
    if not answer.is_json:
        return TrackerError("the answer is not JSON")
    return TrackerError("the answer is not what was asked for")


def _errors(answer: Answer) -> list[dict[str, Any]]:
    found = answer.document.get("errors") if isinstance(answer.document, dict) else None
    return [error for error in found if isinstance(error, dict)] if isinstance(found, list) else []


def _from_body(error: dict[str, Any], status: int) -> TrackerError:
    message = report_line(error.get("message", "")) or "no reason given"
    cause = message if status < 300 else f"HTTP {status}: {message}"
    lowered = message.lower()
    if lowered.startswith("entity not found"):
        return TrackerError(message, kind=NOT_FOUND)
    if lowered.startswith("conflict on insert of comment"):
        return Taken(message, kind=REFUSED)
    if _said(error, "type") in PASSING_TYPES:
        return TrackerError(cause)
    return TrackerError(cause, kind=REFUSED)


def _is_limit(error: dict[str, Any]) -> bool:
    return (
        _said(error, "code") == "ratelimited"
        or _said(error, "type") == "ratelimited"
        or _said(error, "statusCode") == "429"
    )


def _is_authentication(error: dict[str, Any]) -> bool:
    return (
        _said(error, "code") == "authentication_error"
        or _said(error, "type") == "authentication error"
    )


def _said(error: dict[str, Any], name: str) -> str:
    extensions = error.get("extensions")
    return str(extensions.get(name, "")).lower() if isinstance(extensions, dict) else ""
