"""What `make continuity` measures, and the pages that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.continuity.__main__ import ALL_FIGURES, FIGURES, PAGE, count, judge
from bench.continuity.report import write_pages


def test_a_folder_of_transcripts_is_measured(
    transcripts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(transcripts.rglob("*"))
    results = judge(transcripts)
    (comparison,) = results["budgets"]["2500"]
    named = (comparison["client"], comparison["kind"], comparison["cuts"])
    assert named == ("claude", "mid-turn", 5)
    assert comparison["rows"]["holdfast"]["characters"] <= 2500
    assert "end of the conversation" in comparison["rows"]
    shown = capsys.readouterr()
    assert "claude, mid-turn: 5 cuts, 6,000 characters allowed" in shown.out
    assert "1 of 1: claude-short.jsonl" in shown.err
    assert sorted(transcripts.rglob("*")) == before


def test_of_other_peoples_sessions_only_figures_are_kept(transcripts: Path) -> None:
    kept = count(judge(transcripts))
    assert kept["sessions"] == {"claude": 1}
    assert "claude-short" not in json.dumps(kept)


def test_the_pages_are_what_the_figures_say(tmp_path: Path) -> None:
    page, figures = tmp_path / "page.md", tmp_path / "figures.md"
    write_pages(json.loads(FIGURES.read_text()), page, figures)
    assert page.read_text() == PAGE.read_text()
    assert figures.read_text() == ALL_FIGURES.read_text()
