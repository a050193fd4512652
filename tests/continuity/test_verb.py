"""`holdfast continuity`, and the page that `make continuity` writes."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from bench.continuity.__main__ import FIGURES, PAGE
from bench.continuity.players import ROOT
from bench.continuity.report import write_page

from tests.cli.conftest import Holdfast, holdfast

__all__ = ["holdfast"]

pytestmark = pytest.mark.usefixtures("repository")


def test_a_folder_of_transcripts_is_measured(holdfast: Holdfast, transcripts: Path) -> None:
    answer = holdfast("continuity", str(transcripts), "--budget", "2500", "--json")
    (comparison,) = answer.data["comparisons"]
    assert (comparison["client"], comparison["kind"], comparison["cuts"]) == (
        "claude",
        "mid-turn",
        5,
    )
    assert comparison["rows"]["holdfast"]["characters"] <= 2500
    assert "end of the conversation" in comparison["rows"]


def test_without_a_folder_the_sessions_held_here_are_measured(
    holdfast: Holdfast, transcripts: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (packed,) = transcripts.iterdir()
    home = transcripts.parent / "claude"
    folder = home / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(repository))
    folder.mkdir(parents=True)
    text = gzip.decompress(packed.read_bytes()).decode().replace(ROOT, str(repository))
    (folder / "0b5f6e0e-0000-4000-8000-000000000000.jsonl").write_text(text)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    (comparison,) = holdfast("continuity", "--json").data["comparisons"]
    assert (comparison["client"], comparison["cuts"]) == ("claude", 5)


def test_the_table_and_the_progress_are_for_people(holdfast: Holdfast, transcripts: Path) -> None:
    answer = holdfast("continuity", str(transcripts))
    assert "claude, mid-turn: 5 cuts, 6,000 characters allowed" in answer.out
    assert "1 of 1: claude-short.jsonl" in answer.err


def test_nothing_is_written(holdfast: Holdfast, transcripts: Path, repository: Path) -> None:
    before = sorted([*transcripts.rglob("*"), *repository.rglob("*")])
    holdfast("continuity", str(transcripts))
    assert sorted([*transcripts.rglob("*"), *repository.rglob("*")]) == before


def test_another_clients_sessions_are_left_out(holdfast: Holdfast, transcripts: Path) -> None:
    answer = holdfast("continuity", str(transcripts), "--client", "codex")
    assert answer.code == 3
    assert "40 tool calls" in answer.err


def test_a_folder_that_is_not_there_is_named(holdfast: Holdfast) -> None:
    answer = holdfast("continuity", "nowhere")
    assert answer.code == 3
    assert "There is no folder nowhere." in answer.err


def test_the_page_is_what_the_figures_say(tmp_path: Path) -> None:
    written = tmp_path / "page.md"
    write_page(json.loads(FIGURES.read_text()), written)
    assert written.read_text() == PAGE.read_text()
