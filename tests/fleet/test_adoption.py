"""A fleet whose files were made by hand, from the protocol's document: Holdfast takes it over, and the document's
own scripts work on what Holdfast writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.kernel import clock
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.fleet.world import FEATURE, PRIMARY, A, C, Scene

Shell = Callable[[str, Path], str]

# The document's scan, backup and restore, as an agent types them into its shell.
SCRIPTS = r"""
check_stale_agents() {
  local NOW=$(date -u +%s)
  for CHECKPOINT in agent_checkpoints/secondary_*.json; do
    if [ ! -f "$CHECKPOINT" ]; then continue; fi
    AGENT_ID=$(jq -r '.agent_id' "$CHECKPOINT")
    LAST_CHECKPOINT=$(jq -r '.last_checkpoint' "$CHECKPOINT")
    LAST_TIMESTAMP=$(date -d "$LAST_CHECKPOINT" +%s)
    AGE_MINUTES=$(((NOW - LAST_TIMESTAMP) / 60))
    if [ $AGE_MINUTES -gt 60 ]; then echo "STALE $AGENT_ID"
    elif [ $AGE_MINUTES -gt 30 ]; then echo "WARNING $AGENT_ID"
    else echo "ACTIVE $AGENT_ID"; fi
  done
}
backup_checkpoint() {
  local BACKUP_DIR="agent_checkpoints/backups"
  mkdir -p "$BACKUP_DIR"
  cp "$1" "$BACKUP_DIR/$(basename $1 .json)_$(date +%Y%m%d_%H%M%S).json"
  ls -t "$BACKUP_DIR"/$(basename $1 .json)_*.json | tail -n +11 | xargs rm -f
}
restore_checkpoint() {
  local LATEST_BACKUP=$(ls -t agent_checkpoints/backups/$(basename $1 .json)_*.json | head -n 1)
  [ -f "$LATEST_BACKUP" ] && cp "$LATEST_BACKUP" "$1"
}
"""
# What these scripts need of jq, for a machine without it.
SMALL_JQ = f"""#!{sys.executable}
import json, sys
path, file = sys.argv[-2:]
value = json.load(open(file))
for name in path.removesuffix("[]").strip(".").split("."):
    value = value[name] if name else value
for each in value if path.endswith("[]") else [value]:
    print(each if isinstance(each, str) else json.dumps(each))
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Run a script of the document in a folder."""
    tools = tmp_path / "tools"
    tools.mkdir()
    if not shutil.which("jq"):
        (tools / "jq").write_text(SMALL_JQ, "utf-8")
        (tools / "jq").chmod(0o755)

    def run(script: str, at: Path) -> str:
        path = f"{tools}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", SCRIPTS + script],
            cwd=at,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def by_hand(scene: Scene) -> Scene:
    """Secondary-A's folder as its own shell made it, two hours ago; no command of Holdfast ever ran."""
    scene.now = clock.now()
    scene.later(-120).write("secondary_a", feature=FEATURE)
    scene.now = clock.now()
    return scene


def test_a_silent_shell_agent_is_named_wherever_a_person_looks(
    by_hand: Scene, holdfast: Holdfast
) -> None:
    before = by_hand.path().read_bytes()
    for words in (["status"], [], ["agent", "list"]):
        said = holdfast(*words).out
        assert A in said
        assert "holdfast agent resume Secondary-A" in said
        assert "All quiet" not in said
    checked = holdfast("agent", "check").out
    assert "❌ Secondary-A: STALE (120 min) - Likely crashed" in checked
    for verb in ("resume", "takeover", "restart", "defer", "absorb"):
        assert f"  holdfast agent {verb} Secondary-A" in checked
    assert "EPIC_README.md" not in checked, "there is none"
    assert by_hand.path().read_bytes() == before


def test_an_epic_in_a_folder_of_the_project_is_seen_as_well(
    scene: Scene, holdfast: Holdfast
) -> None:
    scene.now = clock.now()
    folder = scene.root / "feature-updates" / "KAI-7" / "agent_checkpoints"
    folder.mkdir(parents=True)
    shutil.move(scene.later(-120).write("secondary_a"), folder / "secondary_a.json")
    assert "Secondary-A is quiet" in holdfast("status").out


@pytest.mark.clause("FLEET-15", "FLEET-41", "FLEET-47")
def test_the_primary_s_own_script_sees_an_agent_wherever_it_began(
    scene: Scene, git: Git, holdfast: Holdfast, shell: Shell
) -> None:
    tree = scene.root.parent / "own"
    git("worktree", "add", "--quiet", str(tree), at=scene.root)
    holdfast("agent", "start", A, "--feature", FEATURE, "-C", str(tree))
    holdfast("agent", "start", PRIMARY, "--feature", "feature_01")
    (tree / "half.md").write_text("half a page\n", "utf-8")
    holdfast("agent", "beat", A, "--step", "Half", "-C", str(tree))
    assert shell("check_stale_agents", scene.root) == "ACTIVE Secondary-A"
    assert scene.file()["files_modified"] == ["half.md"], "what git says"
    copy = tree / "agent_checkpoints" / "secondary_a.json"
    assert copy.read_bytes() == scene.path().read_bytes()
    # An agent that may write nowhere else writes its copy, as the document says.
    copy.write_text(copy.read_text("utf-8").replace('"Half"', '"By hand"'), "utf-8")
    git("add", "half.md", at=tree)
    git("commit", "--quiet", "-m", "half", at=tree)
    holdfast("agent", "beat", A, "--done", "one", "-C", str(tree))
    assert scene.file()["current_step"] == "By hand"
    assert scene.file()["files_modified"] == [], "they were committed"
    # After a takeover the file of the successor is the one that the Primary reads.
    other = scene.root.parent / "other"
    git("worktree", "add", "--quiet", str(other), at=scene.root)
    holdfast("agent", "takeover", A, "--by", C, "--yes")
    holdfast("agent", "start", C, "-C", str(other))
    holdfast("agent", "beat", C, "--step", "Mine", "-C", str(other))
    assert shell("jq -r .current_step agent_checkpoints/secondary_c.json", scene.root) == "Mine"
    left = shell("ls agent_checkpoints", tree)
    assert left.startswith("secondary_a_crashed_"), "no stale copy stays"


@pytest.mark.clause("FLEET-77", "FLEET-80")
def test_the_document_s_backup_and_restore_work_on_our_file(
    scene: Scene, holdfast: Holdfast, shell: Shell
) -> None:
    holdfast("agent", "start", A, "--feature", FEATURE)
    holdfast("agent", "beat", A, "--step", "before")
    shell("backup_checkpoint agent_checkpoints/secondary_a.json", scene.root)
    scene.path().write_text("{ broken", "utf-8")
    shell("restore_checkpoint agent_checkpoints/secondary_a.json", scene.root)
    assert scene.file()["current_step"] == "before"
    assert holdfast("agent", "beat", A, "--step", "after").code == 0
    assert scene.file()["current_step"] == "after"


@pytest.mark.clause("FLEET-70", "FLEET-72")
@pytest.mark.parametrize("knows", ["file", "journal"])
def test_an_agent_that_was_archived_by_the_document_s_mv_is_taken_over_with_what_it_holds(
    scene: Scene, holdfast: Holdfast, shell: Shell, knows: str
) -> None:
    if knows == "journal":
        holdfast("agent", "start", A, "--feature", FEATURE)
        holdfast("agent", "beat", A, "--stage", "S2.P2", "--step", "Writing Acceptance Criteria")
    else:
        scene.write(
            "secondary_a", feature=FEATURE, stage="S2.P2", current_step="Writing Acceptance"
        )
    shell(
        "mv agent_checkpoints/secondary_a.json agent_checkpoints/secondary_a_crashed_$(date +%s).json",
        scene.root,
    )
    answer = holdfast("agent", "takeover", A, "--by", C)
    assert answer.code == 0, answer.err
    saved = scene.file("secondary_c")
    assert (saved["feature"], saved["stage"]) == (FEATURE, "S2.P2")
    assert saved["current_step"].startswith("Writing Acceptance")
    told = holdfast("agent", "handoff", C, "--from", A)
    assert "Checkpoint File: agent_checkpoints/secondary_a_crashed_" in told.out


def test_the_work_of_an_agent_that_was_archived_by_mv_is_brought_over(
    scene: Scene, git: Git, holdfast: Holdfast, shell: Shell
) -> None:
    old, new = (scene.root.parent / name for name in ("old", "new"))
    for root in (old, new):
        git("worktree", "add", "--quiet", str(root), at=scene.root)
    holdfast("agent", "start", PRIMARY, "--feature", "feature_01")
    holdfast("agent", "start", A, "--feature", FEATURE, "-C", str(old))
    (old / "half.md").write_text("half a page\n", "utf-8")
    holdfast("agent", "beat", A, "--step", "Writing half.md", "-C", str(old))
    shell(
        "mv agent_checkpoints/secondary_a.json agent_checkpoints/secondary_a_crashed_$(date +%s).json",
        scene.root,
    )
    told = holdfast("agent", "takeover", A, "--by", C, "-C", str(new)).out
    command = next(line for line in told.splitlines() if "snapshot restore" in line).split()
    assert holdfast(*command[1:], "-C", str(new)).code == 0
    assert (new / "half.md").read_text("utf-8") == "half a page\n"
    assert "Instructions: Resume from S2.P1: Writing half.md" in told, "not: no work done yet"
    again = holdfast("agent", "start", C, "-C", str(new))
    assert "holdfast agent resume Secondary-C" in again.err, "it is at work already"


def test_the_primary_s_start_brings_the_files_of_the_others_to_its_folder(
    scene: Scene, git: Git, holdfast: Holdfast
) -> None:
    tree = scene.root.parent / "own"
    git("worktree", "add", "--quiet", str(tree), at=scene.root)
    holdfast("agent", "start", A, "--feature", FEATURE, "-C", str(tree))
    early = holdfast("agent", "handoff", "Secondary-B", "--feature", "feature_03")
    assert "There is no Agent-Primary yet" in early.err
    holdfast("agent", "start", PRIMARY, "--feature", "feature_01")
    assert scene.file()["feature"] == FEATURE
    late = holdfast("agent", "handoff", "Secondary-B", "--feature", "feature_03")
    assert "There is no Agent-Primary" not in late.err


def test_work_that_is_brought_over_keeps_the_successor_s_files(
    scene: Scene, git: Git, holdfast: Holdfast
) -> None:
    old, new = (scene.root.parent / name for name in ("old", "new"))
    for root in (old, new):
        git("worktree", "add", "--quiet", str(root), at=scene.root)
    holdfast("agent", "start", A, "--feature", FEATURE, "-C", str(old))
    (old / "half.md").write_text("half a page\n", "utf-8")
    (old / "README.md").write_text("of the dead agent\n", "utf-8")
    holdfast("agent", "takeover", A, "--by", C, "--yes", "-C", str(new))
    (new / "mine.txt").write_text("mine\n", "utf-8")
    (new / "README.md").write_text("of the successor\n", "utf-8")
    told = holdfast("agent", "start", C, "-C", str(new)).out
    command = next(line for line in told.splitlines() if "snapshot restore" in line).split()
    answer = holdfast(*command[1:], "-C", str(new))
    assert answer.code == 0, answer.err
    assert (new / "half.md").read_text("utf-8") == "half a page\n"
    assert (new / "mine.txt").read_text("utf-8") == "mine\n"
    assert (new / "README.md").read_text("utf-8") == "of the successor\n"
    assert "README.md was changed here, too, and stays" in answer.err
    assert (new / "agent_checkpoints" / "secondary_c.json").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ["beat", A, "--stage", "S2.P1"],
        ["block", A, ""],
        ["resume", A],
        ["takeover", A, "--by", "Secondary-B"],
        ["takeover", A, "--by", C],
        ["start", C, "--feature", FEATURE],
        ["absorb", A],
        ["unblock", A, "nothing"],
        ["sync", A, "S9"],
    ],
)
def test_a_refused_command_writes_nothing(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_AGENT_PID", str(os.getppid()))
    scene.now = clock.now()
    holdfast("agent", "start", A, "--feature", FEATURE)
    holdfast("agent", "beat", A, "--stage", "S2.P2")
    holdfast("agent", "start", "Secondary-B", "--feature", "feature_03_other")
    monkeypatch.setenv("HOLDFAST_AGENT_PID", "1")
    edited = scene.path().read_text("utf-8").replace('"S2.P2"', '"S2.P3"')
    scene.path().write_text(edited.replace('"can_resume": true', '"can_resume": false'), "utf-8")
    held = {path: path.read_bytes() for path in scene.root.rglob("*agent_*/*") if path.is_file()}
    newest = scene.workspace.journal.latest(limit=1)[0]["seq"]
    assert holdfast("agent", *words).code != 0
    after = {path: path.read_bytes() for path in scene.root.rglob("*agent_*/*") if path.is_file()}
    assert after == held
    assert scene.workspace.journal.latest(limit=1)[0]["seq"] == newest


def test_an_epic_in_another_worktree_is_obeyed_or_refused(
    scene: Scene, git: Git, holdfast: Holdfast
) -> None:
    tree = scene.root.parent / "own"
    git("worktree", "add", "--quiet", str(tree), at=scene.root)
    holdfast("agent", "start", A, "--feature", FEATURE, "--epic", str(scene.root), "-C", str(tree))
    assert scene.path().is_file(), "the folder that was named"
    holdfast("agent", "beat", A, "--step", "there", "-C", str(tree))
    assert scene.file()["current_step"] == "there", "also without saying it again"
    holdfast("agent", "start", PRIMARY, "--feature", "f1")
    for words in (["list"], ["check"], ["send", A, "--subject", "hello"], ["beat", A]):
        refused = holdfast("agent", *words, "--epic", str(tree))
        assert refused.code == 5
        assert f"are in {scene.root}" in refused.err


def test_no_two_messages_of_a_file_carry_one_number(scene: Scene, holdfast: Holdfast) -> None:
    for subject in ("one", "two", "three"):
        holdfast("agent", "send", A, "--subject", subject)
    path = scene.root / "agent_comms" / "primary_to_secondary_a.md"
    whole = path.read_text("utf-8")
    kept, first = whole.split("## Message 1 ")[0], whole.index("## Message 3")
    path.write_text(kept, "utf-8")  # a person removed the oldest
    holdfast("agent", "send", A, "--subject", "four")
    stale = path.read_text("utf-8")
    holdfast("agent", "send", A, "--subject", "five")
    # A shell that had read the file before writes it back with a message of its own.
    added = f"{stale[:first]}## Message 5 (2026-01-15 15:00) ⏳ UNREAD\n**Subject:** by hand\n\n"
    path.write_text(added + stale[first:], "utf-8")
    holdfast("agent", "inbox", A)
    numbers = [
        int(line.split()[2]) for line in path.read_text("utf-8").splitlines() if "## Mes" in line
    ]
    assert len(set(numbers)) == len(numbers) == 6 - 1, numbers
    assert "five" in path.read_text("utf-8")


def test_nothing_of_an_upstream_project_s_file_is_lost(scene: Scene, holdfast: Holdfast) -> None:
    """Its real files carry keys and values that the document does not name."""
    scene.now = clock.now()
    path = scene.write(
        "secondary_a",
        feature=FEATURE,
        status="PAUSED",
        next_checkpoint_expected="PAUSED",
        ready_for_sync=False,
        previous_agent="Secondary-Z",
    )
    before = path.read_bytes()
    assert holdfast("agent", "list").code == 0
    assert path.read_bytes() == before
    assert holdfast("agent", "resume", A).code == 0
    saved = json.loads(path.read_text("utf-8"))
    assert saved["previous_agent"] == "Secondary-Z"
    assert saved["ready_for_sync"] is False
    assert saved["completed_steps"] == ["S2.P1 complete (Research Phase)"]


MV = "mv agent_checkpoints/secondary_a.json agent_checkpoints/secondary_a_crashed_$(date +%s).json"


@pytest.mark.clause("FLEET-70")
@pytest.mark.parametrize("knows", ["file", "journal", "copy"])
def test_a_list_proposes_to_take_over_what_the_document_s_mv_archived(
    scene: Scene, git: Git, holdfast: Holdfast, shell: Shell, knows: str
) -> None:
    """Where the agent's own worktree still has its copy, too: nothing brings the archived file back."""
    scene.now = clock.now()
    tree = scene.root.parent / "own"
    holdfast("agent", "start", PRIMARY, "--feature", "feature_01")
    if knows == "journal":
        holdfast("agent", "start", A, "--feature", FEATURE)
    else:
        scene.later(-120).write("secondary_a", feature=FEATURE)
    if knows == "copy":
        git("worktree", "add", "--quiet", str(tree), at=scene.root)
        shutil.copytree(scene.path().parent, tree / "agent_checkpoints")
        (tree / "half.md").write_text("half a page\n", "utf-8")
    shell(MV, scene.root)
    said = holdfast("agent", "list").out
    assert "holdfast agent takeover Secondary-A --by NEW" in said
    assert "agent resume" not in said
    answer = holdfast("agent", "takeover", A, "--by", C)
    assert answer.code == 0, answer.err
    assert (scene.file("secondary_c")["feature"], scene.path().exists()) == (FEATURE, False)
    listed = holdfast("agent", "list").out
    assert C in listed
    assert A not in listed
    if knows == "copy":
        assert "secondary_a_crashed_" in shell("ls agent_checkpoints", tree)
        assert "secondary_a.json" not in shell("ls agent_checkpoints", tree)
        command = next(one for one in answer.out.splitlines() if "snapshot restore" in one).split()
        assert holdfast(*command[1:]).code == 0
        assert (scene.root / "half.md").read_text("utf-8") == "half a page\n"


def test_a_successor_that_wrote_its_own_file_after_the_mv_resumes(
    scene: Scene, holdfast: Holdfast, shell: Shell
) -> None:
    holdfast("agent", "start", A, "--feature", FEATURE)
    shell(MV, scene.root)
    scene.now = clock.now()
    scene.write("secondary_c", agent_id=C, feature=FEATURE)
    answer = holdfast("agent", "resume", C, "--yes")
    assert answer.code == 0, answer.err
    assert holdfast("agent", "beat", C, "--step", "Mine").code == 0


def test_a_file_whose_removal_was_committed_is_modified_no_more(
    scene: Scene, git: Git, holdfast: Holdfast
) -> None:
    (scene.root / "old.md").write_text("old\n", "utf-8")
    git("add", "old.md", at=scene.root)
    git("commit", "--quiet", "-m", "old", at=scene.root)
    holdfast("agent", "start", A, "--feature", FEATURE)
    (scene.root / "old.md").unlink()
    holdfast("agent", "beat", A, "--step", "Remove it", "--file", "ignored/by/git.md")
    assert scene.file()["files_modified"] == ["ignored/by/git.md", "old.md"]
    git("commit", "--quiet", "--all", "-m", "without it", at=scene.root)
    holdfast("agent", "beat", A, "--step", "Removed")
    assert scene.file()["files_modified"] == ["ignored/by/git.md"], "what was said stays"
