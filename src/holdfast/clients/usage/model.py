"""What every client's numbers become: messages with tokens, a client's own total, a context."""

from __future__ import annotations

from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypedDict

    class UsageReader(Protocol):
        """The module `sessions` of a client that writes lines. If they tell of a usage limit, the module has
        `limit_of(record)`, too: the limit that a line tells of, False for a line that goes on with the work, None
        for one that says nothing of it. If another line says when the limit ends, it has `reset_of(record)`."""

        # A line without any of these says nothing about spending, and is not decoded.
        TELLING: tuple[bytes, ...]

        def glance(self, line: bytes, state: dict[str, Any], found: Found) -> None:
            """Take from a line that is not decoded whether it is the client's (`found.known`)."""

        def parse(
            self, record: dict[str, Any], source: Source, state: dict[str, Any], found: Found
        ) -> None:
            """Add what a decoded line says. `state` is what later lines need to know of earlier ones."""

    class Source(TypedDict):
        """One file (or one session in a database) that a client writes. `agent` is the subagent's
        id, empty for the session's own."""

        client: str
        session: str
        path: str
        agent: str

    class Message(TypedDict):
        """One answer of a model. `input` is without what came from or went to the cache, `output`
        with the reasoning; `cost` is the client's own figure, None where it gives none."""

        id: str
        at: str
        model: str
        provider: str
        input: int
        output: int
        cache_read: int
        cache_write: int
        cache_write_hour: int
        cost: float | None
        counted: bool

    class Report(TypedDict):
        """A total that the client itself gives for the whole session. `at` is until when."""

        at: str
        cost: float
        has_unknown: bool
        tokens: dict[str, int]
        what: str

    class Context(TypedDict):
        """How full the model's window is. `window` is 0 where the client does not say."""

        at: str
        tokens: int
        window: int
        model: str
        provider: str

    class Quota(TypedDict):
        """How much of one of the vendor's limits is used. `name` is `5-hour`, `weekly` or `spend`;
        `resets_at` is empty where no time was given."""

        name: str
        percent: float
        resets_at: str

    class QuotaReading(TypedDict):
        """All limits of an account, as its client told them at one moment."""

        at: str
        quotas: list[Quota]

    class UsageLimit(TypedDict):
        """The vendor refused the next request. `says` is the client's text, `at` when it said so,
        `resets_at` when the vendor takes requests again, in milliseconds; 0 where no time was given."""

        says: str
        at: int
        resets_at: int


TOKENS = ("input", "output", "cache_read", "cache_write")
# What a program can mean by a number of tokens; beyond it is damage.
_INFINITE = float("inf")
_MOST = 2**53


class Found:
    """What a few lines of one source said."""

    def __init__(self) -> None:
        # By id, both: what stands there again is the same message, or the same error.
        self.messages: dict[str, Message] = {}
        self.reports: list[Report] = []
        self.errors: dict[str, str] = {}
        self.context: Context | None = None
        self.quotas: QuotaReading | None = None
        self.started_at = ""
        self.lines = 0
        self.known = 0
        # What is observed of the session's work by now; None where the caller did not ask.
        self.seen: Any = None


def new_message(id: str, at: str, model: str, *, provider: str = "") -> Message:
    """A message whose tokens are not known yet."""
    return {
        "id": id,
        "at": at,
        "model": model,
        "provider": provider,
        "input": 0,
        "output": 0,
        "cache_read": 0,
        "cache_write": 0,
        "cache_write_hour": 0,
        "cost": None,
        "counted": False,
    }


def new_context(
    at: str, tokens: int, model: str, *, provider: str = "", window: int = 0
) -> Context:
    """How full a model's window is at a moment."""
    return {"at": at, "tokens": tokens, "window": window, "model": model, "provider": provider}


def count(value: Any) -> int:
    """A number of tokens; whatever cannot be one is 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    if not -_INFINITE < value < _INFINITE:
        return 0
    return min(max(int(value), 0), _MOST)


def money(value: Any) -> float | None:
    """An amount of money; None for whatever cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= _MOST else None


# A later time than any client means; beyond it is damage.
_LATEST = 10**14
_SPANS = ((7 * 24 * 60, "week"), (24 * 60, "day"), (60, "hour"), (1, "minute"))


def new_quota(minutes: int, percent: float, resets_at: int, name: str = "") -> Quota:
    """A limit over so many minutes, or one with a name of its own. `resets_at` in milliseconds; 0: not told."""
    for length, unit in _SPANS:
        if not name and minutes and minutes % length == 0:
            name = "weekly" if minutes == 7 * 24 * 60 else f"{minutes // length}-{unit}"
    return {
        "name": name or "usage",
        "percent": percent,
        "resets_at": clock.precise(resets_at) if 0 < resets_at < _LATEST else "",
    }


def new_limit(says: str, at: str, resets_at: int = 0) -> UsageLimit:
    """A limit as a line of a transcript tells it."""
    try:
        said_at = clock.parse(at)
    except ValueError:
        said_at = 0
    return {"says": says, "at": said_at, "resets_at": resets_at}
