"""Tracks outside of the usual folder: adopted where they are, as their document names them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Holdfast
from tests.loop import conftest

holdfast = conftest.holdfast

STATED = {
    "version": 2,
    "track_id": "team-penalty",
    "loop_state": {
        "current_step": "EXECUTE",
        "step_status": "IN_PROGRESS",
        "step_started_at": "2026-02-13T12:00:00Z",
        "fix_cycle_count": 0,
        "max_fix_cycles": 3,
        "checkpoints": {
            "EXECUTE": {
                "status": "IN_PROGRESS",
                "started_at": "2026-02-13T12:00:00Z",
                "completed_at": None,
                "agent": "superpowers:executing-plans",
                "progress": {"tasks_completed": 2, "tasks_total": 5, "last_task": "1.2"},
                "output_files": [],
                "notes": "",
                "last_updated": "2026-02-13T12:05:00Z",
            }
        },
    },
}


def put(folder: str) -> Path:
    """Write a track's file as another program of the document writes it."""
    path = Path(folder, "metadata.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(STATED), "utf-8")
    return path


def last_task(path: Path) -> str:
    document = json.loads(path.read_text("utf-8"))
    return str(document["loop_state"]["checkpoints"]["EXECUTE"]["progress"]["last_task"])


def files() -> set[str]:
    return {str(path) for path in Path().rglob("metadata.json")}


@pytest.mark.clause("LOOP-01", "LOOP-20")
@pytest.mark.parametrize("named", [[], ["--track-id", "team-penalty"], ["--track-id", "elsewhere"]])
def test_a_track_elsewhere_is_adopted_where_it_is(
    repository: Path, holdfast: Holdfast, named: list[str]
) -> None:
    path = put("elsewhere")
    answer = holdfast("loop", "task-done", "1.3", "--metadata", str(path), *named)
    assert answer.code == 0, answer.err
    assert (last_task(path), files()) == ("1.3", {str(path)})
    assert holdfast("loop", "task-done", "1.4").code == 0, "it is the only track"
    assert holdfast("loop", "task-done", "1.5", "--track", "team-penalty").code == 0
    assert (last_task(path), files()) == ("1.5", {str(path)})


@pytest.mark.clause("LOOP-01")
def test_packages_with_tracks_of_one_name_keep_their_own(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, first, second = (
        put(f"{package}conductor/tracks/login") for package in ("", "packages/a/", "packages/b/")
    )
    assert holdfast("loop", "task-done", "1.3", "--metadata", str(first)).code == 0
    monkeypatch.chdir("packages/b")
    for words in (("1.4",), ("1.5", "--track", "login")):
        assert holdfast("loop", "task-done", *words).code == 0
    monkeypatch.chdir(repository)
    assert holdfast("loop", "task-done", "1.6", "--track", "login").code == 0
    assert [last_task(path) for path in (usual, first, second)] == ["1.6", "1.3", "1.5"]
    assert len(files()) == 3


@pytest.mark.clause("LOOP-35", "LOOP-36", "LOOP-37")
def test_the_fields_of_debugging_keep_their_places_from_start_to_end(
    repository: Path, holdfast: Holdfast
) -> None:
    def progress() -> dict[str, object]:
        text = Path("conductor/tracks/login/metadata.json").read_text("utf-8")
        checkpoint = json.loads(text)["loop_state"]["checkpoints"]["FIX"]
        at_both = {name: checkpoint[name] for name in checkpoint["progress"]}
        assert at_both == checkpoint["progress"]
        return at_both

    skill = "superpowers:systematic-debugging"
    holdfast("loop", "start", skill, "--track", "login", "--issues-total", "3")
    assert progress() == {"issues_total": 3, "issues_fixed": 0}
    holdfast("loop", "progress", "--issues-fixed", "1", "--current-issue", "a race")
    assert progress() == {"issues_total": 3, "issues_fixed": 1, "current_issue": "a race"}
    holdfast("loop", "task-done", "a race", "--next", "a leak")
    holdfast("loop", "task-done", "a leak")
    assert progress() == {"issues_total": 3, "issues_fixed": 3, "current_issue": ""}
    assert holdfast("loop", "pass", "--notes", "Three mended").code == 0
    assert progress() == {"issues_total": 3, "issues_fixed": 3, "current_issue": ""}
