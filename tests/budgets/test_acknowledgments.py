"""`.autopilot/state/acknowledgments.json`: its structure, and what others may write into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.budgets.rules.thresholds import DEFAULTS
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, NotAllowed, NotFound, Usage
from tests.budgets.world import ACKNOWLEDGMENTS, THRESHOLDS, Scene, read
from tests.cli.conftest import Holdfast
from tests.gates.person import does
from tests.session.world import holdfast_process

OURS = {
    "acknowledged_at": "2026-11-15T12:00:02Z",
    "value_at_ack": 26.5,
    "session_id": "s1",
}
THEIRS = {
    "acknowledged_at": "2026-01-29T14:30:00Z",
    "value_at_ack": 26.50,
    "session_id": "session-abc123",
}


def write(**entries: object) -> None:
    ACKNOWLEDGMENTS.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"acknowledgments": entries, "last_reset": None, "owner": "ops"})
    ACKNOWLEDGMENTS.write_text(text, "utf-8")


@pytest.mark.clause("PILOT-52", "PILOT-59", "PILOT-60")
def test_an_acknowledgment_is_written_as_the_protocol_writes_it(scene: Scene) -> None:
    scene.check(cost=26.5)
    scene.ack("cost")
    assert read(Path(".autopilot/state/acknowledgments.json")) == {
        "acknowledgments": {"cost": OURS},
        "last_reset": None,
    }


@pytest.mark.clause("PILOT-61")
def test_without_a_file_nothing_is_acknowledged(scene: Scene) -> None:
    assert not ACKNOWLEDGMENTS.exists()
    assert scene.verdict(cost=26.5) == "wait"
    assert scene.acknowledgments() == {"acknowledgments": {}, "last_reset": None}


@pytest.mark.clause("PILOT-61", "AMB-PILOT-06", "AMB-PILOT-08")
def test_a_file_from_before_is_kept_and_counts_once_a_person_confirmed_it(
    scene: Scene, holdfast: Holdfast
) -> None:
    write(cost=THEIRS)
    assert scene.verdict(cost=1) == "go"
    kept = {"acknowledgments": {"cost": THEIRS}, "last_reset": None, "owner": "ops"}
    assert scene.acknowledgments() == kept
    shown = holdfast("guard", "limits").out
    assert "Cost acknowledged at $26.50" in shown
    assert "stated in the file. It counts once a person runs: holdfast guard ack cost" in shown
    scene.ack("cost")
    assert scene.verdict(cost=30) == "go"
    assert scene.acknowledgments() == kept


def test_an_agent_that_writes_the_file_before_the_first_check_acknowledges_nothing(
    scene: Scene,
) -> None:
    write(cost=THEIRS, errors=THEIRS)
    assert scene.verdict(cost=30) == "wait"
    assert scene.acknowledgments()["acknowledgments"] == {"cost": THEIRS, "errors": THEIRS}
    scene.ack("cost")
    assert scene.verdict(cost=30) == "go"
    assert scene.verdict(cost=30, errors=3) == "wait", "each type is confirmed by itself"


def test_a_person_confirms_at_a_terminal_what_the_file_states(
    scene: Scene, holdfast: Holdfast
) -> None:
    write(cost=THEIRS)
    refused = holdfast("guard", "ack", "cost", "--json")
    assert (refused.code, refused.envelope["error"]["kind"]) == (4, "no_person")
    seen = does("guard", "ack", "cost")
    assert seen.code == 0, seen.screen
    assert f"{ACKNOWLEDGMENTS} states that cost was acknowledged at" in seen.screen
    assert scene.verdict(cost=30) == "go"
    known = scene.state["acknowledgments"]["cost"]
    assert (known["acknowledged_at"], known["by"]["channel"]) == (
        THEIRS["acknowledged_at"],
        "terminal",
    )


def test_a_person_trusts_the_file_and_all_that_it_states(scene: Scene, holdfast: Holdfast) -> None:
    write(cost=THEIRS, errors=THEIRS)
    assert "(not trusted)" in holdfast("trust", "--show").out
    assert does("trust").code == 0
    assert scene.verdict(cost=30, errors=3) == "go"
    assert set(scene.acknowledgments()["acknowledgments"]) == {"cost", "errors"}
    assert "nothing that needs your trust" in holdfast("trust", "--show").out


@pytest.mark.clause("PILOT-62", "AMB-PILOT-06")
def test_another_process_and_another_session_see_it(scene: Scene) -> None:
    scene.check(cost=26.5)
    scene.ack("cost")
    done = holdfast_process("guard", "check", "--cost", "30", "--session", "later")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.clause("PILOT-62")
def test_a_second_type_leaves_the_first_alone(scene: Scene) -> None:
    scene.check(cost=26.5, errors=3)
    scene.ack("cost")
    scene.ack("errors")
    known = scene.acknowledgments()["acknowledgments"]
    assert list(known) == ["cost", "errors"]
    assert known["cost"] == OURS


@pytest.mark.clause("PILOT-63")
def test_a_reset_empties_the_file_and_says_so(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=26.5)
    scene.ack("cost")
    answer = holdfast("guard", "reset")
    assert (answer.code, answer.out) == (0, "✅ All alert acknowledgments cleared\n")
    left = scene.acknowledgments()
    assert left["acknowledgments"] == {}
    assert left["last_reset"] is not None
    assert holdfast("guard", "reset", "--json").data["cleared"] == []


@pytest.mark.clause("AMB-PILOT-07")
@pytest.mark.parametrize("name", ["value_at_ack", "value_at_acknowledgment", "value"])
def test_every_spelling_of_the_value_is_read_and_other_keys_stay(scene: Scene, name: str) -> None:
    entry: dict[str, Any] = {key: THEIRS[key] for key in ("acknowledged_at", "session_id")}
    write(cost={**entry, name: 26.5, "threshold_level": "alert", "user_note": "go on"})
    scene.check(cost=1)
    scene.ack("cost")
    assert scene.verdict(cost=30) == "go"
    kept = scene.acknowledgments()["acknowledgments"]["cost"]
    assert kept == {**THEIRS, "threshold_level": "alert", "user_note": "go on"}


@pytest.mark.clause("AMB-PILOT-06")
def test_an_acknowledgment_from_before_its_reset_is_none(scene: Scene) -> None:
    ACKNOWLEDGMENTS.parent.mkdir(parents=True)
    document = {"acknowledgments": {"cost": THEIRS}, "last_reset": "2026-02-01T00:00:00Z"}
    ACKNOWLEDGMENTS.write_text(json.dumps(document))
    assert scene.verdict(cost=30) == "wait"
    assert scene.acknowledgments()["last_reset"] == "2026-02-01T00:00:00Z"


def test_an_agent_cannot_acknowledge_with_an_editor(scene: Scene) -> None:
    """What a person did not say is not in the file, and the attempt is on record."""
    scene.check(cost=26.5)
    write(cost={**THEIRS, "acknowledged_at": "2026-11-15T12:00:05Z"})
    assert scene.verdict(cost=30) == "wait"
    assert scene.acknowledgments() == {
        "acknowledgments": {},
        "last_reset": None,
        "owner": "ops",
    }
    (edit,) = [
        record["body"]
        for record in scene.workspace.journal.read("budget:default")
        if record["kind"] == "edited_outside"
    ]
    assert edit["refused"] == ["cost"]


def test_an_old_file_that_comes_back_acknowledges_nothing(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=26.5)
    scene.ack("cost")
    old = ACKNOWLEDGMENTS.read_text()
    holdfast("guard", "reset")
    ACKNOWLEDGMENTS.write_text(old)
    assert scene.verdict(cost=30) == "wait"


@pytest.mark.clause("AMB-PILOT-08")
def test_anybody_may_take_an_acknowledgment_out(scene: Scene) -> None:
    scene.check(cost=26.5, errors=3)
    scene.ack("cost")
    scene.ack("errors")
    document = scene.acknowledgments()
    del document["acknowledgments"]["cost"]
    ACKNOWLEDGMENTS.write_text(json.dumps(document))
    report = scene.check(cost=30, errors=3)
    assert [one["how"] for one in report["handled"]] == ["waiting", "acknowledged"]


@pytest.mark.clause("AMB-PILOT-08")
def test_without_the_file_everything_is_asked_again(scene: Scene) -> None:
    scene.check(cost=26.5)
    scene.ack("cost")
    ACKNOWLEDGMENTS.unlink()
    assert scene.verdict(cost=30) == "wait"
    assert scene.acknowledgments() == {"acknowledgments": {}, "last_reset": None}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"acknowledgments": 5}', '{"acknowledgments": {"cost": 1}}', "\x00", ""]
)
def test_a_broken_file_is_kept_and_what_was_said_holds(scene: Scene, text: str) -> None:
    scene.check(cost=26.5)
    scene.ack("cost")
    ACKNOWLEDGMENTS.write_text(text)
    assert scene.verdict(cost=30) == "go"
    assert scene.acknowledgments()["acknowledgments"] == {"cost": OURS}
    kept = Path(scene.workspace.quarantine)
    assert [path.read_text() for path in kept.iterdir()] == [text]


def test_foreign_keys_of_the_values_stay(scene: Scene) -> None:
    scene.check(cost=1)
    THRESHOLDS.write_text(json.dumps({**read(THRESHOLDS), "current_values": {}, "team": "blue"}))
    scene.check(cost=2)
    assert read(THRESHOLDS)["team"] == "blue"
    assert read(THRESHOLDS)["current_values"]["cost"] == 2


def test_what_does_not_wait_cannot_be_acknowledged(scene: Scene) -> None:
    with pytest.raises(NotFound, match="No alert of cost waits"):
        scene.ack("cost")
    with pytest.raises(Usage, match="not one of cost, context"):
        scene.ack("money")
    scene.check(cost=26.5)
    with pytest.raises(Usage, match="reached already"):
        scene.ack("cost", until=26.5)
    scene.check(cost=50)
    with pytest.raises(Conflict, match="A stop holds"):
        scene.ack("cost")


def test_acknowledging_twice_is_one_record(scene: Scene) -> None:
    scene.check(cost=26.5)
    scene.ack("cost")
    assert scene.ack("cost")["records"] == []
    assert scene.kinds().count("acknowledged") == 1


FORGED = {"name": "ada", "channel": "terminal", "terminal": "/dev/pts/1", "at": ""}
RAISED = {**DEFAULTS, "stop": {**DEFAULTS["stop"], "cost": 9999.0}}


@pytest.mark.parametrize(
    "command",
    [
        {"do": "ack", "type": "errors", "until": None, "by": FORGED, "session": "s1"},
        {"do": "halt", "type": "errors", "by": FORGED, "session": "s1", "last_turn": False},
        {"do": "reset", "by": FORGED, "given": {"stop": {"cost": 9999}}, "forgiven": {}},
        {"do": "check", "values": {"cost": "much"}, "limits": {}},
        {"do": "check", "values": {}, "limits": {"stop": {}}},
        {"do": "add", "cost": "much"},
        {"do": "nothing"},
        "not a command",
    ],
)
def test_what_a_sandboxed_agent_leaves_in_its_inbox_says_nothing_for_a_person(
    scene: Scene, command: object
) -> None:
    scene.check(errors=3)
    scene.do("add", error="it broke")
    folder = Path(scene.workspace.prepare_tool_folder("inbox"))
    queued = {"id": "f" * 32, "stream": "budget:default", "command": command, "actor": "ada"}
    at = clock.precise(scene.now)
    (folder / "1.json").write_text(json.dumps({**queued, "fence": None, "at": at}))
    before = scene.state
    scene.do("add", cost=0.0)
    assert [path.name for path in folder.iterdir()] == ["1.json.refused"]
    assert scene.state["pending"] == before["pending"]
    assert scene.budget.in_force().limits == DEFAULTS


def test_a_forged_check_raises_no_limit(scene: Scene) -> None:
    """Its flags stay with the waypoint that it asks for, and can only lower."""
    scene.check(cost=1)
    check: Any = {
        "do": "check",
        "values": {"cost": 1, "context": 42, "variance": None, "errors": 0},
        "limits": RAISED,
        "flags": {"stop": {"cost": 9999.0}, "alert": {"errors": 2}},
        "actions": scene.budget.in_force().actions,
        "session": "s1",
        "place": {"phase": 1, "plan": 1, "last_task_completed": None, "next_task": None},
        "started_at": "",
        "checkpoint_at": "",
        "pause": 1_800_000,
        "last_turn": True,
    }
    scene.budget.execute(check, now=scene.now)
    assert len(scene.waypoints()) == 1
    assert scene.budget.in_force().limits["stop"]["cost"] == 50
    assert scene.budget.in_force().limits["alert"]["errors"] == 2


def test_a_stop_is_lifted_by_a_person_alone(scene: Scene) -> None:
    scene.check(cost=50)
    with pytest.raises(NotAllowed):
        scene.do("reset", by=None)
    with pytest.raises(NotAllowed):
        scene.do("reset", by=None, given={"stop": {"cost": 1000}}, forgiven={})
    assert scene.state["stopped"] is not None
