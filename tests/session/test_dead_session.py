"""A session that died without hooks, taken up by a person: what of it is still true."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from scripts.page_stories import leave_session

from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.usage import spending
from tests.conftest import Git
from tests.session.world import Holdfast

EDITED = ("tally/export_csv.py", "tally/amounts.py", "tests/test_export.py", "docs/format.md")
DONE = "Write rows with csv.writer in to_csv"


@pytest.fixture
def project(repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of the project, committed before the session that edited them yesterday."""
    for name in EDITED:
        path = repository / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("as committed\n")
    git("add", ".")
    monkeypatch.setenv("GIT_COMMITTER_DATE", clock.stamp(clock.now() - 3 * clock.DAY))
    git("commit", "--quiet", "--message", "Tally")
    leave_session(repository)
    return repository


def test_edits_that_are_not_in_the_work_tree_are_named(project: Path, holdfast: Holdfast) -> None:
    said = holdfast("resume").out
    assert said.startswith("Holdfast: DRIFTED. Session 022bdfed")
    changes = said.partition("\n## What is not as it was\n")[2].partition("\n## ")[0]
    assert changes.startswith("- edits of the session were undone or lost: ")
    assert all(name in changes for name in EDITED)
    assert "Look at what changed before you continue." in said
    assert holdfast("resume", "--json").data["verdict"] == "DRIFTED"


def test_edits_that_are_in_the_work_tree_are_not_called_lost(
    project: Path, holdfast: Holdfast
) -> None:
    for name in EDITED:
        (project / name).write_text("as edited\n")
    said = holdfast("resume").out
    assert said.startswith("Holdfast: nothing to compare: no checkpoint")
    assert said.count("nothing to compare") == 1, "one verdict"


def test_edits_that_were_committed_since_are_not_called_lost(
    project: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    for name in EDITED:
        (project / name).write_text("as edited\n")
    git("commit", "--quiet", "--all", "--message", "Grouped amounts")
    assert "lost" not in holdfast("resume").out


def test_a_statement_after_the_session_is_later_than_what_was_seen_of_it(
    project: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", "--done", DONE, "--next", "update the documentation")
    said = holdfast("resume").out
    assert "Seen since it was stated" not in said
    assert "before now" not in said
    assert "- Next action: update the documentation" in said
    assert re.search(rf"- \[x\] #\d+ {re.escape(DONE)}", said)
    assert "Tasks, 5 of 6 done" in said
    assert os.path.exists(".ccc-progress.md")


def test_a_checkpoint_without_files_names_those_that_changed(
    project: Path, holdfast: Holdfast
) -> None:
    (project / "tally/amounts.py").write_text("as edited\n")
    said = holdfast("checkpoint", "--next", "update the documentation")
    assert "Key files: tally/amounts.py." in said.out
    assert "names no key files" not in said.err


def test_files_that_are_listed_as_edited_are_not_named_again_as_stated(
    project: Path, holdfast: Holdfast
) -> None:
    (project / "tally/amounts.py").write_text("as edited\n")
    (project / "tally/other.py").write_text("new\n")
    holdfast(
        "checkpoint",
        "--next",
        "update the documentation",
        "--file",
        "tally/amounts.py",
        "--file",
        "tally/other.py",
        "--skip-git",
    )
    stated = holdfast("resume").out.partition("## Stated")[2].partition("\n## ")[0]
    assert stated.endswith("- Key files: tally/other.py")


def test_a_session_without_a_record_is_shown(project: Path, holdfast: Holdfast) -> None:
    for what in ("022bdfed", "session:022bdfed-56c0-4976-b946-1579523829e7"):
        shown = holdfast("show", what)
        assert shown.code == 0
        assert "The CSV export breaks" in shown.out
    assert holdfast("show", "022bdfed", "--json").data["client"] == "claude"
    holdfast("note", "Now there is a journal.")
    assert "The CSV export breaks" in holdfast("show", "022bdfed").out
    missing = holdfast("show", "12345678")
    assert missing.code == 3


def test_costs_and_lists_name_a_session_by_the_same_request(
    project: Path, holdfast: Holdfast
) -> None:
    listed = holdfast("resume", "--list", "--json").data["sessions"][0]["request"]
    transcript = holdfast("resume", "--list", "--json").data["sessions"][0]["transcript"]
    sources = spending.sources_at(transcript)
    (costs,) = spending.costs_over_time(discover(str(project)), [sources], now=clock.now())
    assert costs["request"].startswith(listed.removesuffix("...")[:60])


def test_the_pack_and_the_prompt_say_one_next_step(project: Path, holdfast: Holdfast) -> None:
    """The session left a failing test and a task in progress: the task is next in both."""
    for name in EDITED:
        (project / name).write_text("as edited\n")
    found = holdfast("resume", "--json").data
    assert "## Still failing\n- python3 -m unittest tests.test_export" in found["pack"]
    assert "\n## Next step\n" in found["pack"]
    step = found["pack"].partition("\n## Next step\n- ")[2].partition(" (")[0]
    action = f'its task in progress: "{step.rstrip(".")}" (quoted as data).'
    assert f"\nNext action: {action}\n" in f"{found['prompt']}\n"
    assert DONE in found["prompt"], "the task in progress is named"
