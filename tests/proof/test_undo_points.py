"""kill -9 at every system call of an undo: the next command finishes it or takes it back, and says so."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.proof.points import listed, traced
from tests.undo import scene
from tests.undo.scene import Prompts, bad_idea, picture_of

pytestmark = pytest.mark.proof
holdfast, rich = command_line.holdfast, scene.rich


def test_an_undo_is_all_or_nothing_wherever_it_dies(
    rich: Path,
    git: Git,
    holdfast: Holdfast,
    strace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts, before = Prompts(), picture_of(rich)
    prompts.begin("Change")
    bad_idea(rich, git)
    prompts.end()
    after = picture_of(rich)
    kept = tmp_path / "kept"
    shutil.copytree(rich, kept, symlinks=True)
    words = [sys.executable, "-m", "holdfast", "undo", "--yes"]
    log = tmp_path / "calm.log"
    assert traced(strace, [], words, rich, log).code == 0
    assert picture_of(rich) == before
    points = listed(log, rich)
    assert len(points) > 50
    outcomes: Counter[str] = Counter()
    for point in points:
        # At the same path: the journal's streams belong to a place.
        shutil.rmtree(rich)
        shutil.copytree(kept, rich, symlinks=True)
        monkeypatch.chdir(rich)
        strike = ["-e", f"inject={point.call}:signal=SIGKILL:when={point.number}"]
        struck = traced(strace, strike, words, rich, tmp_path / "struck.log")
        assert struck.was_struck, point
        was_begun = any((rich / ".git/holdfast").glob("undo-*.json"))
        said = holdfast("undo", "--list")
        assert said.code == 0, (point, said.err)
        assert ("cut off" in said.err) == was_begun, point
        left = picture_of(rich)
        outcome = "old" if left == after else "undone" if left == before else "neither"
        outcomes[outcome] += 1
        assert outcome != "neither", (point, left)
        assert holdfast("verify").code == 0, point
        if outcome == "old":
            assert holdfast("undo", "--yes").code == 0, point
        assert picture_of(rich) == before, point
        assert holdfast("redo", "--yes").code == 0, point
        assert picture_of(rich) == after, point
    print(f"\nAn undo, killed at {len(points)} points: {dict(outcomes)}")
    assert outcomes["undone"] > 10
    assert outcomes["old"] > 10
