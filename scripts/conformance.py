"""Which clause is proved by which test: `python -m scripts.conformance`.

Runs the tests that carry `@pytest.mark.clause(...)`, prints clause by clause what covers it and
whether it passed, and writes docs/conformance.md. Fails on a clause that a protocol in the code
promises and no passing test proves.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The clauses that this version promises. A protocol adds its own when it lands.
PROMISED: dict[str, list[str]] = {
    "CCC": [f"CCC-{number:02d}" for number in range(1, 68)],
    "AMB-CCC": [f"AMB-CCC-{number:02d}" for number in range(1, 28)],
    "FLEET": [f"FLEET-{number:02d}" for number in range(1, 95)],
    "AMB-FLEET": [f"AMB-FLEET-{number:02d}" for number in range(1, 29)],
    "RFC": [f"RFC-{number:02d}" for number in range(1, 55)],
    "AMB-RFC": [f"AMB-RFC-{number:02d}" for number in range(1, 25)],
    "LOOP": [f"LOOP-{number:02d}" for number in range(1, 49)],
    "AMB-LOOP": [f"AMB-LOOP-{number:02d}" for number in range(1, 19)],
    "PILOT": [f"PILOT-{number:02d}" for number in range(1, 95)],
    "AMB-PILOT": [f"AMB-PILOT-{number:02d}" for number in range(1, 40)],
    "AMB-X": [f"AMB-X-{number:02d}" for number in range(1, 8)],
}


class Collector:
    """Remembers which test names which clause, and how it ended."""

    def __init__(self) -> None:
        self.clauses: dict[str, list[str]] = defaultdict(list)
        self.passed: dict[str, bool] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = []
        for item in items:
            marks = list(item.iter_markers("clause"))
            for mark in marks:
                for id in mark.args:
                    self.clauses[id].append(item.nodeid)
            if marks:
                kept.append(item)
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ended_well = report.outcome == "passed"
        if report.when == "call" or not ended_well:
            self.passed[report.nodeid] = self.passed.get(report.nodeid, True) and ended_well


def main() -> int:
    collector = Collector()
    code = pytest.main(
        ["-q", "--no-header", "-m", "not proof and not clients", str(ROOT / "tests")], [collector]
    )
    lines = ["# Conformance", "", "Written by `make conformance`. One row a clause.", ""]
    missing: list[str] = []
    for group, ids in PROMISED.items():
        lines += [f"## {group}", "", "| clause | proved by | |", "|---|---|---|"]
        for id in ids:
            tests = collector.clauses.get(id, [])
            good = [test for test in tests if collector.passed.get(test)]
            if not good or len(good) < len(tests):
                missing.append(id)
            names = "<br>".join(f"`{test}`" for test in tests) or "nothing"
            lines.append(f"| {id} | {names} | {'proved' if good else 'MISSING'} |")
        lines.append("")
    unknown = sorted(set(collector.clauses) - {id for ids in PROMISED.values() for id in ids})
    text = "\n".join(lines)
    (ROOT / "docs" / "conformance.md").write_text(text, encoding="utf-8")
    print(text)
    for id in missing:
        print(f"not proved: {id}", file=sys.stderr)
    for id in unknown:
        print(f"marked, but not promised: {id}", file=sys.stderr)
    return 1 if missing or unknown or code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else 0


if __name__ == "__main__":
    sys.exit(main())
