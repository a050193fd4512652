"""What a stranger found: five agents in five worktrees, hands on every file."""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.fleet import recovery
from holdfast.fleet import sync as sync_points
from holdfast.fleet.context import AgentResult
from holdfast.fleet.sync import sync
from holdfast.kernel import clock, latch
from holdfast.kernel.errors import Conflict, HoldfastError
from holdfast.kernel.plain_file import write_synced
from holdfast.kernel.workspace import discover
from tests import warm
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.fleet.world import FEATURE, PRIMARY, A, B, C, Scene
from tests.gates.person import does


@pytest.fixture
def other(scene: Scene, git: Git) -> Scene:
    """A second worktree."""
    root = scene.root.parent / "other"
    git("worktree", "add", "--quiet", str(root), at=scene.root)
    return Scene(root)


def test_messages_reach_their_reader_in_another_worktree(
    scene: Scene, other: Scene, holdfast: Holdfast
) -> None:
    scene.start(PRIMARY, "feature_01")
    other.start(A)
    assert "STARTED - feature_02_team_penalty" in holdfast("agent", "inbox", PRIMARY).out
    holdfast("agent", "send", A, "--subject", "one")
    answer = holdfast("agent", "inbox", A, "-C", str(other.root))
    assert "one" in answer.out
    holdfast("agent", "send", PRIMARY, "--from", A, "--subject", "urgent", "-C", str(other.root))
    assert "urgent" in holdfast("agent", "inbox", PRIMARY, "--unread").out


def test_an_inbox_that_is_missing_is_made_and_then_read(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    holdfast("agent", "send", A, "--subject", "one")
    (scene.folder / "agent_comms" / "primary_to_secondary_a.md").unlink()
    assert "one" in holdfast("agent", "inbox", A).out


def test_a_message_to_nobody_is_said_to_wait(scene: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("agent", "send", "Secondary-Z", "--subject", "one")
    assert answer.code == 0
    assert "has begun yet" in answer.err


def test_the_files_of_a_life_are_where_it_began(scene: Scene, other: Scene) -> None:
    scene.start(A)
    other.takeover(A, C)
    assert other.file("secondary_c")["feature"] == FEATURE
    assert scene.names() == [f"secondary_a_crashed_{scene.now // 1000}.json"]
    scene.resume(C, yes=True)
    scene.beat(C, current_step="Here now")
    assert scene.file("secondary_c")["current_step"] == "Here now"


def test_a_stop_that_cannot_be_written_centrally_holds_in_every_worktree(
    scene: Scene, other: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = scene.workspace.home
    os.makedirs(home, exist_ok=True)

    def refuse_home(path: str, content: bytes) -> None:
        if path.startswith(home):
            raise PermissionError(13, "Permission denied")
        write_synced(path, content)

    monkeypatch.setattr(latch, "write_synced", refuse_home)
    assert holdfast("estop", "--reason", "budget").code == 0
    assert latch.read(discover(str(other.root))) is not None
    assert "Released" in does("release", "-C", str(other.root)).screen
    assert latch.read(scene.workspace) is None


def test_a_stop_is_the_answer_though_the_journal_is_damaged(
    scene: Scene, holdfast: Holdfast
) -> None:
    scene.start()
    scene.workspace.close()
    holdfast("estop", "--reason", "out")
    journal = Path(discover().journal_path)
    for ending in ("-wal", "-shm"):
        Path(f"{journal}{ending}").unlink(missing_ok=True)
    journal.write_bytes(b"junk" * 3000)
    assert holdfast("agent", "beat", A).code == 7


def test_nothing_begins_under_a_stop(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("estop", "--reason", "out")
    assert holdfast("agent", "start", A, "--feature", FEATURE).code == 7
    assert not (scene.folder / "agent_checkpoints").exists()
    assert "STOPPED: out" in holdfast("agent", "list").out


def test_who_waits_at_a_sync_point_hears_a_stop(scene: Scene, holdfast: Holdfast) -> None:
    scene.start(A)
    scene.start(B, "feature_03")
    words = [sys.executable, "-m", "holdfast", "agent", "sync", A, "S2-S3", "--wait"]
    with warm.start(words, cwd=scene.root, stderr=warm.PIPE) as waiting:
        deadline = time.monotonic() + 30
        while scene.file()["status"] != "WAITING" and time.monotonic() < deadline:
            time.sleep(0.02)
        holdfast("estop", "--reason", "out")
        assert waiting.wait(30) == 7


def test_who_waits_at_a_sync_point_goes_on_when_the_last_agent_arrives(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record wakes it: it would look by itself after five minutes."""
    monkeypatch.setattr(sync_points, "PAUSE", 300.0)
    scene.now = clock.now()
    scene.start(A)
    scene.start(B, "feature_03")

    def wait() -> AgentResult:
        context = Scene(scene.root).context()
        return sync(context, A, point="S2-S3", wait=True)

    with ThreadPoolExecutor(1) as first:
        waiting = first.submit(wait)
        while scene.file()["status"] != "WAITING" and not waiting.done():
            time.sleep(0.01)
        assert not waiting.done()
        last = sync(scene.context(), B, point="S2-S3").sync
        assert last is not None
        assert last["state"] == "COMPLETE"
        assert waiting.result(60).lines[-1] == "Sync S2-S3 complete"


def test_a_redacted_reason(scene: Scene, holdfast: Holdfast) -> None:
    secret = "ghp_" + "a1B2" * 9
    answer = holdfast("estop", "--reason", f"Leaked {secret}")
    stopped = latch.read(scene.workspace)
    assert stopped is not None
    assert secret not in stopped["reason"] + answer.out + holdfast("status").out


@pytest.mark.parametrize("content", ["{}", '{"agent_id": 5}', '{"feature": "", "stage": 7}'])
def test_a_file_that_is_json_and_not_much_else_stops_nobody(scene: Scene, content: str) -> None:
    scene.start()
    scene.beat(current_step="One")
    scene.path().write_text(content)
    scene.later(1).update(completed_steps=["Two"])
    saved = scene.file()
    assert (saved["feature"], saved["completed_steps"][-1]) == (FEATURE, "Two")
    scene.later(1).beat(current_step="Three")
    assert scene.file()["current_step"] == "Three"


def test_a_stranger_s_file_without_a_feature_is_resumed_with_one(
    scene: Scene, holdfast: Holdfast
) -> None:
    path = scene.write("secondary_b")
    content = json.loads(path.read_text())
    del content["feature"]
    path.write_text(json.dumps(content))
    assert holdfast("agent", "resume", B).code == 2
    assert holdfast("agent", "resume", B, "--feature", "feature_03").code == 0
    assert scene.file("secondary_b")["feature"] == "feature_03"


@pytest.mark.parametrize("text", ["OLD\n", "", "STAGE: S2.P1\nSTATUS: BLOCKED\n"])
def test_a_feature_that_has_a_status_file_already(scene: Scene, text: str) -> None:
    (scene.folder / FEATURE).mkdir()
    (scene.folder / FEATURE / "STATUS").write_text(text)
    scene.start()
    assert scene.file()["status"] == "IN_PROGRESS"
    assert f"AGENT: {A}" in (scene.folder / FEATURE / "STATUS").read_text()
    kept = scene.workspace.journal.read("agent:secondary_a")
    assert not text or text in [record["body"].get("said") for record in kept]


def test_a_broken_file_costs_no_step_that_was_done(scene: Scene) -> None:
    scene.start()
    for number in range(4):
        scene.later(1).update(completed_steps=[f"step {number}"])
    scene.path().write_text('{"half":')
    scene.later(1).update(completed_steps=["step 4"])
    assert scene.file()["completed_steps"][-5:] == [f"step {number}" for number in range(5)]


def test_an_older_file_that_git_brings_back_is_no_news(scene: Scene, git: Git) -> None:
    scene.start()
    git("add", "agent_checkpoints", at=scene.root)
    git("commit", "--quiet", "--message", "checkpoints", at=scene.root)
    scene.later(5).update(set={"current_step": "Later"}, completed_steps=["step 7"])
    git("checkout", "--", "agent_checkpoints", at=scene.root)
    scene.later(5).update(completed_steps=["step 8"])
    saved = scene.file()
    assert saved["completed_steps"][-2:] == ["step 7", "step 8"]
    assert saved["current_step"] == "Later"


def test_a_script_that_writes_what_it_read_before_loses_no_step(scene: Scene) -> None:
    scene.start()
    read = scene.file()
    scene.update(completed_steps=["By holdfast"])
    scene.path().write_text(json.dumps({**read, "mood": "good"}))
    scene.update(completed_steps=["After"])
    saved = scene.file()
    assert saved["completed_steps"][-2:] == ["By holdfast", "After"]
    assert saved["mood"] == "good"


def test_a_shell_s_agent_in_another_worktree_is_a_member_here(scene: Scene, other: Scene) -> None:
    other.write("secondary_b")
    with pytest.raises(Conflict):
        scene.start(C, "feature_03_other")
    scene.takeover(B, C)
    assert scene.file("secondary_c")["feature"] == "feature_03_other"
    assert other.names() == [f"secondary_b_crashed_{scene.now // 1000}.json"]


def test_two_files_with_one_feature_are_noted(scene: Scene) -> None:
    scene.write("secondary_b")
    scene.write("secondary_c", agent_id=A)
    notes = {agent: entry["notes"] for agent, entry in scene.listing().items()}
    assert f"{C} has the same feature" in notes[B]
    assert f"its file names {A}" in notes[C]


def test_one_that_was_taken_over_is_not_restored(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    scene.beat()
    scene.takeover(A, C)
    answer = holdfast("agent", "restore", A)
    assert (answer.code, "was taken over by Secondary-C" in answer.err) == (5, True)
    assert list(scene.listing()) == [C]
    assert "was taken over by" in holdfast("agent", "resume", A).err


def test_a_life_that_its_worktree_cannot_remember(scene: Scene, holdfast: Holdfast) -> None:
    Path(scene.workspace.prepare_private(), "lives").write_text("", "utf-8")
    os.mkfifo(Path(scene.workspace.prepare_tool_folder(), "lives"))
    answer = holdfast("agent", "start", A, "--feature", FEATURE)
    assert answer.code == 0
    assert "say --fence 1" in answer.err
    assert holdfast("agent", "beat", A, "--fence", "1").code == 0


@pytest.mark.parametrize("fence", ["99999999999999999999999", "-1"])
def test_a_number_that_is_no_fence(scene: Scene, holdfast: Holdfast, fence: str) -> None:
    scene.start()
    assert holdfast("agent", "beat", A, f"--fence={fence}").code == 2


@pytest.mark.parametrize("fence", ["rubbish", "-3", "99999999999999999999999"])
def test_a_variable_that_is_no_fence(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, fence: str
) -> None:
    scene.start()
    monkeypatch.setenv("HOLDFAST_FENCE", fence)
    assert holdfast("agent", "beat", A).code == 2


def test_a_package_in_another_spelling(scene: Scene, holdfast: Holdfast, tmp_path: Path) -> None:
    text = holdfast("agent", "handoff", A, "--feature", FEATURE).out
    package = tmp_path / "package.txt"
    package.write_bytes(b"\x00\x01\x02\xff")
    assert holdfast("agent", "start", "--handoff", str(package)).code == 2
    package.write_bytes(text.encode("utf-16"))
    assert holdfast("agent", "start", B, "--handoff", str(package)).code == 2
    assert holdfast("agent", "start", "--handoff", str(package)).code == 0


def test_the_primary_does_not_absorb_itself(scene: Scene) -> None:
    scene.start(PRIMARY, "feature_01")
    with pytest.raises(HoldfastError) as refused:
        recovery.absorb(scene.context(), PRIMARY, yes=True)
    assert refused.value.exit_code == 2


def test_a_deferred_feature_goes_on_from_its_archive(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    scene.beat(stage="S2.P2", current_step="Half way")
    recovery.defer(scene.context(), A, yes=True)
    archive = f"agent_checkpoints/{scene.names()[0]}"
    assert holdfast("agent", "start", B, "--feature", FEATURE, "--from", archive).code == 0
    saved = scene.file("secondary_b")
    assert (saved["stage"], saved["current_step"]) == ("S2.P2", "Half way")
    assert holdfast("agent", "start", C, "--feature", "f", "--from", "nowhere.json").code == 3


def test_what_is_complete_is_not_taken_over(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    holdfast("agent", "complete", A)
    assert scene.file()["recovery_instructions"] == "S2 is complete. Nothing is left to resume."
    answer = holdfast("agent", "takeover", A, "--by", C, "--yes")
    assert (answer.code, "is complete" in answer.err) == (1, True)
    assert holdfast("agent", "beat", A, "--status", "BLOCKED").code == 0


def test_a_heartbeat_does_not_complete(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    assert holdfast("agent", "beat", A, "--status", "COMPLETE").code == 2
    for words in (["--next", ""], ["--done", " "], ["--file", ""]):
        assert holdfast("agent", "beat", A, *words).code == 2
    assert holdfast("agent", "block", A, "").code == 2


def test_the_readme_tells_of_blocks_and_endings_and_is_tried_again(
    scene: Scene, holdfast: Holdfast
) -> None:
    readme = scene.folder / "EPIC_README.md"
    readme.write_text("# Epic\n")
    holdfast("agent", "start", A, "--feature", FEATURE)
    holdfast("agent", "block", A, "No data \x1b[31mhere")
    assert "**Status:** BLOCKED" in readme.read_text()
    assert "\x1b" not in readme.read_text()
    holdfast("agent", "takeover", A, "--by", C, "--yes")
    assert "**Status:** taken over by Secondary-C" in readme.read_text()
    assert "**Status:** BLOCKED" not in readme.read_text().split("SECONDARY-A")[1]


def test_a_path_is_from_the_epic_wherever_it_is_said(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start()
    deep = scene.root / "sub" / "deep"
    deep.mkdir(parents=True)
    (deep / "f.txt").write_text("x")
    monkeypatch.chdir(deep)
    assert holdfast("agent", "beat", A, "--file", "f.txt", "--file", "not/there.md").code == 0
    assert scene.file()["files_modified"] == ["sub/deep/f.txt", "not/there.md"]


def test_an_epic_is_from_the_folder_that_is_named(
    scene: Scene, other: Scene, holdfast: Holdfast
) -> None:
    for worktree in (scene, other):
        (worktree.root / "epics").mkdir()
    words = ("agent", "start", A, "--feature", FEATURE, "--epic", "epics", "-C", str(other.root))
    assert holdfast(*words).code == 0
    assert (other.root / "epics" / "agent_checkpoints" / "secondary_a.json").is_file()


def test_a_setting_that_is_true_or_false(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_FLEET_INCLUSIVE", "true")
    assert holdfast("agent", "list").code == 0
    monkeypatch.setenv("HOLDFAST_FLEET_INCLUSIVE", "perhaps")
    assert holdfast("agent", "list").code == 1
