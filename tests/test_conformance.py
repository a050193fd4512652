"""The table of clauses and test files says what is proved, and complains of what is not."""

from __future__ import annotations

from typing import Literal

import pytest
from scripts.conformance import PROMISED, PROPERTY, Findings

Outcome = Literal["passed", "failed", "skipped"]


def report(file: str, *clauses: str, outcome: Outcome = "passed") -> pytest.TestReport:
    made = pytest.TestReport(
        f"{file}::test_it[a]", (file, 1, ""), {}, outcome, None, "call", user_properties=[]
    )
    made.user_properties.append((PROPERTY, list(clauses)))
    return made


@pytest.fixture
def findings() -> Findings:
    """All clauses proved, in one file."""
    found = Findings()
    for ids in PROMISED.values():
        found.pytest_runtest_logreport(report("tests/test_all.py", *ids))
    return found


def test_the_table_names_each_test_file_of_a_clause_once(findings: Findings) -> None:
    for _ in range(2):
        findings.pytest_runtest_logreport(report("tests/a/test_more.py", "CCC-01"))
    assert findings.complaints() == []
    assert "| CCC-01 | `tests/a/test_more.py`, `tests/test_all.py` |" in findings.table()
    assert "| CCC-02 | `tests/test_all.py` |" in findings.table()


def test_a_clause_without_a_test_or_with_a_failing_one_is_named(findings: Findings) -> None:
    del findings.files["FLEET-07"]
    findings.pytest_runtest_logreport(report("tests/test_all.py", "RFC-01", outcome="failed"))
    findings.pytest_runtest_logreport(report("tests/test_all.py", "RFC-99"))
    assert findings.complaints() == [
        "not proved: FLEET-07",
        "not proved: RFC-01",
        "marked, but not promised: RFC-99",
    ]
