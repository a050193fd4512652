"""`holdfast agent list` in a narrow terminal, and in an epic without agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli.terminal import unstyle, wide
from holdfast.cli.verbs.agent_roster import screen
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
    assert all("3/7" in line for line in table if "47 min" in line)


def test_the_bar_gives_way_before_anything_else(scene: Scene) -> None:
    scene.start(PRIMARY, "feature_01")
    entries = list(scene.listing().values())
    wide_lines, narrow = (
        [unstyle(line) for line in screen(entries, "epic", width=width)] for width in (100, 80)
    )
    assert "█" in wide_lines[2]
    assert "█" not in narrow[2]
    assert "feature_01  S2.P1  3/7  0 min  Reading S2.P1 guide" in narrow[2]
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
