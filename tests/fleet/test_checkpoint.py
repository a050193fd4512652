"""The checkpoint's file: its name, its fields, and what the writer refuses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from holdfast.fleet.rules import checkpoint as file
from holdfast.fleet.rules.model import (
    COORDINATION_FIELDS,
    FIELDS,
    check_agent,
    checkpoint_path,
    stem_of,
    type_of,
)
from holdfast.kernel.errors import Usage
from tests.fleet.world import FEATURE, START, Scene, checkpoint


@pytest.mark.clause("FLEET-01")
@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("Agent-Primary", "agent_checkpoints/primary.json"),
        ("Secondary-A", "agent_checkpoints/secondary_a.json"),
        ("Secondary-B", "agent_checkpoints/secondary_b.json"),
    ],
)
def test_each_agent_has_its_file(scene: Scene, agent: str, path: str) -> None:
    scene.start(agent)
    assert (scene.folder / path).is_file()


@pytest.mark.clause("FLEET-02")
@pytest.mark.parametrize(
    ("agent", "stem"),
    [
        ("Agent-Primary", "primary"),
        ("Secondary-A", "secondary_a"),
        ("Secondary-Z", "secondary_z"),
        ("Secondary-A-New", "secondary_a_new"),
        ("Secondary-12", "secondary_12"),
    ],
)
def test_the_file_is_named_after_the_id(agent: str, stem: str) -> None:
    assert stem_of(agent) == stem
    assert checkpoint_path(agent) == f"agent_checkpoints/{stem}.json"


@pytest.mark.clause("FLEET-03")
def test_the_file_holds_seventeen_fields_in_order_and_nothing_of_ours(scene: Scene) -> None:
    scene.start()
    text = scene.path().read_text("utf-8")
    assert len(FIELDS) == 17
    assert list(json.loads(text)) == list(FIELDS)
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    scene.beat(current_step="Writing → spec.md ✓")
    text = scene.path().read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    assert list(json.loads(text)) == list(FIELDS)


@pytest.mark.clause("FLEET-03")
@pytest.mark.parametrize("name", FIELDS)
def test_a_checkpoint_without_a_field_is_invalid(name: str) -> None:
    whole = checkpoint(START)
    assert file.problems(whole) == []
    del whole[name]
    assert any(name in problem for problem in file.problems(whole))


@pytest.mark.clause("FLEET-03")
def test_unknown_keys_are_kept(scene: Scene) -> None:
    scene.start()
    content = {**scene.file(), "ready_for_sync": False, "extra": {"deep": [1, {"b": 2}]}}
    scene.path().write_text(json.dumps(content))
    scene.later(5).beat(current_step="Going on")
    after = scene.file()
    assert after["extra"] == {"deep": [1, {"b": 2}]}
    assert after["ready_for_sync"] is False
    assert after["current_step"] == "Going on"
    assert list(after)[:17] == list(FIELDS)


@pytest.mark.clause("FLEET-04")
def test_ids_of_agents() -> None:
    for agent in ("Agent-Primary", "Secondary-A", "Secondary-B", "Secondary-A-New"):
        assert check_agent(agent) == agent
    bad = ("", "primary", "Secondary-", "Secondary-a/b", "Secondary-..", "../x", "Secondary-A\n")
    for agent in (*bad, "Secondary-" + "A" * 60, "Secondary-A-", "Secondary-Ä", "Tertiary-A"):
        with pytest.raises(Usage):
            check_agent(agent)


@pytest.mark.clause("FLEET-05")
def test_types_of_agents() -> None:
    assert type_of("Agent-Primary") == "primary"
    assert type_of("Secondary-A") == "secondary"
    assert file.problems(checkpoint(START, agent_type="tertiary"))


@pytest.mark.clause("FLEET-06", "FLEET-26", "AMB-FLEET-13")
def test_every_session_has_an_id_of_its_own(scene: Scene) -> None:
    first = scene.start()
    second = scene.resume()
    pattern = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(pattern, first.session)
    assert first.lines[0] == f"Session ID: {first.session}"
    assert first.session != second.session == scene.file()["session_id"]


@pytest.mark.clause("FLEET-07")
@pytest.mark.parametrize("feature", ["", "..", "a/b", "a\\b", "a\nb", "a\0b"])
def test_a_feature_is_a_folder_s_name(scene: Scene, feature: str) -> None:
    with pytest.raises(Usage):
        scene.start(feature=feature)
    scene.start(feature=FEATURE)
    assert scene.file()["feature"] == FEATURE


@pytest.mark.clause(
    "FLEET-08", "FLEET-09", "FLEET-12", "FLEET-13", "FLEET-14", "FLEET-16", "FLEET-93"
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stage", "S3"),
        ("stage", "S2"),
        ("phase", ""),
        ("status", "PAUSED"),
        ("status", "in_progress"),
        ("can_resume", "yes"),
        ("blockers", "none"),
        ("blockers", [1]),
        ("recovery_instructions", ""),
        ("recovery_instructions", "  "),
        ("current_step", ""),
        ("next_steps", None),
        ("last_checkpoint", "2026-01-15 14:30"),
        ("last_checkpoint", "2026-01-15T14:30:00.5Z"),
    ],
)
def test_the_writer_is_strict(scene: Scene, name: str, value: Any) -> None:
    assert file.problems(checkpoint(START, **{name: value}))
    scene.start()
    before = scene.path().read_bytes()
    if name != "last_checkpoint":  # which is never given, but always now
        with pytest.raises(Usage):
            scene.beat(**{name: value})
        assert scene.path().read_bytes() == before


@pytest.mark.clause("FLEET-10", "FLEET-11", "FLEET-36")
def test_both_times_move_with_every_update(scene: Scene) -> None:
    scene.start()
    assert scene.file()["last_checkpoint"] == "2026-01-15T14:30:00Z"
    assert scene.file()["next_checkpoint_expected"] == "2026-01-15T14:45:00Z"
    scene.later(7).beat()
    assert scene.file()["last_checkpoint"] == "2026-01-15T14:37:00Z"
    assert scene.file()["next_checkpoint_expected"] == "2026-01-15T14:52:00Z"


@pytest.mark.clause("FLEET-15", "AMB-FLEET-14")
def test_files_are_those_since_the_last_commit(scene: Scene) -> None:
    scene.start()
    scene.update(files_modified=["a/spec.md", "a/checklist.md"])
    scene.update(files_modified=["a/spec.md", "EPIC_README.md"])
    assert scene.file()["files_modified"] == ["a/spec.md", "a/checklist.md", "EPIC_README.md"]
    scene.update(committed=True)
    assert scene.file()["files_modified"] == []
    scene.update(committed=True, files_modified=["a/new.md"])
    assert scene.file()["files_modified"] == ["a/new.md"]


@pytest.mark.clause("FLEET-17")
def test_steps_done_only_grow(scene: Scene) -> None:
    scene.start()
    before = scene.file()["completed_steps"]
    scene.update(completed_steps=["Read the guide"])
    scene.update(completed_steps=["Read the guide", "Wrote section 1"])
    assert scene.file()["completed_steps"] == [*before, "Read the guide", "Wrote section 1"]
    scene.beat(next_steps=["Section 2"], current_step="Section 2")
    assert scene.file()["next_steps"] == ["Section 2"]


@pytest.mark.clause("FLEET-18")
@pytest.mark.parametrize("name", COORDINATION_FIELDS)
def test_coordination_has_four_fields(scene: Scene, name: str) -> None:
    scene.start()
    state = scene.file()["coordination_state"]
    assert list(state) == list(COORDINATION_FIELDS)
    del state[name]
    assert file.problems({**scene.file(), "coordination_state": state})


@pytest.mark.clause("AMB-FLEET-24")
def test_the_reader_is_tolerant_where_the_writer_is_strict(scene: Scene) -> None:
    scene.write(status="PAUSED", next_checkpoint_expected="PAUSED", ready_for_sync=True)
    assert scene.listing()["Secondary-B"]["status"] == "PAUSED"
    scene.resume("Secondary-B")
    after = scene.file("secondary_b")
    assert file.problems(after) == []
    assert (after["status"], after["ready_for_sync"]) == ("IN_PROGRESS", True)
    assert after["recovery_instructions"].startswith("Resume from S2.P2")
