"""Effects are tried once their record is durable, and kept until they succeed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.kernel import clock, outbox
from holdfast.kernel.outbox import CLAIM, FIRST_PAUSE, LONGEST_PAUSE, pause_after
from holdfast.kernel.redact import Redactor
from holdfast.testing.journal.examples import NOON, at, effect

if TYPE_CHECKING:
    from holdfast.journal.interface import Effect, Journal


def deliver(journal: Any, handlers: Any, now: int, **options: Any) -> Any:
    return outbox.deliver(journal, handlers, now, redactor=Redactor(environment={}), **options)


class Tracker:
    """A service outside; it fails so many times before it works."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.received: list[str] = []

    def __call__(self, wanted: Effect) -> None:
        self.received.append(wanted["key"])
        if len(self.received) <= self.failures:
            raise ConnectionError("HTTP 503")


def test_what_is_due_is_delivered_once(journal: Journal) -> None:
    journal.commit([], effects=[effect("one"), effect("two"), effect("later", due=at(5))])
    tracker = Tracker()

    deliveries = deliver(journal, {"comment": tracker}, NOON)

    assert sorted(tracker.received) == ["one", "two"]
    assert [(one["delivered"], one["error"]) for one in deliveries] == [(True, ""), (True, "")]
    assert deliver(journal, {"comment": tracker}, NOON) == []
    assert [one["key"] for one in journal.effects()] == ["later"]


def test_a_failure_is_kept_with_its_reason_and_tried_later(journal: Journal) -> None:
    journal.commit([], effects=[effect("one")])
    tracker = Tracker(failures=1)

    [failed] = deliver(journal, {"comment": tracker}, NOON)

    assert (failed["delivered"], failed["error"]) == (False, "HTTP 503")
    [waiting] = journal.effects()
    assert (waiting["error"], waiting["attempts"]) == ("HTTP 503", 1)
    assert waiting["due_at"] == clock.precise(NOON + FIRST_PAUSE)
    assert deliver(journal, {"comment": tracker}, NOON + FIRST_PAUSE - 1) == []
    [done] = deliver(journal, {"comment": tracker}, NOON + FIRST_PAUSE)
    assert done["delivered"]
    assert journal.effects() == []


def test_pauses_double_up_to_an_hour(journal: Journal) -> None:
    journal.commit([], effects=[effect("one")])
    tracker, now, pauses = Tracker(failures=99), NOON, []
    for _ in range(10):
        deliver(journal, {"comment": tracker}, now)
        due = clock.parse(journal.effects()[0]["due_at"])
        pauses.append(due - now)
        now = due

    assert pauses[:4] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    assert pause_after(10_000) == LONGEST_PAUSE


def test_a_failure_without_words_is_named_by_its_kind(journal: Journal) -> None:
    journal.commit([], effects=[effect("one")])

    def wordless(_: Effect) -> None:
        raise TimeoutError

    [failed] = deliver(journal, {"comment": wordless}, NOON)

    assert failed["error"] == "TimeoutError"


def test_one_failure_does_not_hold_up_the_others(journal: Journal) -> None:
    journal.commit([], effects=[effect("one"), effect("two", due=at(1))])

    deliveries = deliver(journal, {"comment": Tracker(failures=1)}, NOON + clock.HOUR)

    assert [one["delivered"] for one in deliveries] == [False, True]


def test_the_claim_of_a_process_that_died_lapses(journal: Journal) -> None:
    journal.commit([], effects=[effect("one")])

    def dies(_: Effect) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deliver(journal, {"comment": dies}, NOON)

    tracker = Tracker()
    assert deliver(journal, {"comment": tracker}, NOON + CLAIM - 1) == []
    [done] = deliver(journal, {"comment": tracker}, NOON + CLAIM)
    assert done["delivered"]


def test_of_two_deliverers_one_delivers(journal: Journal) -> None:
    journal.commit([], effects=[effect(f"issue-{number}") for number in range(10)])
    tracker, start = Tracker(), threading.Barrier(2, timeout=30)

    def work() -> None:
        start.wait()
        deliver(journal, {"comment": tracker}, NOON)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(tracker.received) == sorted(f"issue-{number}" for number in range(10))
    assert journal.effects() == []


def test_a_newer_effect_of_the_same_key_outlives_the_delivery_of_the_older(
    journal: Journal,
) -> None:
    journal.commit([], effects=[effect("one", body="old")])

    def meanwhile_replaced(_: Effect) -> None:
        journal.commit([], effects=[effect("one", body="new")])

    deliver(journal, {"comment": meanwhile_replaced}, NOON)

    assert [waiting["body"] for waiting in journal.effects()] == ["new"]


def test_an_effect_without_a_handler_here_waits_untouched(journal: Journal) -> None:
    queued = effect("one", kind="notify")
    journal.commit([], effects=[queued])

    assert deliver(journal, {"comment": Tracker()}, NOON) == []
    assert journal.effects() == [queued]


def test_effects_that_nobody_here_can_deliver_do_not_hold_up_the_others(journal: Journal) -> None:
    crowd = [effect(f"issue-{number}", kind="notify", due=at(0)) for number in range(150)]
    journal.commit([], effects=[*crowd, effect("one", due=at(1))])
    tracker = Tracker()

    deliver(journal, {"comment": tracker}, NOON + clock.HOUR)

    assert tracker.received == ["one"]


def test_when_the_time_is_up_the_rest_waits(journal: Journal) -> None:
    journal.commit([], effects=[effect("one"), effect("two")])

    assert deliver(journal, {"comment": Tracker()}, NOON, seconds=-1) == []
    assert [waiting["attempts"] for waiting in journal.effects()] == [0, 0]


def test_a_secret_in_an_error_is_not_kept(journal: Journal) -> None:
    token = "ghp_" + "a1B2" * 9

    def fails(_: Effect) -> None:
        raise ConnectionError(f"bad credentials {token}")

    journal.commit([], effects=[effect("one")])
    deliver(journal, {"comment": fails}, NOON)

    assert token not in journal.effects()[0]["error"]
