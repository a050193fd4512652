"""What GitHub means when it says no."""

from __future__ import annotations

from holdfast.trackers import limits
from holdfast.trackers.port import (
    FAILED,
    NOT_FOUND,
    REFUSED,
    TrackerError,
    rate_limited,
    report_line,
    unauthenticated,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.trackers.http import Answer

LIMIT_FAMILIES = ("x-ratelimit",)


def failure_of(answer: Answer) -> TrackerError:
    """The error to raise for an answer that is not the one hoped for."""
    status = answer.status
    if _is_limited(answer):
        resets = limits.exhausted(answer.headers, LIMIT_FAMILIES, milliseconds=1000)
        return rate_limited(limits.wait_seconds(answer.headers, resets))
    if status == 401:
        return unauthenticated("GITHUB_TOKEN")
    if status >= 500:
        return TrackerError(f"HTTP {status}")
    if status < 300:
        return TrackerError(
            "the answer is not what was asked for" if answer.is_json else "the answer is not JSON"
        )
    said = _message(answer)
    cause = f"HTTP {status}: {report_line(said)}" if said else f"HTTP {status}"
    kinds = {404: NOT_FOUND, 408: FAILED}
    return TrackerError(cause, kind=kinds.get(status, REFUSED))


def _is_limited(answer: Answer) -> bool:
    """Both limits answer 403 or 429; the one for bursts may name no header, only itself."""
    if answer.status == 429:
        return True
    return answer.status == 403 and (
        "retry-after" in answer.headers
        or answer.headers.get("x-ratelimit-remaining", "").strip() == "0"
        or "secondary rate limit" in _message(answer).lower()
    )


def _message(answer: Answer) -> str:
    """The message, and what a validation found: `Validation Failed (body is too long)`."""
    document = answer.document
    if not isinstance(document, dict) or not isinstance(document.get("message"), str):
        return ""
    message: str = document["message"]
    errors = document.get("errors")
    if not isinstance(errors, list):
        return message
    details = [
        str(error.get("message") or error.get("code") or "") if isinstance(error, dict) else error
        for error in errors
    ]
    told = ", ".join(detail for detail in details if isinstance(detail, str) and detail)
    return f"{message} ({told})" if told else message
