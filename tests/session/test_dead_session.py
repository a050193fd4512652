"""A session that died without hooks, taken up by a person: what of it is still true."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scripts.page_stories import leave_session

from holdfast.kernel import clock
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
    assert said.startswith("DRIFTED\n  edits of the session were undone or lost: as in HEAD, which")
    assert all(name in said.splitlines()[1] for name in EDITED)
    assert "Look at what changed before you continue." in said
    assert holdfast("resume", "--json").data["verdict"] == "DRIFTED"


def test_edits_that_are_in_the_work_tree_are_not_called_lost(
    project: Path, holdfast: Holdfast
) -> None:
    (project / "tally/amounts.py").write_text("as edited\n")
    assert holdfast("resume").out.startswith("UNKNOWN\n  nothing to compare: no checkpoint")


def test_edits_that_were_committed_since_are_not_called_lost(
    project: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    (project / "tally/amounts.py").write_text("as edited\n")
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
    assert f"- [x] {DONE}" in said
    assert "Tasks, 5 of 6 done" in said
    assert os.path.exists(".ccc-progress.md")


def test_a_checkpoint_without_files_names_those_that_changed(
    project: Path, holdfast: Holdfast
) -> None:
    (project / "tally/amounts.py").write_text("as edited\n")
    said = holdfast("checkpoint", "--next", "update the documentation")
    assert "Key files: tally/amounts.py." in said.out
    assert "names no key files" not in said.err
