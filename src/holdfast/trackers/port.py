"""The port to an issue tracker: one status comment an issue, edited in place.

A tracker is given the whole body each time, so the newest one wins and a second delivery is
harmless. It tries once; trying again later is the outbox's work.
"""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypedDict

    class CommentReceipt(TypedDict):
        """What is worth storing after a delivery."""

        comment: str
        """The id to give to the next call, in place of any that was stored before."""
        issue: str
        """The issue that the comment is on: the parent when the given one is a sub-issue."""
        created: bool
        """Whether this call made the comment; otherwise it edited one that was there."""
        url: str
        """Where a person reads it, or nothing."""

    class Tracker(Protocol):
        """Somewhere outside that keeps one comment of ours on an issue."""

        name: str

        def upsert(
            self, issue: str, body: str, *, comment: str, key: str, deadline: float
        ) -> CommentReceipt:
            """Make the issue's one comment say this body.

            `comment` is the stored id, or nothing; it must belong to this issue. `key` names whose
            comment it is: of all that come with the same key, however many at once, one comment
            is left on the issue. `deadline` is an instant of `time.monotonic()`.
            """


# Who has to act is in the kind: the first three pass by themselves, the others need a person.
UNREACHABLE = "tracker_unreachable"
RATE_LIMITED = "tracker_rate_limited"
FAILED = "tracker_failed"
AUTHENTICATION = "tracker_auth"
NOT_FOUND = "tracker_not_found"
REFUSED = "tracker_refused"
PASSING = frozenset({UNREACHABLE, RATE_LIMITED, FAILED})

LONGEST_CAUSE = 200


class TrackerError(HoldfastError):
    """A tracker could not be told; `cause` is the reason as a report shows it."""

    kind = FAILED

    def __init__(
        self, cause: str, *, kind: str = FAILED, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(cause, hint=hint, kind=kind)
        self.cause = cause
        self.retry_after = retry_after
        self.retryable = kind in PASSING


def unreachable(reason: str) -> TrackerError:
    """Nobody answered, or not to the end: what was asked for may have happened or not."""
    return TrackerError(f"unreachable: {reason}", kind=UNREACHABLE)


def rate_limited(seconds: float) -> TrackerError:
    """Too many requests; it says when to come back."""
    return TrackerError(
        f"rate limited, try again in {seconds:.0f} s", kind=RATE_LIMITED, retry_after=seconds
    )


def unauthenticated(variable: str) -> TrackerError:
    """The key was not accepted."""
    return TrackerError(
        "authentication failed", kind=AUTHENTICATION, hint=f"Check the key in {variable}."
    )


def report_line(text: object) -> str:
    """Words of a stranger made fit for a report: one line, printable, not long."""
    line = " ".join(str(text).split())
    shown = "".join(sign for sign in line if sign.isprintable())
    return shown if len(shown) <= LONGEST_CAUSE else shown[: LONGEST_CAUSE - 1] + "…"


def web_address(text: object) -> str:
    """The text, if a person can safely be shown it as a link."""
    good = isinstance(text, str) and text.startswith(("https://", "http://"))
    return str(text) if good and report_line(text) == text else ""
