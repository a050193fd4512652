"""Two at once, killed in the middle, a lock in the way, a broken index: the next one works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.git.snapshot import create, list_snapshots
from tests import warm
from tests.conftest import Git
from tests.git.conftest import Untouched, answer, text_of, tree_of

PROGRAM = "import sys; from holdfast.git.snapshot import create; create(sys.argv[1])"


def started(root: Path) -> warm.Process:
    command = [sys.executable, "-c", PROGRAM, str(root)]
    return warm.start(command, stderr=subprocess.PIPE, start_new_session=True)


def shadow(root: Path) -> Path:
    (index,) = (root / ".git" / "holdfast" / "index-main").glob("index.*")
    return index


def test_many_at_once_all_succeed(repository: Path, untouched: Untouched) -> None:
    for number in range(50):
        (repository / f"file {number}").write_text(f"{number}")
    with untouched(repository):
        processes = [started(repository) for _ in range(6)]
        ends = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 6, ends
    (snapshot,) = list_snapshots(str(repository))
    assert len(tree_of(repository, snapshot["commit"])) == 51


def test_in_two_worktrees_at_once(repository: Path, tmp_path: Path, git: Git) -> None:
    other = tmp_path / "other"
    git("worktree", "add", "--quiet", str(other))
    for root in (repository, other):
        (root / "new").write_text(root.name)
    processes = [started(root) for root in (repository, other) for _ in range(2)]
    assert [process.wait() for process in processes] == [0] * 4
    for process in processes:
        process.communicate()
    for root in (repository, other):
        (snapshot,) = list_snapshots(str(root))
        assert text_of(root, snapshot["commit"], "new") == root.name.encode()


@pytest.mark.parametrize("moments", [5, pytest.param(24, marks=pytest.mark.proof)])
@pytest.mark.parametrize("whole_group", [True, False])
def test_kill_9_at_any_moment(
    repository: Path, git: Git, untouched: Untouched, whole_group: bool, moments: int
) -> None:
    """With the git it waited for, and without: that one goes on writing as an orphan."""
    for number in range(200):
        (repository / f"file {number}").write_text(f"{number}\n" * 200)
    git("add", ".")
    create(str(repository))
    for step in range(moments):
        for number in range(0, 200, 5):
            (repository / f"file {number}").write_text(f"{step} {number}\n" * 200)
        with untouched(repository):
            process = started(repository)
            time.sleep(0.06 + 0.18 * step / moments)
            if whole_group:
                _kill_with_children(process.pid)
            process.kill()
            process.communicate()
            snapshot = create(str(repository))
        for number in range(0, 200, 25):
            expected = f"{step} {number}\n".encode() * 200
            assert text_of(repository, snapshot["commit"], f"file {number}") == expected
    assert b"error" not in answer(repository, "fsck", "--no-dangling")


def _kill_with_children(parent: int) -> None:
    """Each git is the head of a group of its own."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True)
    for child in listed.stdout.split():
        try:
            os.killpg(int(child), signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_a_lock_on_the_users_index_does_not_matter(repository: Path, untouched: Untouched) -> None:
    (repository / ".git" / "index.lock").touch()
    (repository / "new").write_text("x")
    with untouched(repository):
        snapshot = create(str(repository))
    assert "new" in tree_of(repository, snapshot["commit"])
    assert (repository / ".git" / "index.lock").exists()


def test_a_lock_on_our_own_is_a_dead_ones(repository: Path) -> None:
    create(str(repository))
    old = shadow(repository)
    Path(f"{old}.lock").write_text("half")
    (repository / "new").write_text("x")
    snapshot = create(str(repository))
    assert "new" in tree_of(repository, snapshot["commit"])
    assert shadow(repository) != old


@pytest.mark.matrix
@pytest.mark.parametrize("damage", [b"", b"DIRC nonsense", b"\0" * 4096, None])
@pytest.mark.parametrize("what", ["index", "facts.json"])
def test_a_broken_shadow_is_thrown_away(repository: Path, what: str, damage: bytes | None) -> None:
    (repository / "old").write_text("x")
    create(str(repository))
    target = shadow(repository) if what == "index" else shadow(repository).parent / what
    if damage is None:
        target.unlink()
    else:
        target.write_bytes(damage)
    (repository / "new").write_text("x")
    snapshot = create(str(repository))
    assert set(tree_of(repository, snapshot["commit"])) == {"README.md", "old", "new"}
    assert snapshot["number"] == 2


def test_a_broken_index_of_the_users_is_no_obstacle(repository: Path) -> None:
    (repository / "new").write_text("x")
    (repository / ".git" / "index").write_bytes(b"broken")
    snapshot = create(str(repository))
    assert set(tree_of(repository, snapshot["commit"])) == {"README.md", "new"}
    (repository / "newer").write_text("x")
    assert "newer" in tree_of(repository, create(str(repository))["commit"])
    assert (repository / ".git" / "index").read_bytes() == b"broken"
