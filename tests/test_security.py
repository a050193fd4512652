"""SECURITY.md names a test for each promise; each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parent.parent
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| `(?P<file>tests/[^:]+)::(?P<test>\w+)` \|$", re.M)


def test_each_promise_has_a_test_that_exists() -> None:
    rows = list(ROW.finditer((TOP / "SECURITY.md").read_text()))
    assert len(rows) > 20
    for row in rows:
        text = (TOP / row["file"]).read_text()
        assert re.search(rf"^\s*(async )?def {row['test']}\(", text, re.M), row[0]


def test_no_row_of_the_promises_is_without_a_test() -> None:
    text = (TOP / "SECURITY.md").read_text()
    table = text.partition("## What is promised")[2].partition("## What is not promised")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == len(ROW.findall(table))
