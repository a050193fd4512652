"""LangGraph's own suite for checkpointers, over both kinds of journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from holdfast.contrib.langgraph import HoldfastSaver

pytestmark = pytest.mark.contrib
TESTS = 81


def run_suite(folder: Path) -> tuple[int, list[str]]:
    """Return how many tests passed, and those that failed."""

    @checkpointer_test(name="HoldfastSaver")  # type: ignore[untyped-decorator]
    async def make() -> AsyncIterator[HoldfastSaver]:
        async with HoldfastSaver(folder) as saver:
            yield saver

    results = asyncio.run(validate(make)).to_dict()["results"].values()
    failures = [one for result in results for one in result["failures"]]
    assert all(result["detected"] for result in results)
    return sum(result["tests_passed"] for result in results), failures


def test_every_test_passes_in_sqlite(repository: Path) -> None:
    assert run_suite(repository) == (TESTS, [])


def test_every_test_passes_in_postgresql(repository: Path, on_server: str) -> None:
    assert run_suite(repository) == (TESTS, [])
