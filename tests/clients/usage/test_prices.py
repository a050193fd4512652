"""The price list, and the arithmetic on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.clients.usage import prices
from tests.clients.usage.conftest import close_to

TOKENS = {"input": 1000, "output": 100, "cache_read": 10_000, "cache_write": 2000}


def test_the_list_says_what_it_is_and_of_which_day() -> None:
    listed = json.loads(Path(prices.FILE).read_text(encoding="utf-8"))
    assert listed["source"].startswith("genai-prices ")
    assert len(listed["date"]) == len("2026-11-15")
    for entries in listed["providers"].values():
        for entry in entries:
            assert entry["prices"], entry["id"]


@pytest.mark.parametrize("model", ["", "stub-model", "llama-on-my-desk", "unknown/model"])
def test_an_unknown_model_has_no_price_and_no_window(model: str) -> None:
    assert prices.cost_of(model, TOKENS) is None
    assert prices.window_of(model) == 0


@pytest.mark.parametrize(
    "model",
    ["claude-opus-5-5", "anthropic/claude-opus-5-5", "claude-opus-5-5[1m]", "Claude-Opus-5-5"],
)
def test_a_model_is_known_by_the_names_that_clients_give_it(model: str) -> None:
    expected = (1000 * 4 + 100 * 20 + 10_000 * 0.2 + 2000 * 5) / 1e6
    assert prices.cost_of(model, TOKENS) == close_to(expected)


def test_a_long_request_costs_more_as_a_whole() -> None:
    short = {"input": 200_000, "output": 0, "cache_read": 0, "cache_write": 0}
    long = {**short, "input": 200_001}
    assert prices.cost_of("claude-sonnet-4-5", short) == close_to(0.6)
    assert prices.cost_of("claude-sonnet-4-5", long) == close_to(200_001 * 6 / 1e6)


def test_the_price_of_the_day_on_which_it_was_said() -> None:
    listed = json.loads(Path(prices.FILE).read_text(encoding="utf-8"))
    entry = next(
        each
        for each in listed["providers"]["google"]
        if each["prices"][-1].get("from", "") > "2026-12-31"
    )
    one = {"input": 1_000_000, "output": 0, "cache_read": 0, "cache_write": 0}
    before = prices.cost_of(entry["id"], one, provider="google", at="2026-11-15T00:00:00.000Z")
    after = prices.cost_of(entry["id"], one, provider="google", at="2027-02-01T00:00:00.000Z")
    assert before is not None
    assert after is not None
    assert before != after


def test_a_price_that_goes_by_the_hour_is_the_dearest_hours() -> None:
    one = {"input": 1_000_000, "output": 0, "cache_read": 0, "cache_write": 0}
    assert prices.cost_of("deepseek-chat", one) == close_to(0.27)


def test_cached_tokens_without_a_price_of_their_own_cost_what_others_do() -> None:
    without = {"input": 11_000, "output": 100, "cache_read": 0, "cache_write": 0}
    cached = {**without, "input": 1000, "cache_read": 10_000}
    assert prices.cost_of("claude-2", cached) == prices.cost_of("claude-2", without)
