"""When a usage limit ends, in the words of each client; and what is no limit."""

from __future__ import annotations

import time

import pytest

from holdfast.clients.limits import read_reset
from holdfast.kernel import clock

# 13:30 in Moscow, 05:30 in New York.
SAID = clock.parse("2026-11-17T10:30:00Z")


@pytest.fixture(autouse=True)
def _berlin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()


@pytest.mark.parametrize(
    ("text", "resets_at"),
    [
        ("Claude AI usage limit reached|1794920400", "2026-11-17T13:00:00Z"),
        ("You've hit your limit · resets 2:10pm (Europe/Moscow)", "2026-11-17T11:10:00Z"),
        (
            "You've hit your session limit — resets 11:30am (America/New_York)",
            "2026-11-17T16:30:00Z",
        ),
        ("You've hit your limit · resets Nov 18, 11:30am (Asia/Calcutta)", "2026-11-18T06:00:00Z"),
        ("You've hit your limit · resets Jan 3 at 4pm (America/Recife)", "2027-01-03T19:00:00Z"),
        ("Your limit will reset at 10am (America/Lima).", "2026-11-17T15:00:00Z"),
        ("Your limit will reset at 1am (Europe/Moscow).", "2026-11-17T22:00:00Z"),
        (
            "You’ve hit your usage limit. Upgrade to Pro or try again at 3:05 PM.",
            "2026-11-17T14:05:00Z",
        ),
        ("try again at Nov 20th, 2026 11:52 AM.", "2026-11-20T10:52:00Z"),
        ("or try again in 2 days 17 hours 14 minutes.", "2026-11-20T03:44:00Z"),
        ("You exceeded your current quota. Please retry in 34.5s.", "2026-11-17T10:30:34.500Z"),
        ("Your quota will reset after 3h20m5s.", "2026-11-17T13:50:05Z"),
        ("API Error: Request rejected (429) · Rate limited. Please try again later.", ""),
        ("You've hit your limit · resets 2pm (Nowhere/Atlantis)", ""),
        ("resets Feb 31 at 4pm (Europe/Moscow)", ""),
        ("Claude AI usage limit reached|1000000000", ""),
        ("The limit is 5 of 10 requests; see 10:30 in the log", ""),
    ],
)
def test_a_reset_is_read_from_the_text_that_a_person_sees(text: str, resets_at: str) -> None:
    found = read_reset(text, SAID)
    assert (clock.precise(found) if found else "") == (
        clock.precise(clock.parse(resets_at)) if resets_at else ""
    )
