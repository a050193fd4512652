"""Finding a past session, on the recorded ones: not below the naive search, small, and silent where nothing fits."""

from __future__ import annotations

from bench.continuity.recall import measure


def test_recorded_sessions_are_found_at_least_as_well_as_by_the_naive_search() -> None:
    found = measure()
    naive, ours = found["rows"]["pieces, BM25"], found["rows"]["holdfast find"]
    assert found["sessions"] == 11
    for kind in ("subject", "own words"):
        assert ours[kind]["first"] >= naive[kind]["first"]
        assert ours[kind]["among"] >= naive[kind]["among"]
    assert found["index_share"] <= 0.25
    assert found["kept_share"] <= 0.15
    told = found["reminders"]
    assert told["right"] >= 0.9 * told["told"] > 0
    assert told["unrelated_told"] <= 0.05 * told["unrelated"]
