"""Workers that do not see the runner's disk: work goes to them by git, and comes back."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.contrib.cluster.worker import LOG_BYTES
from holdfast.kernel.redact import Redactor
from tests.conftest import Git
from tests.contrib.cluster.world import Cluster, ClusterWorld
from tests.plans.world import auto


@pytest.fixture
def remote(repository: Path, tmp_path: Path, git: Git) -> Path:
    """The bare repository that everybody reaches."""
    path = tmp_path / "remote.git"
    git("init", "--quiet", "--bare", str(path))
    git("remote", "add", "origin", str(path), at=repository)
    return path


@pytest.fixture
def far(repository: Path, cluster: Cluster) -> Iterator[ClusterWorld]:
    """A cluster with a worker on whose machine there is no such repository."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("no right to make a mount namespace here: a far worker is NOT tested")
    cluster.start_worker("far", hide=str(repository))
    made = ClusterWorld(repository, cluster)
    made.wait_for_workers(1)
    yield made
    made.close()


def test_work_goes_and_comes_by_git(far: ClusterWorld, remote: Path, git: Git) -> None:
    far.plan("1/01", auto("echo one > one; echo said") + auto("cat one > two; git add two; exit 0"))
    far.plan("1/02", auto("echo other > other"))
    far.plan("1/03", auto("cat one two other > all; test -e README.md"), wave=2)
    far.begin(worktrees=True)
    assert far.run(begin=False)["status"] == "done"
    branch = f"holdfast/{far.id}"
    assert git("show", f"{branch}:all", at=far.root) == "one\none\nother\n"
    assert not (far.root / "one").exists(), "the tree that you have checked out is not touched"
    assert git("for-each-ref", "refs/holdfast", at=remote) == "", "the remote is left as it was"
    task = far.state()["plans"]["1/01"]["tasks"]["1"]
    log = Path(far.workspace.home) / "plans" / far.id / "logs" / task["log"]
    assert log.read_text() == "said\n"
    assert task["on"].startswith("far@")


def test_what_a_task_left_when_it_failed_is_there_for_its_next_try(
    far: ClusterWorld, remote: Path, git: Git
) -> None:
    far.plan("1/01", auto("test -e tried || { touch tried; exit 1; }"))
    far.begin(worktrees=True)
    assert far.run(begin=False)["status"] == "done"
    assert git("show", f"holdfast/{far.id}:tried", at=far.root) == ""


def test_a_flood_of_output_comes_back_bounded_with_its_end(
    far: ClusterWorld, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redacted by the rules of the runner, too."""
    monkeypatch.setenv("MY_API_KEY", "hunter2hunter2")
    far.writer.redactor = Redactor()
    far.plan("1/01", auto("seq 1 200000; echo key hunter2hunter2; echo the end"))
    far.begin(worktrees=True)
    assert far.run(begin=False)["status"] == "done"
    task = far.state()["plans"]["1/01"]["tasks"]["1"]
    log = Path(far.workspace.home) / "plans" / far.id / "logs" / task["log"]
    text = log.read_text()
    assert len(text) < LOG_BYTES + 100
    assert text.startswith("[")
    assert "bytes of output are left out here]" in text
    assert text.endswith("key [redacted:environment]\nthe end\n")
    assert log.stat().st_mode & 0o777 == 0o600


def test_without_worktrees_it_is_refused_before_anything_runs(
    far: ClusterWorld, remote: Path
) -> None:
    far.plan("1/01", auto("true"))
    refused = far.refused()
    assert refused.kind == "not_shared"
    assert "--worktrees" in refused.hint
    assert far.records("task_started") == []


def test_without_a_remote_it_is_refused_before_anything_runs(far: ClusterWorld) -> None:
    far.plan("1/01", auto("true"))
    far.begin(worktrees=True)
    with pytest.raises(Exception, match="no git remote origin"):
        far.run(begin=False)
    assert far.records("task_started") == []


def test_near_and_far_workers_share_the_tasks_of_one_plan(
    far: ClusterWorld, remote: Path, git: Git
) -> None:
    far.cluster.start_worker("near", needs={"near": 1})
    far.cluster.start_worker("far-too", hide=str(far.root), needs={"far": 1})
    far.wait_for_workers(3)
    near, away = ' needs="near=1"', ' needs="far=1"'
    add = "echo $WORKER >> who"
    far.plan(
        "1/01",
        auto(add, attributes=near) + auto(add, attributes=away) + auto(add, attributes=near),
    )
    far.begin(worktrees=True)
    assert far.run(begin=False)["status"] == "done"
    assert git("show", f"holdfast/{far.id}:who", at=far.root) == "near\nfar-too\nnear\n"
