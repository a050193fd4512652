"""The plans of the documentation are plans, and what it shows is what one sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.plans.rules.document import FIELDS
from tests.cli.conftest import Holdfast
from tests.plans.world import World, auto
from tests.test_docs import ROOT, blocks

PAGE, CODES = "docs/how-to/plans.md", "docs/reference/plans.md"


def test_the_plans_of_the_page_are_sound_and_drawn_as_it_shows(
    holdfast: Holdfast, repository: Path
) -> None:
    folder = repository / "plans"
    folder.mkdir()
    for number, block in enumerate(blocks(PAGE, "markdown"), 1):
        (folder / f"0{number}.md").write_text(block)
    linted = holdfast("plan", "lint", "--strict", "plans")
    assert (linted.code, linted.out) == (0, "2 plan files, and nothing is wrong.\n")
    shown = next(block for block in blocks(PAGE, "console") if "plan graph" in block)
    assert shown.partition("\n")[2] == holdfast("plan", "graph", "plans").out


@pytest.mark.parametrize(("phase", "said"), [("3", "done  []\n"), ("4", "paused goals_unmet []\n")])
def test_the_python_of_the_page_runs_the_plans(world: World, phase: str, said: str) -> None:
    world.plan(f"{phase}/01", auto("true"))
    (block,) = blocks(PAGE, "python")
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True)
    assert done.stdout == said


def test_the_page_names_every_field_and_every_code() -> None:
    import re

    page = (ROOT / PAGE).read_text("utf-8") + (ROOT / CODES).read_text("utf-8")
    for field in FIELDS:
        assert f"`{field}`" in page, field
    source = ROOT / "src/holdfast"
    readers = ("document", "tasks", "frontmatter", "lint", "waves")
    paths = [source / "plans/rules" / f"{name}.py" for name in readers]
    for path in [*paths, source / "plans/discovery.py"]:
        for code in re.findall(r'"([A-Z]{3,}(?:_[A-Z0-9]+)*)"', path.read_text(encoding="utf-8")):
            assert code == "NULL" or f"`{code}`" in page, code
