"""A track whose file was made by hand or by its public project: taken over as it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.adoption import folders
from tests.adoption.folders import TRACK, put
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast

holdfast = command_line.holdfast
FILE = "conductor/tracks/team-penalty/metadata.json"


@pytest.mark.clause("LOOP-01", "LOOP-44")
def test_reading_changes_nothing(repository: Path, holdfast: Holdfast) -> None:
    put(FILE, TRACK)
    before = folders.contents()
    assert "2 of 5 tasks" in holdfast("loop", "show").out
    assert "--resume-from 1.2" in holdfast("loop", "resume").out
    assert folders.contents() == before


@pytest.mark.clause("LOOP-32", "LOOP-14")
def test_a_report_changes_its_step_alone(repository: Path, holdfast: Holdfast) -> None:
    place = put(FILE, TRACK)
    place.chmod(0o640)
    assert holdfast("loop", "task-done", "1.3", "--commit", "def5678").code == 0
    after, steps = json.loads(place.read_text("utf-8")), ("loop_state", "checkpoints")
    assert os.stat(place).st_mode & 0o777 == 0o640
    assert list(after) == list(TRACK)
    assert after["lead_consultations"] == TRACK["lead_consultations"]
    before: dict[str, dict[str, dict[str, object]]] = {**TRACK}  # type: ignore[dict-item]
    assert after[steps[0]][steps[1]]["PLAN"] == before[steps[0]][steps[1]]["PLAN"]
    execute = after[steps[0]][steps[1]]["EXECUTE"]
    assert execute["reviewed_by"] == "Kim"
    assert execute["progress"] == {
        "tasks_completed": 3,
        "tasks_total": 5,
        "last_task": "1.3",
        "last_commit": "def5678",
        "current_task": "",
    }


# As the document locks the file: mkdir, change, rmdir.
LOCKED = r"""
track_dir=conductor/tracks/team-penalty
lockfile="${track_dir}/.metadata.lock"
while ! mkdir "$lockfile" 2>/dev/null; do sleep 0.1; done
jq '.loop_state.fix_cycle_count = 2' "$track_dir/metadata.json" > "$track_dir/t"
mv "$track_dir/t" "$track_dir/metadata.json"
rmdir "$lockfile"
jq -r .loop_state.checkpoints.EXECUTE.last_task "$track_dir/metadata.json"
"""


@pytest.mark.clause("LOOP-45", "LOOP-46", "LOOP-47")
def test_the_documents_lock_and_jq_work_on_the_file(repository: Path, holdfast: Holdfast) -> None:
    place = put(FILE, TRACK)
    holdfast("loop", "task-done", "1.3")
    assert folders.run_script(LOCKED) == "1.3\n"
    assert holdfast("loop", "task-done", "1.4").code == 0
    after = json.loads(place.read_text("utf-8"))["loop_state"]
    assert after["fix_cycle_count"] == 2, "what the script wrote"
    assert after["checkpoints"]["EXECUTE"]["progress"]["tasks_completed"] == 4
    assert not Path("conductor/tracks/team-penalty/.metadata.lock").exists()
