"""`make continuity`: judge the recorded sessions, and write docs/continuity.md and its figures.

CONTINUITY_DATA names a folder of other transcripts, to be judged as well. Of those, only figures
are written down.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any

from bench.continuity import recall
from bench.continuity.comparison import (
    Comparison,
    cells_of,
    comparisons_of,
    measure,
)
from bench.continuity.report import write_pages
from bench.continuity.transcripts import Recording, recordings_in
from holdfast.cli.terminal import table

HERE = Path(__file__).parent
RECORDINGS = HERE / "recordings"
FIGURES = HERE.parent.parent / "docs" / "figures" / "continuity.json"
PAGE = HERE.parent.parent / "docs" / "continuity.md"
ALL_FIGURES = FIGURES.with_suffix(".md")
BUDGETS = (6000, 2500)


def judge(folder: Path) -> dict[str, Any]:
    """The figures for all sessions below a folder, with each budget."""
    recordings = list(recordings_in(str(folder)))
    results: dict[str, Any] = {"sessions": [describe(one) for one in recordings], "budgets": {}}
    for budget in BUDGETS:
        comparisons = comparisons_of(measure(recordings, budget, progress=_progress))
        show(comparisons, budget)
        results["budgets"][str(budget)] = [comparison._asdict() for comparison in comparisons]
    return results


def describe(recording: Recording) -> dict[str, Any]:
    compactions = sum(1 for event in recording.events if event.kind == "compact")
    calls = len(recording.calls)
    name = recording.name.rpartition(".")[0]
    return {"name": name, "client": recording.client, "calls": calls, "compactions": compactions}


def show(comparisons: list[Comparison], budget: int) -> None:
    for comparison in comparisons:
        print(
            f"\n{comparison.client}, {comparison.kind}: {comparison.cuts} cuts, {budget:,} characters allowed"
        )
        print("\n".join(table(cells_of(comparison), indent="  ")))


def _progress(line: str) -> None:
    print(line, file=sys.stderr)


def count(results: dict[str, Any]) -> dict[str, Any]:
    """The results without a word about single sessions, which belong to their users."""
    sessions = results["sessions"]
    clients = sorted({one["client"] for one in sessions})
    numbers = {name: sum(one["client"] == name for one in sessions) for name in clients}
    return {"sessions": numbers, "budgets": results["budgets"]}


def main() -> int:
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    figures["recorded"] = {"date": today, **judge(RECORDINGS)}
    figures["recall"] = {"date": today, **recall.measure()}
    if data := os.environ.get("CONTINUITY_DATA"):
        figures["others"] = {"date": today, **count(judge(Path(data)))}
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    write_pages(figures, PAGE, ALL_FIGURES)
    print(f"\nWritten: {PAGE.relative_to(Path.cwd())}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
