"""A project whose CCC files were made by hand: nothing is lost, rewritten or demanded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.adoption import folders
from tests.adoption.folders import ENGINE, LEARNINGS, PROGRESS, put
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast

holdfast = command_line.holdfast
FILE, STATE = ".ccc-progress.md", ".ccc-state.json"


@pytest.mark.clause("CCC-16", "CCC-67", "AMB-CCC-26")
def test_reading_changes_nothing_and_demands_nothing(repository: Path, holdfast: Holdfast) -> None:
    put(FILE, PROGRESS)
    put(STATE, ENGINE)
    before = folders.contents()
    answer = holdfast("resume", "--prompt-only")
    assert answer.out == PROGRESS.split("## Continuation Prompt\n")[1]
    for words in (("resume",), ("status",), ("resume", "--list"), ()):
        assert holdfast(*words).code == 0
    assert folders.contents() == before


@pytest.mark.clause("CCC-17", "CCC-22", "CCC-67", "AMB-CCC-16")
def test_a_checkpoint_changes_only_what_was_said(repository: Path, holdfast: Holdfast) -> None:
    put(FILE, PROGRESS + LEARNINGS)
    put(STATE, ENGINE)
    answer = holdfast("checkpoint", "--next", "test the leap year")
    assert "Checkpoint complete: 4/4 steps succeeded." in answer.out
    after = Path(FILE).read_text("utf-8")
    wanted = (PROGRESS + LEARNINGS).replace("finish parse_date", "test the leap year")
    same_time = re.compile(r"(?m)^\*\*Session:\*\* .*$")
    assert same_time.sub("", after) == same_time.sub("", wanted)
    assert json.loads(Path(STATE).read_text("utf-8")) == ENGINE


@pytest.mark.clause("CCC-66", "CCC-67")
def test_the_engines_scripts_work_on_the_files(repository: Path, holdfast: Holdfast) -> None:
    put(FILE, PROGRESS)
    put(STATE, ENGINE)
    holdfast("checkpoint", "--done", "Write the parser")
    said = folders.run_script(
        "jq -r .taskIndex .ccc-state.json\n"
        "sed -n '/^## Continuation Prompt/,$p' .ccc-progress.md | tail -n +2\n"
        "jq '.taskIndex = 2' .ccc-state.json > t && mv t .ccc-state.json\n"
    )
    number, first, second = said.splitlines()
    assert (number, first.startswith("Resume CIA-401. Current task: task 2 of 3.")) == ("1", True)
    assert second.startswith("Next action: ")
    assert "task 3 of 3" in holdfast("checkpoint", "--next", "write the docs").out
