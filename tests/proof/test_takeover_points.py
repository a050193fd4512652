"""kill -9 at every system call of a takeover, and of each git that it starts: after the next command it
is the old or the new state."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from holdfast.fleet import recovery
from holdfast.fleet.rules import feature
from holdfast.kernel.state import load
from tests.fleet.world import FEATURE, A, C, Scene
from tests.kernel.views.scene import clean_environment
from tests.proof.points import listed, listed_of_children, traced

pytestmark = pytest.mark.proof

WORDS = [sys.executable, "-m", "holdfast", "agent", "takeover", A, "--by", C, "--yes"]


@pytest.fixture
def template(repository: Path) -> Path:
    return repository


def _prepared(template: Path, root: Path) -> Scene:
    shutil.copytree(template, root)
    scene = Scene(root)
    scene.start()
    scene.later(15).beat(current_step="Half way")
    scene.workspace.close()
    return scene


def test_a_takeover_is_whole_wherever_it_dies(template: Path, strace: str, tmp_path: Path) -> None:
    for run in ("warm", "observed"):
        scene = _prepared(template, tmp_path / run)
        log = tmp_path / f"{run}.log"
        calm = traced(strace, [], WORDS, scene.root, log)
        assert calm.code == 0, calm.errors
    points = listed(log, scene.root)
    assert len(points) > 20
    outcomes: Counter[str] = Counter()
    for number, point in enumerate(points):
        root = tmp_path / f"struck-{number}"
        scene = _prepared(template, root)
        before = scene.path().read_bytes()
        strike = ["-e", f"inject={point.call}:signal=SIGKILL:when={point.number}"]
        struck = traced(strace, strike, WORDS, root, tmp_path / f"{number}.log")
        assert struck.was_struck, point
        outcomes[_outcome(Scene(root), before)] += 1
        shutil.rmtree(root)
    print(f"\nA takeover, killed at {len(points)} points: {dict(outcomes)}")
    assert set(outcomes) == {"old", "new"}


def test_a_takeover_is_whole_wherever_its_git_dies(
    template: Path, strace: str, tmp_path: Path
) -> None:
    """The snapshot of the work tree is git's writing. Without it, a takeover is still done."""
    scene = _prepared(template, tmp_path / "observed")
    log = tmp_path / "observed.log"
    calm = traced(strace, [], WORDS, scene.root, log)
    assert calm.code == 0, calm.errors
    points = listed_of_children(log)
    assert len(points) > 10
    git, folder = shutil.which("git"), tmp_path / "bin"
    folder.mkdir()
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    outcomes: Counter[str] = Counter()
    for number, point in enumerate(points):
        root, traces = tmp_path / f"struck-{number}", tmp_path / f"traces-{number}"
        scene = _prepared(template, root)
        before = scene.path().read_bytes()
        inject = f"inject={point.call}:signal=SIGKILL:when={point.number}"
        (folder / "git").write_text(
            f'#!/bin/sh\nexec {strace} -o {traces}.$$ -e trace={point.call} -e {inject} {git} "$@"\n'
        )
        (folder / "git").chmod(0o755)
        environment = {**clean_environment(), "PATH": path}
        done = subprocess.run(WORDS, cwd=root, env=environment, capture_output=True, text=True)
        killed = [one for one in tmp_path.glob(f"{traces.name}.*") if "SIGKILL" in one.read_text()]
        assert killed, point
        outcome = _outcome(Scene(root), before)
        assert (done.returncode, outcome) == (0, "new"), (point, done.stderr)
        outcomes[outcome] += 1
        shutil.rmtree(root)
    print(f"\nIts git, killed at {len(points)} points: {dict(outcomes)}")


def _outcome(scene: Scene, before: bytes) -> str:
    """What the next commands find. Whichever of the two it is, they can go on."""
    scene.agent(A).adopt()
    scene.agent(C).adopt()
    assert not scene.workspace.journal.damage()
    journal = scene.workspace.journal
    owner = load(journal, feature, f"feature:{FEATURE}")[0]["owner"]
    archives = [name for name in scene.names() if "_crashed_" in name]
    agents = list(scene.listing())
    if owner == A:
        assert (agents, archives) == ([A], [])
        assert scene.path().read_bytes() == before
        recovery.takeover(scene.context(), A, by=C, yes=True)
        return "old"
    assert (owner, agents, len(archives)) == (C, [C], 1)
    assert scene.path(archives[0].removesuffix(".json")).read_bytes() == before
    assert not scene.path().exists()
    taken = json.loads(scene.path("secondary_c").read_text())
    assert (taken["feature"], taken["current_step"]) == (FEATURE, "Half way")
    scene.resume(C, yes=True)
    return "new"
