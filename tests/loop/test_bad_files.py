"""A pipe, a folder or a link in the place of a track's or an RFC's file is named at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import bad_files
from tests.cli.conftest import Holdfast
from tests.loop.world import World

spoil, quick = bad_files.spoil, bad_files.quick


@pytest.mark.parametrize("spoil", bad_files.UNREADABLE, indirect=True)
@pytest.mark.parametrize("words", [["resume"], ["start", "EXECUTE"], ["pass"]])
def test_in_the_place_of_a_plan(
    world: World, quick: Holdfast, spoil: Callable[[Path], None], words: list[str]
) -> None:
    world.plan("- [ ] 1.1 One")
    world.start("EXECUTE", tasks_total=1)
    other = World(world.root, "other")
    other.start("PLAN")
    spoil(world.folder / "plan.md")
    answer = quick("loop", *words, "--track", "demo")
    assert answer.code == 1
    assert "conductor/tracks/demo/plan.md cannot be read" in answer.err
    assert quick("loop", "resume", "--track", "other").code == 0


def test_a_plan_behind_a_link_is_read(world: World, quick: Holdfast) -> None:
    world.start("EXECUTE", tasks_total=1)
    (world.root / "elsewhere.md").write_text("- [ ] 1.1 One\n", "utf-8")
    (world.folder / "plan.md").unlink(missing_ok=True)
    (world.folder / "plan.md").symlink_to(world.root / "elsewhere.md")
    assert quick("loop", "resume", "--json").data["next_task"] == "1.1"


@pytest.mark.parametrize("name", ["metadata.json", "checkpoint-history.jsonl"])
def test_in_the_place_of_a_tracks_file(
    world: World, quick: Holdfast, spoil: Callable[[Path], None], name: str
) -> None:
    world.start("PLAN")
    other = World(world.root, "other")
    other.start("PLAN")
    spoil(world.folder / name)
    answer = quick("loop", "progress", "--notes", "On", "--track", "demo")
    assert name in answer.err or answer.code == 0
    assert quick("loop", "show", "--track", "other").code == 0


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["state.json", "evidence.json", "rfc.md"])
def test_in_the_place_of_an_rfcs_file(
    world: World, quick: Holdfast, spoil: Callable[[Path], None], name: str
) -> None:
    assert quick("rfc", "init", "one").code == quick("rfc", "init", "two").code == 0
    spoil(world.root / ".ohrfc" / "one" / name)
    for words in (["list"], ["show", "one"], ["prompt", "discover", "one"], ["bootstrap", "one"]):
        quick("rfc", *words)
    assert quick("rfc", "show", "two").code == 0
    assert quick("resume").code in (0, 1, 3)
