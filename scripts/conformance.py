"""Which clause is proved by which test file: `python -m scripts.conformance`.

Runs the tests that carry `@pytest.mark.clause(...)` and writes build/conformance.md, a table of clause
and test file. Fails on a clause that this version promises and no test proves, on one whose tests do
not all pass, and on a mark that names no promised clause.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "build" / "conformance.md"
WORKERS = "3"
PROPERTY = "clauses"
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In each worker: keep the tests that carry the mark, and let their reports name the clauses."""
    kept = []
    for item in items:
        clauses = [id for mark in item.iter_markers("clause") for id in mark.args]
        if clauses:
            item.user_properties.append((PROPERTY, clauses))
            kept.append(item)
    items[:] = kept


class Findings:
    """Which test files prove which clause, and which clauses have a test that does not pass."""

    def __init__(self) -> None:
        self.files: dict[str, set[str]] = defaultdict(set)
        self.failing: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, clauses in report.user_properties:
            if name != PROPERTY or not isinstance(clauses, list):
                continue
            if report.outcome != "passed":
                self.failing.update(clauses)
            elif report.when == "call":
                for id in clauses:
                    self.files[id].add(report.nodeid.partition("::")[0])

    def table(self) -> str:
        lines = ["# Conformance", "", "Written by `make conformance`.", ""]
        for group, ids in PROMISED.items():
            lines += [f"## {group}", "", "| clause | proved in |", "|---|---|"]
            for id in ids:
                files = ", ".join(f"`{file}`" for file in sorted(self.files[id])) or "nothing"
                lines.append(f"| {id} | {files} |")
            lines.append("")
        return "\n".join(lines)

    def complaints(self) -> list[str]:
        promised = [id for ids in PROMISED.values() for id in ids]
        marked = set(self.files) | self.failing
        unproved = [id for id in promised if not self.files.get(id) or id in self.failing]
        unknown = sorted(marked - set(promised))
        return [
            *(f"not proved: {id}" for id in unproved),
            *(f"marked, but not promised: {id}" for id in unknown),
        ]


def main() -> int:
    findings = Findings()
    words = ["-q", "--no-header", "-n", WORKERS, "-p", __spec__.name, str(ROOT / "tests")]
    code = pytest.main([*words, "-m", "not proof and not clients"], [findings])
    complaints = findings.complaints()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(findings.table(), encoding="utf-8")
    print(f"Written: {PAGE.relative_to(ROOT)}")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints or code else 0


if __name__ == "__main__":
    sys.exit(main())
