"""kill -9 at every system call of a check at its stop: once anything of the stop is there, it holds."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from holdfast.kernel import latch
from tests.budgets.world import Scene
from tests.proof.points import listed, traced
from tests.session.world import holdfast_process

pytestmark = pytest.mark.proof

WORDS = [sys.executable, "-m", "holdfast", "guard", "check", "--cost", "52.30"]


def _prepared(template: Path, root: Path) -> None:
    shutil.copytree(template, root)
    scene = Scene(root)
    scene.check(cost=26.5)
    scene.ack("cost")
    scene.workspace.close()


def test_a_stop_holds_wherever_its_check_dies(
    repository: Path, strace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for run in ("warm", "observed"):
        root = tmp_path / run
        _prepared(repository, root)
        log = tmp_path / f"{run}.log"
        assert traced(strace, [], WORDS, root, log).code == 7
    points = listed(log, root)
    assert len(points) > 20
    outcomes: Counter[str] = Counter()
    for number, point in enumerate(points):
        root = tmp_path / f"struck-{number}"
        _prepared(repository, root)
        strike = ["-e", f"inject={point.call}:signal=SIGKILL:when={point.number}"]
        struck = traced(strace, strike, WORDS, root, tmp_path / f"{number}.log")
        assert struck.was_struck, point
        outcomes[_outcome(root)] += 1
        shutil.rmtree(root)
    print(f"\nA stop, killed at {len(points)} points: {dict(outcomes)}")
    assert set(outcomes) == {"nothing happened", "stopped"}


def _outcome(root: Path) -> str:
    scene = Scene(root)
    assert not scene.workspace.journal.damage()
    is_held = latch.read(scene.workspace) is not None
    is_recorded = scene.state["stopped"] is not None
    assert is_held or not (is_recorded or scene.waypoints()), "a trace of a stop that holds nobody"
    if is_held:
        below = holdfast_process("guard", "check", "--cost", "1", "-C", str(root))
        assert below.returncode == 7, below.stderr
    again = holdfast_process("guard", "check", "--cost", "52.30", "-C", str(root))
    assert again.returncode == 7, again.stderr
    assert len(scene.waypoints()) == 1
    assert scene.kinds().count("stopped") == 1
    assert [line["number"] for line in scene.metrics()] == [1, 2]
    scene.workspace.close()
    return "stopped" if is_held else "nothing happened"
