"""The three scenarios after a crash, and the two other ways out."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.fleet import recovery
from holdfast.fleet.context import FleetAgent
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, NotFound
from tests import warm
from tests.cli.conftest import Holdfast
from tests.fleet.world import FEATURE, PRIMARY, A, B, C, Scene

if TYPE_CHECKING:
    from holdfast.kernel.commit import Order, Outcome


@pytest.fixture
def crashed(scene: Scene) -> Scene:
    """An agent that worked for 45 minutes and fell silent 45 minutes ago."""
    scene.start()
    (scene.root / "README.md").write_text("changed\n", "utf-8")
    scene.later(15).update(
        set={
            "stage": "S2.P2",
            "phase": "Specification - In Progress",
            "current_step": "Writing Acceptance Criteria in spec.md",
            "next_steps": ["Complete Acceptance Criteria section", "Finish checklist.md questions"],
            "recovery_instructions": "spec.md is 80% complete.",
        },
        completed_steps=["S2.P1 complete"],
        files_modified=["README.md", "gone.md"],
        file_notes={"README.md": "80% complete"},
    )
    scene.later(30).beat()
    return scene.later(45)


# Scenario 1


@pytest.mark.clause("FLEET-59", "FLEET-60", "FLEET-61", "FLEET-62", "FLEET-63")
def test_the_same_agent_resumes(crashed: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("agent", "resume", A)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[:6] == [
        "Found existing checkpoint, resuming...",
        "Resuming from: S2.P2",
        "Instructions: spec.md is 80% complete.",
        "Modified files: README.md",
        "gone.md",
        "Reading README.md...",
    ]
    assert lines[6].startswith("Reading gone.md...")
    assert lines[6] != "Reading gone.md..."  # it is missing, which is said and no error
    # The plan, in this order: the instructions, the step at hand, the next steps.
    said = [
        answer.out.index(part)
        for part in ("spec.md is 80%", "Writing Acc", "Complete Acc", "Finish check")
    ]
    assert said == sorted(said)


@pytest.mark.clause("FLEET-64")
def test_a_resumed_agent_keeps_its_place(crashed: Scene) -> None:
    before = crashed.file()
    crashed.update(do="block", blocker="Something")
    told = crashed.resume()
    after = crashed.file()
    assert after["session_id"] == told.session != before["session_id"]
    for name in ("stage", "feature", "agent_id", "current_step", "next_steps"):
        assert after[name] == before[name]
    assert after["status"] == "IN_PROGRESS"
    assert told.fence > 1


@pytest.mark.clause("FLEET-65")
def test_the_resume_message(crashed: Scene) -> None:
    assert crashed.resume().lines[-1].strip() == (
        "✅ Checkpoint found! Resuming work...\n\n"
        "**Previous Session:**\n"
        "- Stage: S2.P2 (Specification)\n"
        "- Last Update: 15:15 (45 minutes ago)\n"
        "- Status: IN_PROGRESS\n\n"
        "**Current State:**\n"
        "- README.md: 80% complete\n"
        "- gone.md: modified\n\n"
        "**Resuming from:** Writing Acceptance Criteria in spec.md\n\n"
        "**Next Steps:**\n"
        "1. Complete Acceptance Criteria section\n"
        "2. Finish checklist.md questions\n\n"
        "I'll continue where I left off..."
    )


@pytest.mark.clause("FLEET-89")
def test_a_checkpoint_that_is_too_old_is_said(crashed: Scene) -> None:
    assert crashed.later(15).resume().warnings == []
    crashed.later(61)
    assert crashed.resume().warnings[:2] == [
        "ERROR: Checkpoint is 61 minutes old",
        "Agent likely crashed. Requires recovery procedure.",
    ]


@pytest.mark.clause("AMB-FLEET-19")
def test_what_cannot_be_resumed_is_refused(crashed: Scene) -> None:
    crashed.beat(can_resume=False)
    with pytest.raises(Conflict) as refused:
        crashed.resume()
    assert refused.value.kind == "cannot_resume"
    assert "restart" in refused.value.hint


@pytest.mark.clause("AMB-FLEET-22", "FLEET-87")
def test_resume_without_a_checkpoint_makes_a_fresh_one(scene: Scene) -> None:
    with pytest.raises(NotFound):
        scene.resume()
    told = scene.resume(feature=FEATURE)
    assert told.lines[:2] == [
        "WARNING: Checkpoint file missing",
        "Creating fresh checkpoint from current state...",
    ]
    assert scene.file()["stage"] == "S2.P1"


def test_resume_after_the_file_was_deleted_goes_on_from_the_journal(crashed: Scene) -> None:
    crashed.path().unlink()
    told = crashed.resume()
    assert told.lines[0] == "WARNING: Checkpoint file missing"
    assert crashed.file()["current_step"] == "Writing Acceptance Criteria in spec.md"


def test_resume_of_an_agent_whose_program_runs_needs_a_word(
    crashed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        monkeypatch.setenv("HOLDFAST_AGENT_PID", str(other.pid))
        crashed.resume()
        monkeypatch.delenv("HOLDFAST_AGENT_PID")
        (crashed.root / ".git" / "holdfast" / "worktree" / "lives").rename(
            crashed.root / "elsewhere"
        )
        with pytest.raises(Conflict) as refused:
            crashed.resume()
        assert refused.value.kind == "agent_lives"
        assert str(other.pid) in refused.value.message
        crashed.resume(yes=True)
        other.send_signal(signal.SIGKILL)


# Scenario 2


@pytest.mark.clause("FLEET-66", "FLEET-69", "FLEET-70", "FLEET-71", "FLEET-72", "AMB-FLEET-16")
def test_another_agent_takes_over(crashed: Scene) -> None:
    before = crashed.path().read_bytes()
    told = crashed.takeover(A, C)
    assert crashed.names() == [
        f"secondary_a_crashed_{crashed.now // 1000}.json",
        "secondary_c.json",
    ]
    archive = crashed.path(f"secondary_a_crashed_{crashed.now // 1000}")
    assert archive.read_bytes() == before
    old, new = json.loads(before), crashed.file("secondary_c")
    assert new["agent_id"] == C
    assert new["session_id"] == told.session != old["session_id"]
    for name in ("feature", "stage", "recovery_instructions", "current_step", "next_steps"):
        assert new[name] == old[name]
    assert told.lines[:3] == [
        "Found existing checkpoint, resuming...",
        "Resuming from: S2.P2",
        "Instructions: spec.md is 80% complete.",
    ]
    assert "I'll continue where I left off..." in told.lines[-1]
    crashed.beat(C, current_step="Going on")


@pytest.mark.clause("FLEET-71", "AMB-FLEET-17")
def test_a_takeover_may_keep_the_id(crashed: Scene) -> None:
    before = crashed.path().read_bytes()
    first = crashed.agent().caller()
    told = crashed.takeover(A, A)
    archive = crashed.path(f"secondary_a_crashed_{crashed.now // 1000}")
    assert archive.read_bytes() == before
    assert crashed.file()["session_id"] == told.session
    assert crashed.file()["stage"] == "S2.P2"
    crashed.beat(current_step="The new life")
    assert first is not None
    with pytest.raises(FenceLost):
        crashed.update(fence=first["fence"], set={"current_step": "The old life"})
    assert crashed.file()["current_step"] == "The new life"


@pytest.mark.clause("FLEET-70")
def test_an_archive_keeps_every_byte(crashed: Scene) -> None:
    content = {**crashed.file(), "extra": "kept"}
    odd = json.dumps(content, indent=7).replace("\n", "\r\n").encode()
    crashed.path().write_bytes(odd)
    crashed.takeover(A, C)
    assert crashed.path(f"secondary_a_crashed_{crashed.now // 1000}").read_bytes() == odd
    assert crashed.file("secondary_c")["extra"] == "kept"


@pytest.mark.clause("FLEET-67", "FLEET-68")
def test_the_package_for_the_one_who_takes_over(crashed: Scene, holdfast: Holdfast) -> None:
    text = holdfast("agent", "handoff", C, "--from", A).out
    assert (
        f"I'm taking over {FEATURE} from crashed {A}.\n\n"
        "Checkpoint File: agent_checkpoints/secondary_a.json\n"
        "Resume from: S2.P2 Specification Phase\n"
    ) in text
    assert "Resuming work from crashed agent" in text
    assert f"My Assignment: {FEATURE}" in text
    crashed.takeover(A, C)
    after = holdfast("agent", "handoff", C, "--from", A).out
    assert re.search(r"Checkpoint File: agent_checkpoints/secondary_a_crashed_\d+\.json", after)
    assert holdfast("agent", "handoff", B, "--from", A).code == 3


def test_what_an_old_life_tries_is_refused_and_kept(crashed: Scene, holdfast: Holdfast) -> None:
    crashed.takeover(A, C)
    answer = holdfast("agent", "beat", A, "--step", "Unsaved words")
    assert answer.code == 5
    assert f"taken over by {C}" in answer.err
    assert crashed.names() == [
        f"secondary_a_crashed_{crashed.now // 1000}.json",
        "secondary_c.json",
    ]
    (kept,) = crashed.workspace.journal.refusals("agent:secondary_a")
    assert "Unsaved words" in json.dumps(kept["drafts"])


def test_a_late_done_does_not_touch_the_new_life(crashed: Scene) -> None:
    old = crashed.agent().caller()
    crashed.takeover(A, A)
    assert old is not None
    with pytest.raises(FenceLost):
        crashed.update(do="complete", fence=old["fence"])
    assert crashed.file()["status"] == "IN_PROGRESS"


def test_a_late_write_to_the_file_itself_does_not_touch_the_new_life(crashed: Scene) -> None:
    old = crashed.path().read_text()
    crashed.takeover(A, A)
    crashed.path().write_text(old.replace("80% complete", "99% complete"))
    assert crashed.listing()[A]["notes"] == ["an earlier life wrote its file"]
    crashed.beat(current_step="The new life")
    assert crashed.file()["current_step"] == "The new life"
    assert "80%" in crashed.file()["recovery_instructions"]
    late = [r for r in crashed.workspace.journal.read("agent:secondary_a") if r["kind"] == "late"]
    assert "99% complete" in late[0]["body"]["text"]


def test_a_late_write_to_an_archived_place_does_not_raise_the_dead(crashed: Scene) -> None:
    old = crashed.path().read_text()
    crashed.takeover(A, C)
    crashed.path().write_text(old)
    assert A not in crashed.listing()
    crashed.check()
    assert crashed.file("secondary_c")["agent_id"] == C


def test_pausing_and_going_on_is_the_same_life(crashed: Scene) -> None:
    fence = crashed.listing()[A]["fence"]
    crashed.later(9 * 60).beat(current_step="After the night")
    assert crashed.listing()[A]["fence"] == fence
    assert crashed.listing()[A]["liveness"] == "ACTIVE"


@pytest.mark.parametrize(
    ("act", "given"), [(recovery.takeover, {"by": C}), (recovery.defer, {}), (recovery.absorb, {})]
)
def test_a_clock_alone_replaces_nobody(
    crashed: Scene, act: Callable[..., Any], given: dict[str, str]
) -> None:
    crashed.later(120)
    with pytest.raises(HoldfastError) as refused:
        act(crashed.context(), A, **given)
    assert refused.value.kind == "not_known_dead"
    assert refused.value.exit_code == 1
    assert crashed.names() == ["secondary_a.json"]


def test_two_signals_suffice(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        monkeypatch.setenv("HOLDFAST_AGENT_PID", str(process.pid))
        scene.start()
        monkeypatch.delenv("HOLDFAST_AGENT_PID")
        process.kill()
    scene.now = _tomorrow()
    assert scene.listing()[A]["verdict"] == "dead"
    scene.takeover(A, C, yes=False)
    assert scene.file("secondary_c")["feature"] == FEATURE


def _tomorrow() -> int:
    """When what the test itself writes has not changed for long, either."""
    from holdfast.kernel import clock

    return clock.now() + clock.DAY


def test_a_heartbeat_during_a_takeover_saves_the_agent(
    crashed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = FleetAgent.commit

    def after_a_heartbeat(agent: FleetAgent, orders: list[Order], **options: Any) -> list[Outcome]:
        with monkeypatch.context() as patch:
            patch.setattr(FleetAgent, "commit", write)
            crashed.later(1).beat(current_step="I live")
        return write(agent, orders, **options)

    monkeypatch.setattr(FleetAgent, "commit", after_a_heartbeat)
    with pytest.raises(Conflict) as refused:
        recovery.defer(crashed.context(), A, yes=True)
    assert refused.value.kind == "agent_lives"
    assert crashed.names() == ["secondary_a.json"]


# Scenario 3


@pytest.mark.clause("FLEET-73", "AMB-FLEET-12")
@pytest.mark.parametrize(("minutes", "allowed"), [(29 + 59 / 60, True), (30, False)])
def test_little_work_may_be_restarted(scene: Scene, minutes: float, allowed: bool) -> None:
    scene.start()
    scene.later(minutes).beat(current_step="Worked")
    if allowed:
        scene.restart()
        assert scene.file()["current_step"] == "Reading S2.P1 guide"
    else:
        with pytest.raises(HoldfastError) as refused:
            scene.restart()
        assert refused.value.kind == "much_work"
        scene.restart(yes=True)


@pytest.mark.clause("FLEET-74", "FLEET-76")
def test_a_restart_begins_at_the_beginning(crashed: Scene) -> None:
    before = crashed.path().read_bytes()
    told = crashed.restart(yes=True)
    archive = crashed.path(f"secondary_a_aborted_{crashed.now // 1000}")
    assert archive.read_bytes() == before
    saved = crashed.file()
    assert (saved["stage"], saved["phase"]) == ("S2.P1", "Research Phase - Starting")
    assert saved["completed_steps"][-1] == "Created checkpoint file"
    assert saved["session_id"] == told.session
    assert told.lines[-1] == "Initial checkpoint created"


@pytest.mark.clause("FLEET-75")
def test_the_package_after_a_restart_is_the_first_one(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    first = holdfast("agent", "handoff", A).out
    scene.later(45).update(set={"stage": "S2.P2", "phase": "Specification - In Progress"})
    assert "Resume S2.P2 now." in holdfast("agent", "handoff", A).out
    scene.restart(yes=True)
    again = holdfast("agent", "handoff", A).out
    assert again == first
    assert "crashed" not in again
    assert "Checkpoint File:" not in again


@pytest.mark.clause("FLEET-73", "FLEET-74", "AMB-FLEET-11")
def test_a_broken_checkpoint_may_be_restarted(crashed: Scene) -> None:
    crashed.path().write_bytes(b"\xff not JSON")
    crashed.restart()
    archive = crashed.path(f"secondary_a_aborted_{crashed.now // 1000}")
    assert archive.read_bytes() == b"\xff not JSON"
    assert crashed.file()["feature"] == FEATURE


def test_a_broken_checkpoint_of_a_stranger_may_be_restarted(scene: Scene) -> None:
    scene.path("secondary_b").parent.mkdir()
    scene.path("secondary_b").write_text("{")
    with pytest.raises(HoldfastError):
        scene.restart(B)
    scene.restart(B, feature=FEATURE)
    assert scene.path(f"secondary_b_aborted_{scene.now // 1000}").read_text() == "{"
    assert scene.file("secondary_b")["feature"] == FEATURE


def test_two_restarts_in_one_second_keep_both_archives(scene: Scene) -> None:
    scene.start()
    scene.restart()
    scene.restart()
    second = scene.now // 1000
    assert scene.names() == [
        "secondary_a.json",
        f"secondary_a_aborted_{second}.json",
        f"secondary_a_aborted_{second + 1}.json",
    ]


# The other ways out


@pytest.mark.clause("FLEET-49", "AMB-FLEET-15")
def test_a_feature_is_deferred_to_wave_2(crashed: Scene) -> None:
    (crashed.folder / "EPIC_README.md").write_text("# Epic\n")
    recovery.defer(crashed.context(), A, yes=True)
    assert crashed.names() == [f"secondary_a_crashed_{crashed.now // 1000}.json"]
    state = _feature(crashed)
    assert (state["wave"], state["decision"], state["owner"]) == (2, "defer_wave_2", "")
    crashed.start(B)  # in Wave 2, somebody begins


@pytest.mark.clause("FLEET-49", "AMB-FLEET-15")
def test_the_primary_absorbs_a_feature(crashed: Scene) -> None:
    crashed.start(PRIMARY, "feature_01_player_json")
    told = recovery.absorb(crashed.context(), A, yes=True)
    state = _feature(crashed)
    assert (state["owner"], state["decision"]) == (PRIMARY, "primary_absorbs")
    assert crashed.file("primary")["feature"] == "feature_01_player_json"
    archive = f"agent_checkpoints/secondary_a_crashed_{crashed.now // 1000}.json"
    assert crashed.file("primary")["next_steps"][-1] == f"Resume {FEATURE} from {archive}"
    assert "Step: Writing Acceptance Criteria in spec.md" in told.lines


@pytest.mark.clause("FLEET-58", "AMB-FLEET-15")
@pytest.mark.parametrize(
    ("words", "decision"),
    [
        (["resume", A, "--yes"], "resume"),
        (["takeover", A, "--by", C, "--yes"], "reassign"),
        (["restart", A, "--yes"], "restart"),
        (["defer", A, "--yes"], "defer_wave_2"),
        (["absorb", A, "--yes"], "primary_absorbs"),
    ],
)
def test_every_decision_is_recorded(
    crashed: Scene, holdfast: Holdfast, words: list[str], decision: str
) -> None:
    assert holdfast("agent", *words).code == 0
    assert _feature(crashed)["decision"] == decision


def test_a_takeover_that_dies_is_whole_after_the_next_command(crashed: Scene) -> None:
    """At each system call that changes the disk; the longer list is in the proofs."""
    script = """
import os, signal, sys
from holdfast.fleet import recovery
from holdfast.kernel import views
from holdfast.kernel.views import move, projection
from tests.fleet.world import Scene
from pathlib import Path

scene = Scene(Path(sys.argv[1]))
scene.now = int(sys.argv[2])
module, name = {"move": (move, "place_new"), "place": (projection, "place_new")}[sys.argv[3]]
setattr(module, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
recovery.takeover(scene.context(), "Secondary-A", by="Secondary-C", yes=True)
"""
    before = crashed.path().read_bytes()
    for point in ("move", "place"):
        words = [sys.executable, "-c", script, str(crashed.root), str(crashed.now), point]
        root = Path(__file__).parents[2]
        done = warm.run(words, cwd=root)
        assert done.returncode == -signal.SIGKILL
        crashed.agent(A).adopt()
        crashed.agent(C).adopt()
        (archive,) = [name for name in crashed.names() if "_crashed_" in name]
        assert (crashed.folder / "agent_checkpoints" / archive).read_bytes() == before
        assert crashed.file("secondary_c")["feature"] == FEATURE
        assert list(crashed.listing()) == [C]
        assert _feature(crashed)["owner"] == C
        crashed.later(1).takeover(C, A)  # and back, for the other point
        crashed.path(archive.removesuffix(".json")).unlink()
        for name in crashed.names():
            if "_crashed_" in name:
                crashed.path(name.removesuffix(".json")).unlink()
        before = crashed.path().read_bytes()
        crashed.later(MINUTE / MINUTE)


def _feature(scene: Scene) -> dict[str, object]:
    from holdfast.fleet.rules import feature
    from holdfast.kernel.state import load

    journal = scene.workspace.journal
    state: dict[str, object] = load(journal, feature, f"feature:{FEATURE}")[0]
    return state
