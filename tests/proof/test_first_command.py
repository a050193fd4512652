"""kill -9 at every system call of the first command in a project: the journal is this user's all the same."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from holdfast.kernel.trust import is_foreign, made_elsewhere_until
from holdfast.kernel.workspace import discover
from tests.proof.points import listed, traced
from tests.session.world import holdfast_process

pytestmark = pytest.mark.proof

WORDS = [sys.executable, "-m", "holdfast", "note", "the first"]


def _prepared(
    template: Path, place: Path, *, in_git: bool, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A project that no command has seen, and the folder of a user who knows no project."""
    root = place / "project"
    if in_git:
        shutil.copytree(template, root)
    else:
        root.mkdir(parents=True)
        (root / "holdfast.toml").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    return root


@pytest.mark.parametrize("in_git", [True, False], ids=["in git", "without git"])
def test_a_journal_is_its_users_wherever_the_first_command_dies(
    in_git: bool,
    empty_repository: Path,
    strace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for run in ("warm", "observed"):
        place = tmp_path / run
        root = _prepared(empty_repository, place, in_git=in_git, monkeypatch=monkeypatch)
        log = tmp_path / f"{run}.log"
        assert traced(strace, [], WORDS, root, log).code == 0
    points = listed(log, place)
    assert [point for point in points if point.file.startswith("state/")], points
    taken_for_foreign = []
    for number, point in enumerate(points):
        place = tmp_path / f"struck-{number}"
        root = _prepared(empty_repository, place, in_git=in_git, monkeypatch=monkeypatch)
        strike = ["-e", f"inject={point.call}:signal=SIGKILL:when={point.number}"]
        struck = traced(strace, strike, WORDS, root, tmp_path / f"{number}.log")
        assert struck.was_struck, point
        again = holdfast_process("note", "the second", "-C", str(root))
        workspace = discover(str(root))
        if again.returncode or is_foreign(workspace) or made_elsewhere_until(workspace):
            taken_for_foreign.append((point, again.stderr))
        workspace.close()
        shutil.rmtree(place)
    print(f"\nThe first command, killed at {len(points)} points")
    assert taken_for_foreign == []
