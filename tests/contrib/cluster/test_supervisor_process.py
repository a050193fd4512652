"""Programs that another process keeps, for a caller with threads."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.contrib.cluster.supervisor_process import ProgramsApart
from holdfast.kernel.digest import new_id
from holdfast.processes import tree
from holdfast.processes.supervisor import Ended, Job
from tests.processes import wait_for


class Apart:
    """Programs in a folder, from as many threads as there are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = ProgramsApart()
        self.told = 0

    def job(self, command: str, input: str = "") -> Job:
        mark = new_id()
        return {
            "mark": mark,
            "stages": [{"name": "run", "words": ["/bin/sh", "-c", command], "input": input}],
            "folder": str(self.folder),
            "environment": dict(os.environ),
            "log": str(self.folder / "logs" / mark),
            "own": str(self.folder / "own"),
            "seconds": None,
        }

    def run(self, job: Job) -> Ended:
        return self.programs.run(job, self.count, 0.05)

    def count(self) -> None:
        self.told += 1

    def in_a_thread(self, job: Job) -> threading.Thread:
        self.ended: list[Ended] = []
        thread = threading.Thread(target=lambda: self.ended.append(self.run(job)))
        thread.start()
        wait_for(lambda: tree.find_marked([job["mark"]]))
        return thread


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Apart]:
    made = Apart(tmp_path)
    yield made
    made.programs.close()


def test_many_threads_run_programs_at_once(apart: Apart) -> None:
    jobs = [apart.job(f"cat; exit {number}", input="x" * 200_000) for number in range(12)]
    with ThreadPoolExecutor(6) as threads:
        ended = list(threads.map(apart.run, jobs))
    assert [one["code"] for one in ended] == list(range(12))
    assert [one["mark"] for one in ended] == [job["mark"] for job in jobs]
    wait_for(lambda: apart.programs.alive == set())


def test_its_place_is_told_again_and_again_while_it_works(apart: Apart) -> None:
    job = apart.job("until [ -e go ]; do sleep 0.02; done")
    thread = apart.in_a_thread(job)
    wait_for(lambda: apart.told > 1)
    (apart.folder / "go").touch()
    thread.join()
    assert apart.ended[0]["code"] == 0


def test_an_order_to_end_reaches_it_and_all_that_it_started(apart: Apart) -> None:
    job = apart.job("(setsid sleep 600 &); sleep 600")
    thread = apart.in_a_thread(job)
    apart.programs.end([job["mark"]])
    thread.join()
    assert apart.ended[0]["code"] == -signal.SIGTERM
    assert tree.find_marked([job["mark"]]) == []


def test_one_that_was_ended_before_it_began_never_does(apart: Apart) -> None:
    job = apart.job("touch begun")
    apart.programs.end([job["mark"]])
    assert apart.run(job)["code"] == -signal.SIGTERM
    assert not (apart.folder / "begun").exists()


def test_what_is_left_in_the_background_is_told_and_ended(apart: Apart) -> None:
    job = apart.job("sleep 600 & true")
    assert apart.run(job)["left"]
    assert apart.programs.alive == {job["mark"]}
    apart.programs.end([job["mark"]])
    wait_for(lambda: apart.programs.alive == set())
    assert tree.find_marked([job["mark"]]) == []


def test_the_process_between_is_killed_and_nothing_is_left_of_it(apart: Apart) -> None:
    job = apart.job("(setsid sleep 600 &); sleep 600")
    thread = apart.in_a_thread(job)
    assert apart.programs._process is not None
    os.kill(apart.programs._process.pid, signal.SIGKILL)
    thread.join()
    assert apart.ended[0]["lost"]
    wait_for(lambda: tree.find_marked([job["mark"]]) == [])
    assert apart.run(apart.job("exit 4"))["code"] == 4, "the next one gets a new process"


def test_closing_ends_everything(apart: Apart) -> None:
    job = apart.job("sleep 600")
    thread = apart.in_a_thread(job)
    apart.programs.close()
    thread.join()
    assert tree.find_marked([job["mark"]]) == []
