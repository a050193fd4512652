"""Runs on a cluster: real schedulers and workers, killed, cut off and started again."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from holdfast.plans import runs
from holdfast.plans.news import Interrupts
from holdfast.processes.supervisor import ended_of
from tests.contrib.cluster.world import Cluster, ClusterWorld, Nursery, meanwhile
from tests.plans.world import auto
from tests.processes import wait_for

BACKGROUND = "(setsid sleep 600 > /dev/null 2>&1 &); "


def test_a_run_goes_to_its_end_and_says_where_its_tasks_are(world: ClusterWorld) -> None:
    world.plan("1/01", auto(world.note("one")) + auto("echo late; sleep 1.5"))
    world.plan("1/02", auto(BACKGROUND + world.note("two")))
    world.plan("1/03", auto("echo no such luck; exit 3"), wave=2)
    world.begin(tries=1)
    halted = world.halted(begin=False)
    assert sorted(world.noted()) == ["one", "two"]
    assert "run failed, exit code 3: no such luck" in halted.text
    state = world.state()
    task = state["plans"]["1/01"]["tasks"]["2"]
    assert task["on"].partition("@")[0] in ("one", "two")
    assert world.told("placed") == [task["on"]], "told of only when it takes a while"
    log = Path(world.workspace.home) / "plans" / world.id / "logs" / task["log"]
    assert log.read_text() == "late\n"
    assert world.orphans() == [], "what it left in the background is ended with its plan"


def test_a_task_that_dask_runs_twice_counts_once(world: ClusterWorld) -> None:
    first = "if mkdir first; then echo $WORKER > where; sleep 600; fi"
    world.plan("1/01", auto(f"{world.note('begin')}; {first}"))

    def kill() -> None:
        where = world.root / "where"
        wait_for(lambda: where.exists() and where.read_text().strip())
        world.cluster.kill(where.read_text().strip())

    meanwhile(kill)
    assert world.run()["status"] == "done"
    assert world.noted() == ["begin", "begin"]
    assert world.done() == ["1/01#1"]
    assert len(world.records("task_started")) == 1, "Dask ran it again, by its own"
    assert world.orphans() == []


def test_the_result_of_a_start_that_was_given_up_is_refused_and_kept(world: ClusterWorld) -> None:
    """The first start goes on until the second has begun, and that one until the first was refused."""
    first = "until [ -e second ]; do sleep 0.02; done"
    second = "touch second; until [ -e refused ]; do sleep 0.02; done"
    world.plan("1/01", auto(f"if mkdir first; then {first}; else {second}; fi"))
    world.begin()
    runner = world.runner()
    executor: Any = runner.executor
    wait = executor.wait
    given_up: list[str] = []

    def forgetful(seconds: float, *others: int) -> list[Any]:
        """Takes the first start for lost, and hears of it all the same."""
        found: list[Any] = wait(seconds, *others)
        if world.records("completion_refused"):
            (world.root / "refused").touch()
        if not given_up and (world.root / "first").exists():
            given_up.extend(executor._starts)
            executor._starts.clear()
            return [{**ended_of(given_up[0], -9, ""), "lost": True}]
        return found

    executor.wait = forgetful
    assert runner.to_the_end()["status"] == "done"
    (refused,) = world.records("completion_refused")
    assert refused["body"]["mark"] == given_up[0]
    assert refused["body"]["as"] == "finish"
    assert world.done() == ["1/01#1"]


def test_needs_become_resources_and_what_nobody_offers_is_said(world: ClusterWorld) -> None:
    needs = ' needs="gpu=1"'
    world.plan("1/01", auto("echo $WORKER > where", attributes=needs))

    def bring() -> None:
        wait_for(lambda: world.told("waiting"))
        world.cluster.start_worker("three", needs={"gpu": 1})

    meanwhile(bring)
    assert world.run()["status"] == "done"
    said = world.told("waiting")
    assert "1/01#1 needs gpu=1, which no worker offers" in said[0]
    assert "one: nothing" in said[0]
    assert (world.root / "where").read_text().strip() == "three"


def test_a_scheduler_that_dies_is_waited_for(world: ClusterWorld) -> None:
    first = "if mkdir first; then sleep 600; fi"
    world.plan("1/01", auto(f"{world.note('begin')}; {first}") + auto(world.note("end")))

    def kill() -> None:
        wait_for((world.root / "first").exists)
        marks = world.orphans()
        world.cluster.kill_scheduler()
        wait_for(lambda: world.told("waiting"))
        assert marks
        wait_for(lambda: world.orphans() == [])
        world.cluster.start_scheduler()
        world.cluster.start_worker("three")

    thread = meanwhile(kill)
    assert world.run()["status"] == "done"
    thread.join()
    assert f"waiting for the scheduler at {world.cluster.address} since" in world.told("waiting")[0]
    (lost,) = world.records("task_lost")
    assert "went away" in lost["body"]["why"]
    assert world.noted() == ["begin", "begin", "end"]
    assert world.done() == ["1/01#1", "1/01#2"]


def test_an_interrupt_ends_the_programs_on_the_workers(world: ClusterWorld) -> None:
    world.plan("1/01", auto(f"{BACKGROUND} touch first; sleep 600"))
    run = world.process("plan", "run", "plans", "--on", world.cluster.address, "--json")
    wait_for((world.root / "first").exists)
    (world.id,) = [state["id"] for state in _runs(world)]
    assert world.orphans()
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert world.orphans() == []
    assert "user_interrupt" in out
    again = f"holdfast plan resume {world.id} --on {world.cluster.address}"
    assert json.loads(out.splitlines()[-1])["next"] == [again]


def test_nothing_outlives_a_killed_runner_and_a_resume_goes_on(world: ClusterWorld) -> None:
    first = "if mkdir first; then sleep 600; fi"
    world.plan("1/01", auto(f"{world.note('begin')}; {first}"))
    run = world.process("plan", "run", "plans", "--on", world.cluster.address)
    wait_for((world.root / "first").exists)
    (world.id,) = [state["id"] for state in _runs(world)]
    assert world.orphans()
    run.kill()
    run.communicate()
    wait_for(lambda: world.orphans() == [])
    assert world.run(begin=False)["status"] == "done"
    assert world.done() == ["1/01#1"]


def test_a_runner_that_is_only_frozen_starts_nothing_more(world: ClusterWorld) -> None:
    """Its tasks are ended where they run, and it cannot write: another has the run."""
    first = "if mkdir first; then sleep 600; fi"
    world.plan("1/01", auto(f"{world.note('begin')}; {first}"))
    run = world.process("plan", "run", "plans", "--on", world.cluster.address)
    wait_for((world.root / "first").exists)
    (world.id,) = [state["id"] for state in _runs(world)]
    run.send_signal(signal.SIGSTOP)
    lease = Path(world.workspace.home) / "plans" / world.id / "run"
    os.rename(lease, f"{lease}.old")  # as if it were on another machine
    assert world.run(begin=False)["status"] == "done"
    assert world.told("leftover")
    run.send_signal(signal.SIGCONT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 5, err
    assert world.done() == ["1/01#1"]


def _runs(world: ClusterWorld) -> list[Any]:
    return list(runs.every(world.workspace))


@pytest.mark.parametrize(
    ("version", "said"), [("none", "has no holdfast"), ("0.0.9", "has holdfast 0.0.9")]
)
def test_a_worker_that_cannot_read_what_is_sent_is_named_before_anything_runs(
    world: ClusterWorld, version: str, said: str
) -> None:
    world.plan("1/01", auto(world.note("never")))
    world.cluster.start_worker("three", version=version)
    world.wait_for_workers(3)
    refused = world.refused()
    assert refused.kind == "unfit_worker"
    assert said in refused.message
    assert world.noted() == []


def test_the_scheduler_has_to_read_it_as_well(
    nursery: Nursery, folder: Path, repository: Path
) -> None:
    cluster = Cluster(nursery, folder, version="none")
    world = ClusterWorld(repository, cluster)
    world.plan("1/01", auto(world.note("never")))
    assert "the scheduler has no holdfast" in world.refused().message
    world.close()
    cluster.close()


def test_a_worker_of_another_version_that_comes_later_says_so_itself(world: ClusterWorld) -> None:
    world.plan("1/01", auto("sleep 0.1") + auto(world.note("never"), attributes=' needs="late=1"'))

    def bring() -> None:
        wait_for(lambda: world.told("waiting"))
        world.cluster.start_worker("late", needs={"late": 1}, version="0.0.9")

    meanwhile(bring)
    world.begin(tries=1)
    assert "has holdfast 0.0.9" in world.halted(begin=False).text
    assert world.noted() == []


def test_programs_see_the_workers_surroundings_and_not_the_runners(
    world: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_RUNNER", "here")
    world.plan("1/01", auto("echo $WORKER $OF_THE_RUNNER $HOLDFAST_TASK > seen"))
    assert world.run()["status"] == "done"
    assert (world.root / "seen").read_text().split()[1:] == ["1/01#1"]


def test_what_dask_never_hears_of_is_ended_too(world: ClusterWorld) -> None:
    """A worker that is asked to close ends its programs before it is gone."""
    first = "if mkdir first; then echo $WORKER > where; sleep 600; fi"
    world.plan("1/01", auto(first))

    def close() -> None:
        where = world.root / "where"
        wait_for(lambda: where.exists() and where.read_text().strip())
        name = where.read_text().strip()
        os.kill(world.cluster.workers.pop(name), signal.SIGTERM)

    meanwhile(close)
    assert world.run()["status"] == "done"
    assert world.orphans() == []


def test_two_runs_share_a_cluster_and_keep_apart(world: ClusterWorld) -> None:
    """One is interrupted, and the other does not notice."""
    world.plan("1/01", auto("touch other; until [ -e go ]; do sleep 0.05; done; touch gone"))
    run = world.process("plan", "run", "plans", "--on", world.cluster.address, "--json")
    wait_for((world.root / "other").exists)
    other = _runs(world)[0]["id"]
    (world.root / "plans" / "1-01.md").unlink()
    world.plan("2/01", auto("touch first; sleep 600"))
    world.begin()
    interrupts = Interrupts()

    def interrupt() -> None:
        wait_for((world.root / "first").exists)
        interrupts.count += 1

    meanwhile(interrupt)
    assert world.halted(begin=False, interrupts=interrupts).exit_code == 130
    assert world.orphans() == []
    (world.root / "go").touch()
    _, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert runs.read(world.workspace, other)["status"] == "done"
    assert (world.root / "gone").exists()


def test_the_journal_may_be_on_a_server(on_server: str, repository: Path, cluster: Cluster) -> None:
    cluster.start_worker("one")
    world = ClusterWorld(repository, cluster)
    world.plan("1/01", auto(world.note("one")) + auto(world.note("two")))
    assert world.run()["status"] == "done"
    assert "postgresql" in world.workspace.journal.place
    assert world.noted() == ["one", "two"]
    world.close()
