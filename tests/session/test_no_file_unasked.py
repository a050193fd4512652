"""A session that only hooks saw leaves no file in the work tree, except where the CCC protocol is in use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.files import content_digest, identity_of
from holdfast.kernel.workspace import discover
from tests.conftest import Git
from tests.session.world import PROGRESS, WORK, Holdfast, hook, set_state

LEFT = """# Session Progress

**Issue:** ENG-12 — Parse dates
**Session:** 2026-02-25T14:32:00Z
**Execution Mode:** exec:tdd
"""


def run_session(name: str) -> None:
    for event in ("Stop", "PreCompact", "Stop", "SessionEnd"):
        sample = {"PreCompact": "PreCompact.auto", "SessionEnd": "SessionEnd.other"}.get(event, "")
        assert hook(event, sample, session_id=name).returncode == 0


def test_git_add_takes_nothing_of_ours_along(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    run_session("first")
    run_session("second")
    assert git("status", "--porcelain", "--ignored") == ""
    listed = holdfast("resume", "--list", "--json").data["sessions"]
    assert {one["session"]: one["last"]["profile"] for one in listed} == {
        "first": "automated",
        "second": "automated",
    }


def enable_plugin(file: str, text: str) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(text)


USED: dict[str, Callable[[], object]] = {
    "a state file": lambda: set_state(linearIssue="CIA-7"),
    "a file by hand": lambda: PROGRESS.write_text(LEFT),
    "its plugin": lambda: enable_plugin(
        ".claude/settings.json", json.dumps({"enabledPlugins": {"ccc@a-market": True}})
    ),
    "its stop handler": lambda: enable_plugin("hooks/scripts/ccc-stop-handler.sh", "exit 0\n"),
    "the setting": lambda: enable_plugin("holdfast.toml", '[session]\nprogress_file = "always"\n'),
}


@pytest.mark.clause("CCC-11", "CCC-12")
@pytest.mark.parametrize("sign", USED)
def test_where_the_protocol_is_in_use_hooks_write_its_file(
    repository: Path, holdfast: Holdfast, sign: str
) -> None:
    USED[sign]()
    run_session("first")
    assert "## Continuation Prompt" in PROGRESS.read_text("utf-8")
    if sign == "a file by hand":
        assert "**Issue:** ENG-12 — Parse dates\n" in PROGRESS.read_text("utf-8")
        assert "exec:tdd\n" in PROGRESS.read_text("utf-8")


def test_after_a_checkpoint_the_sessions_of_hooks_keep_the_file(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    run_session("first")
    run_session("second")
    told = PROGRESS.read_text("utf-8")
    assert "- Write the parser — half done" in told
    listed = holdfast("resume", "--list", "--json").data["sessions"]
    assert listed[0]["last"]["at"][:19] in told, "the second session wrote it"


@pytest.mark.clause("CCC-07")
def test_a_program_that_asks_for_the_automated_profile_gets_the_file(
    repository: Path, holdfast: Holdfast
) -> None:
    assert holdfast("checkpoint", "--auto", "--session", "first").code == 0
    assert PROGRESS.exists()


def test_a_comment_that_hooks_stored_does_not_count(repository: Path, holdfast: Holdfast) -> None:
    set_state(checkpointCommentId="c-1", checkpointCommentIssue="ENG-12")
    run_session("first")
    assert not PROGRESS.exists()


def test_the_file_is_hidden_from_git_unless_people_want_it_committed(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    said = holdfast("checkpoint", *WORK, "--session", "first")
    assert "Git leaves it out." in said.err
    assert git("status", "--porcelain") == ""
    assert "/.ccc-progress.md\n" in Path(".git/info/exclude").read_text()


def test_who_commits_the_file_says_so_once(repository: Path, holdfast: Holdfast, git: Git) -> None:
    enable_plugin("holdfast.toml", '[session]\nprogress_file = "commit"\n')
    run_session("first")
    assert "?? .ccc-progress.md" in git("status", "--porcelain")


def leave_file_of_an_earlier_version(root: Path) -> None:
    """The file that hooks of an earlier version wrote, and its row in the journal."""
    run_session("first")
    PROGRESS.write_text(LEFT, "utf-8")
    workspace = discover()
    placed = identity_of(TreeFile(str(root), str(PROGRESS)))
    workspace.journal.commit(
        [],
        views=[
            {
                "worktree": workspace.root,
                "path": str(PROGRESS),
                "stream": "session:first",
                "found": None,
                "found_version": 0,
                "placed": placed,
                "placed_version": 1,
                "digest": content_digest(LEFT.encode()),
                "removed": False,
            }
        ],
    )
    workspace.close()


def test_doctor_offers_to_remove_a_file_that_only_hooks_wrote(
    repository: Path, holdfast: Holdfast
) -> None:
    leave_file_of_an_earlier_version(repository)
    run_session("second")
    assert PROGRESS.read_text("utf-8") == LEFT, "hooks no longer write it"
    assert "Only hooks wrote .ccc-progress.md" in holdfast("doctor").out
    assert ".ccc-progress.md was removed" in holdfast("doctor", "--fix").out
    assert not PROGRESS.exists()
    assert holdfast("doctor").code == 0
    run_session("first")
    assert not PROGRESS.exists()


def test_a_file_that_somebody_edited_stays(repository: Path, holdfast: Holdfast) -> None:
    leave_file_of_an_earlier_version(repository)
    PROGRESS.write_text(LEFT + "\n## Decisions Made\n- Mine: because\n", "utf-8")
    holdfast("doctor", "--fix")
    run_session("second")
    assert "- Mine: because\n" in PROGRESS.read_text("utf-8")
    assert "ENG-12 — Parse dates" in PROGRESS.read_text("utf-8")


def test_init_says_what_sessions_will_write(repository: Path, holdfast: Holdfast) -> None:
    said = holdfast("init", "--client", "claude", "--dry-run").out
    assert "They write no file into the work tree; `holdfast checkpoint` writes" in said
    set_state(linearIssue="CIA-7")
    said = holdfast("init", "--client", "claude").out
    assert "in use here: they also write .ccc-progress.md, which git does not see." in said
