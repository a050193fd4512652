"""`holdfast agent list` in a narrow terminal, and in an epic without agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli.terminal import unstyle, wide
from holdfast.fleet.cli_roster import screen
from tests.cli.conftest import Holdfast
from tests.fleet.world import FEATURE, PRIMARY, A, Scene

STEP = "Writing the acceptance criteria of the ranking section, then the checklist"


@pytest.mark.parametrize("step", ["Reading S2.P1 guide", STEP, f"{STEP}, {STEP}"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_age_and_the_step_are_whole(scene: Scene, width: int, step: str) -> None:
    scene.start(PRIMARY, "feature_01_player_json")
    scene.start(A, FEATURE)
    scene.beat(A, current_step=step)
    entries = list(scene.later(47).listing().values())
    lines = [unstyle(line) for line in screen(entries, "epic", width=width)]
    assert all(wide(line) <= width for line in lines)
    table = lines[2 : lines.index("", 2)]
    assert sum("47 min" in line for line in table) == 2
    assert step in " ".join(" ".join(table).split())
    counts = {PRIMARY: "0/3", A: "0/3" if step == "Reading S2.P1 guide" else "0/4"}
    assert all(counts[agent] in line for agent in counts for line in table if agent in line)


@pytest.mark.clause("FLEET-30")
def test_a_new_agent_has_done_none_of_its_steps(scene: Scene) -> None:
    """The protocol's first checkpoint lists three completed steps; they are none of the feature's."""
    scene.start(A, FEATURE)
    assert len(scene.file()["completed_steps"]) == 3
    assert _progress(scene) == (0, 3)
    scene.update(set={"current_step": "Reading the data"}, completed_steps=["Read S2.P1 guide"])
    assert _progress(scene) == (1, 4)
    scene.update(set={"next_steps": ["Phase 1: Targeted Research"]})
    assert _progress(scene) == (1, 3)
    scene.update(do="phase", stage="S2.P2")
    assert _progress(scene) == (2, 7)
    scene.update(do="complete")
    assert _progress(scene) == (3, 3)


def _progress(scene: Scene) -> tuple[int, int]:
    entry = scene.listing()[A]
    return entry["done"], entry["steps"]


def test_the_bar_gives_way_before_anything_else(scene: Scene) -> None:
    scene.start(PRIMARY, "feature_01")
    scene.update(PRIMARY, completed_steps=["Read S2.P1 guide"])
    entries = list(scene.listing().values())
    wide_lines, narrow = (
        [unstyle(line) for line in screen(entries, "epic", width=width)] for width in (100, 80)
    )
    assert "█" in wide_lines[2]
    assert "█" not in narrow[2]
    assert "feature_01  S2.P1  1/3  0 min  Reading S2.P1 guide" in narrow[2]
    assert len(narrow) == len(wide_lines)


def test_an_epic_without_agents_names_the_one_that_has_some(
    scene: Scene, holdfast: Holdfast
) -> None:
    assert "No agents yet." in holdfast("agent", "list").out
    folder = Path(scene.root, "epics", "one")
    folder.mkdir(parents=True)
    holdfast("agent", "start", A, "--feature", FEATURE, "--epic", str(folder))
    answer = holdfast("agent", "list")
    assert "No agents in this epic. Others have some:" in answer.out
    command = f"holdfast agent list --epic {folder}"
    assert command in answer.out
    assert holdfast("agent", "list", "--json").envelope["next"] == [command]
    assert A in holdfast(*command.split()[1:]).out
