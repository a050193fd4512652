"""The port to an issue tracker: one status comment an issue, edited in place; which names issues have,
and how long a tracker wants us to wait."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Protocol, TypedDict

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import one_line


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
STATUS_HEADING = "## Checkpoint Status"
SHORTEST_WAIT = 1.0
LONGEST_WAIT = 3600.0
USUAL_WAIT = 60.0  # when nothing is said; what Linear's own importer waits
LONGEST_ISSUE = 160
_NUMBER = "[1-9][0-9]{0,9}"
REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/(?!\.{1,2}(?:[#:]|\Z))[A-Za-z0-9._-]{1,100}"
LINEAR_SHAPE = re.compile(f"[A-Z][A-Z0-9]{{0,15}}-{_NUMBER}")
GITHUB_SHAPE = re.compile(f"(?P<repository>{REPOSITORY})?#(?P<number>{_NUMBER})")
REPOSITORY_SHAPE = re.compile(REPOSITORY)


class TrackerError(HoldfastError):
    """A tracker could not be told. The message is the reason as a report shows it."""

    kind = FAILED

    def __init__(
        self, cause: str, *, kind: str = FAILED, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(cause, hint=hint, kind=kind)
        self.retry_after = retry_after
        self.retryable = kind in PASSING


def unreachable(reason: str) -> TrackerError:
    """The tracker did not answer, or not to the end: what was asked for may have happened or not."""
    return TrackerError(f"unreachable: {reason}", kind=UNREACHABLE)


def rate_limited(seconds: float) -> TrackerError:
    """Too many requests; it says when to come back."""
    return TrackerError(
        f"rate limited, try again in {seconds:.0f} s", kind=RATE_LIMITED, retry_after=seconds
    )


def make_key_error(variable: str) -> TrackerError:
    """The key was not accepted."""
    return TrackerError(
        "authentication failed", kind=AUTHENTICATION, hint=f"Check the key in {variable}."
    )


def report_line(text: object) -> str:
    """Words of a stranger made fit for a report: one line, printable, not long."""
    line = one_line(str(text))
    return one_line("".join(sign for sign in line if sign.isprintable()), LONGEST_CAUSE)


def is_status(body: object) -> bool:
    """Return whether a comment is the protocol's, whichever tool wrote it."""
    return isinstance(body, str) and body.lstrip().startswith(STATUS_HEADING)


def web_address(text: object) -> str:
    """The text, if a person can safely be shown it as a link."""
    good = isinstance(text, str) and text.startswith(("https://", "http://"))
    return str(text) if good and report_line(text) == text else ""


def wait_seconds(headers: Mapping[str, str], resets: Iterable[int] = ()) -> float:
    """The longer of Retry-After and the latest reset (in milliseconds since the epoch)."""
    now = clock.now()
    waits = [(instant - now) / 1000 for instant in resets]
    asked = _retry_after(headers.get("retry-after", ""), now)
    if asked is not None:
        waits.append(asked)
    return min(max(*waits, SHORTEST_WAIT), LONGEST_WAIT) if waits else USUAL_WAIT


def list_resets(
    headers: Mapping[str, str], families: Iterable[str], milliseconds: int
) -> list[int]:
    """The resets of the header families of which nothing remains, in milliseconds."""
    resets = []
    for family in families:
        reset = headers.get(f"{family}-reset", "")
        if headers.get(f"{family}-remaining", "").strip() == "0" and is_count(reset):
            resets.append(int(reset) * milliseconds)
    return resets


def is_count(text: str) -> bool:
    """Whether it is a whole number of a length that a header may have."""
    return text.isascii() and text.isdigit() and len(text) < 20


def _retry_after(text: str, now: int) -> float | None:
    """Seconds, or a date as RFC 9110 allows too."""
    text = text.strip()
    if is_count(text):
        return float(text)
    try:
        return parsedate_to_datetime(text).timestamp() - now / 1000
    except (ValueError, OverflowError):
        return None


def check_issue(issue: str) -> str:
    """The kind of tracker that has issues of this shape; Usage when none has."""
    if len(issue) <= LONGEST_ISSUE:
        if LINEAR_SHAPE.fullmatch(issue):
            return "linear"
        if GITHUB_SHAPE.fullmatch(issue):
            return "github"
    shown = ascii(issue if len(issue) <= 40 else issue[:40] + "...")
    raise Usage(
        f"{shown} is not the name of an issue.",
        hint="Linear's are like ENG-123, GitHub's like #12 or owner/repository#12.",
        kind="bad_issue",
    )


def repository_and_number(issue: str, repository: str) -> tuple[str, int]:
    """Where a GitHub issue is; `#12` is in the given repository."""
    found = GITHUB_SHAPE.fullmatch(issue)
    if found is None or len(issue) > LONGEST_ISSUE:
        check_issue(issue)
        raise Usage(f"{issue} is no issue of GitHub.", kind="bad_issue")
    home = found["repository"] or repository
    if not home:
        raise Usage(
            f"Which repository is {issue} in?",
            hint="Write owner/repository#12, or set tracker.github_repository.",
            kind="bad_issue",
        )
    if not REPOSITORY_SHAPE.fullmatch(home):
        raise Usage(
            f"{home[:80]!a} is not a repository.",
            hint="tracker.github_repository is like owner/repository.",
            kind="bad_issue",
        )
    return home, int(found["number"])
