"""Everything a service can do to us: it is named, it ends in time, and nothing is doubled."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.kernel import clock
from holdfast.trackers.port import TrackerError
from tests.trackers import faults
from tests.trackers.fake_github import GITHUB_TOKEN, FakeGitHub
from tests.trackers.fake_linear import LINEAR_KEY, FakeLinear
from tests.trackers.faults import Fault
from tests.trackers.fixtures import github, linear, soon

if TYPE_CHECKING:
    from holdfast.trackers.port import CommentReceipt, Tracker

SHORT = 0.4  # seconds until the deadline, where it is meant to pass
GRACE = 2.0  # one small timeout more; each of the faults would go on for longer than this


@dataclass
class Service:
    """One of the two, with what the tests need to know of it."""

    server: FakeLinear | FakeGitHub
    tracker: Tracker
    issue: str
    secret: str

    def upsert(self, comment: str = "", deadline: float | None = None) -> CommentReceipt:
        return self.tracker.upsert(
            self.issue, "body", comment=comment, key="key", deadline=deadline or soon()
        )

    def failure(self, comment: str = "", deadline: float | None = None) -> TrackerError:
        """The error of an upsert, of which no part holds the secret."""
        with pytest.raises(TrackerError) as raised:
            self.upsert(comment, deadline)
        assert self.secret not in everything_in(raised.value)
        return raised.value


@pytest.fixture(params=["linear", "github"])
def service(request: pytest.FixtureRequest) -> Service:
    """Each of the two services."""
    server = request.getfixturevalue(f"{request.param}_server")
    if isinstance(server, FakeLinear):
        return Service(server, linear(server), "ENG-12", LINEAR_KEY)
    return Service(server, github(server), "#12", GITHUB_TOKEN)


def everything_in(error: TrackerError) -> str:
    """All that a report, a log or a crash reporter with local variables could show of it."""
    parts: list[Any] = [str(error), repr(error), error.data(), vars(error)]
    chained: BaseException | None = error
    while chained is not None:
        parts += [repr(chained), chained.args, *_locals(chained.__traceback__)]
        chained = chained.__cause__ or chained.__context__
    return "\n".join(str(part) for part in parts)


def _locals(traceback: TracebackType | None) -> list[str]:
    shown = []
    while traceback is not None:
        if "holdfast/trackers" in traceback.tb_frame.f_code.co_filename:
            shown += [repr(value) for value in traceback.tb_frame.f_locals.values()]
        traceback = traceback.tb_next
    return shown


ANSWERS: list[tuple[str, Fault, str, str, bool]] = [
    ("503", faults.status(503), "tracker_failed", "HTTP 503", True),
    ("web-page", faults.web_page(), "tracker_failed", "HTTP 502", True),
    ("401", faults.status(401), "tracker_auth", "authentication failed", False),
    ("403", faults.status(403), "tracker_refused", "HTTP 403", False),
    ("malformed", faults.malformed(), "tracker_failed", "the answer is not JSON", True),
    (
        "wrong-shape",
        faults.raw(b'{"data": [1]}'),
        "tracker_failed",
        "the answer is not what was asked for",
        True,
    ),
    ("not-utf8", faults.raw(b"\xff\xfe"), "tracker_failed", "the answer is not JSON", True),
    ("deep", faults.raw(b"[" * 200_000), "tracker_failed", "the answer is not JSON", True),
    ("huge", faults.huge(), "tracker_failed", "the answer is too large", True),
    (
        "429",
        faults.status(429, Retry_After="40"),
        "tracker_rate_limited",
        "rate limited, try again in 40 s",
        True,
    ),
]


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("fault", "kind", "cause", "retryable"),
    [one[1:] for one in ANSWERS],
    ids=[a[0] for a in ANSWERS],
)
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.clause("AMB-CCC-05", "AMB-CCC-11")
def test_a_bad_answer_is_named_and_makes_no_second_comment(
    service: Service, fault: Fault, kind: str, cause: str, retryable: bool, stored: bool
) -> None:
    comment = service.upsert()["comment"] if stored else ""
    before = list(service.server.writes)
    service.server.fail(fault)

    error = service.failure(comment)

    assert (error.kind, error.retryable) == (kind, retryable)
    assert error.message.startswith(cause)
    assert str(error) == error.message
    assert service.server.writes == before
    service.upsert(comment)
    assert len(service.server.comments) == 1


ENDLESS: list[tuple[str, Callable[[], Fault]]] = [
    ("hang", faults.hang),
    ("trickle", faults.trickle),
    ("trickled-headers", lambda: faults.trickle(headers_too=True)),
    ("slow", lambda: faults.slow(60)),
]


@pytest.mark.matrix
@pytest.mark.parametrize("make", [one[1] for one in ENDLESS], ids=[one[0] for one in ENDLESS])
@pytest.mark.clause("CCC-51")
def test_what_never_ends_is_given_up_at_the_deadline(
    service: Service, make: Callable[[], Fault]
) -> None:
    comment = service.upsert()["comment"]
    service.server.fail(make())
    deadline = soon(SHORT)

    error = service.failure(comment, deadline)

    assert time.monotonic() < deadline + GRACE
    assert (error.kind, error.message) == ("tracker_unreachable", "unreachable: timed out")
    assert service.upsert(comment)["comment"] == comment
    assert len(service.server.comments) == 1


def test_many_slow_answers_share_one_deadline(service: Service) -> None:
    service.server.fail(faults.slow(SHORT * 0.7), times=9)
    deadline = soon(SHORT)
    assert service.failure("", deadline).message == "unreachable: timed out"
    assert time.monotonic() < deadline + GRACE


def test_a_slow_answer_in_time_is_good(service: Service) -> None:
    service.server.fail(faults.slow(0.2), times=9)
    assert service.upsert()["created"]


def test_a_deadline_that_has_passed_asks_nothing(service: Service) -> None:
    assert service.failure("", time.monotonic() - 1).message == "unreachable: timed out"
    assert service.server.requests == []


def test_nobody_listens(service: Service) -> None:
    service.server._server.socket.close()
    service.server._server.shutdown()
    error = service.failure()
    assert (error.kind, error.message) == ("tracker_unreachable", "unreachable: connection refused")


def test_a_lost_answer_to_an_update_is_repeated_without_harm(service: Service) -> None:
    comment = service.upsert()["comment"]
    service.server.fail(faults.lost_answer())
    assert service.failure(comment).kind == "tracker_unreachable"
    assert service.upsert(comment)["comment"] == comment
    assert len(service.server.comments) == 1


def test_a_wrong_key_is_refused_and_not_repeated_to_anybody(
    linear_server: FakeLinear, github_server: FakeGitHub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "not_the_right_key_0123456789"
    for tracker, issue in (
        (linear(linear_server, wrong), "ENG-12"),
        (github(github_server, wrong), "#12"),
    ):
        with pytest.raises(TrackerError) as refused:
            tracker.upsert(issue, "body", comment="", key="key", deadline=soon())
        assert refused.value.message == "authentication failed"
        assert wrong not in everything_in(refused.value)
        assert wrong not in repr(tracker) + repr(vars(tracker))
    assert wrong not in caplog.text


def test_a_server_that_repeats_the_key_cannot_make_us_print_it(service: Service) -> None:
    service.server.fail(faults.status(403, f"The key {service.secret} may not do this"))
    service.server.fail(faults.linear_errors(200, f"no, {service.secret}", {"type": "forbidden"}))
    assert "HTTP 403" in service.failure().message
    service.failure()


def test_a_hostile_message_is_one_short_printable_line(linear_server: FakeLinear) -> None:
    message = "a\nb\x1b[31m" + "c" * 1000
    linear_server.fail(faults.linear_errors(200, message, {"type": "forbidden"}))
    with pytest.raises(TrackerError) as refused:
        linear(linear_server).upsert("ENG-12", "x", comment="", key="key", deadline=soon())
    assert refused.value.message.startswith("a b[31mccc")
    assert len(refused.value.message) == 200


# Only Linear.


@pytest.mark.parametrize("code", [200, 400, 429])
def test_linear_says_too_many_in_several_ways(linear_server: FakeLinear, code: int) -> None:
    reset = str(clock.now() + 120_000)
    linear_server.fail(
        faults.linear_rate_limit(
            code,
            Retry_After="5",
            X_RateLimit_Requests_Remaining="0",
            X_RateLimit_Requests_Reset=reset,
            X_RateLimit_Complexity_Remaining="7",
            X_RateLimit_Complexity_Reset=str(clock.now() + 900_000),
        )
    )
    service = Service(linear_server, linear(linear_server), "ENG-12", LINEAR_KEY)
    error = service.failure()
    assert error.kind == "tracker_rate_limited"
    assert error.retryable
    assert error.retry_after is not None
    assert 60 < error.retry_after <= 120
    assert error.message == f"rate limited, try again in {error.retry_after:.0f} s"


@pytest.mark.parametrize(
    ("type", "retryable"),
    [
        ("internal error", True),
        ("lock timeout", True),
        ("forbidden", False),
        ("usage limit exceeded", False),
        ("feature not accessible", False),
        ("invalid input", False),
    ],
)
def test_a_200_with_errors_is_judged_by_its_type(
    linear_server: FakeLinear, type: str, retryable: bool
) -> None:
    linear_server.fail(faults.linear_errors(200, "No luck", {"type": type}))
    service = Service(linear_server, linear(linear_server), "ENG-12", LINEAR_KEY)
    error = service.failure()
    assert (error.message, error.retryable) == ("No luck", retryable)


def test_an_answer_that_says_no_without_a_reason(linear_server: FakeLinear) -> None:
    comment = linear(linear_server).upsert("ENG-12", "x", comment="", key="key", deadline=soon())[
        "comment"
    ]
    payload = b'{"data": {"commentUpdate": {"success": false, "comment": {"id": "x"}}}}'
    linear_server.fail(faults.raw(payload))
    service = Service(linear_server, linear(linear_server), "ENG-12", LINEAR_KEY)
    assert service.failure(comment).kind == "tracker_failed"


def test_a_404_of_the_whole_endpoint_is_no_deleted_comment(linear_server: FakeLinear) -> None:
    linear_server.fail(faults.web_page(404), times=9)
    service = Service(linear_server, linear(linear_server), "ENG-12", LINEAR_KEY)
    assert service.failure("00000000-0000-4000-8000-000000000000").message == "HTTP 404"
    assert linear_server.writes == []


# Only GitHub.


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(403, Retry_After="40"),
        faults.status(429, Retry_After="40"),
        faults.status(403, Retry_After="7", X_RateLimit_Remaining="0", X_RateLimit_Reset="far"),
        faults.status(403, "You have exceeded a secondary rate limit", X_Other="1"),
        faults.status(429),
    ],
)
def test_github_says_too_many_in_several_ways(github_server: FakeGitHub, fault: Fault) -> None:
    service = Service(github_server, github(github_server), "#12", GITHUB_TOKEN)
    comment = service.upsert()["comment"]
    github_server.fail(fault)
    error = service.failure(comment)
    assert error.kind == "tracker_rate_limited"
    assert error.retry_after == float(fault.headers.get("Retry-After", "60"))


def test_github_waits_for_its_reset(github_server: FakeGitHub) -> None:
    reset = str(clock.now() // 1000 + 300)
    github_server.fail(faults.status(403, X_RateLimit_Remaining="0", X_RateLimit_Reset=reset))
    error = Service(github_server, github(github_server), "#12", GITHUB_TOKEN).failure()
    assert error.retry_after is not None
    assert 200 < error.retry_after <= 300
