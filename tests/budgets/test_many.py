"""Many processes at one threshold: one alert, one stop, one waypoint, every line of the metrics once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter

import pytest

from holdfast.budgets import side_files
from holdfast.kernel import latch
from holdfast.kernel.jsonl import LineFile
from tests import warm
from tests.budgets.world import METRICS, Scene

PROCESSES = 6
# All look at the same instant: they wait until a file is there.
CHECK = """
import os, sys, time
from holdfast.cli.frame import run
while not os.path.exists("now"):
    time.sleep(0.001)
sys.exit(run(["guard", *sys.argv[1:]]))
"""


def together(scene: Scene, *words: str, count: int = PROCESSES) -> list[int]:
    """The exit codes of the same command in many processes at once."""
    started = [
        warm.start(
            [sys.executable, "-c", CHECK, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(count)
    ]
    (scene.root / "now").touch()
    codes = [process.wait(timeout=120) for process in started]
    (scene.root / "now").unlink()
    return codes


@pytest.mark.clause("PILOT-47", "AMB-PILOT-01")
def test_many_that_cross_an_alert_at_once_make_one(scene: Scene) -> None:
    assert together(scene, "check", "--cost", "26.50") == [8] * PROCESSES
    pending = scene.state["pending"]
    assert list(pending) == ["cost"]
    raised = [
        record["body"]["at"]
        for record in scene.workspace.journal.read("budget:default")
        if record["kind"] == "checked"
    ]
    assert pending["cost"]["since"] == raised[0], "the first one's"
    scene.ack("cost")
    assert together(scene, "check", "--cost", "27") == [0] * PROCESSES
    assert scene.kinds().count("acknowledged") == 1


def test_many_that_cross_the_stop_at_once_make_one(scene: Scene) -> None:
    assert together(scene, "check", "--cost", "52.30") == [7] * PROCESSES
    assert scene.kinds().count("stopped") == 1
    assert len(scene.waypoints()) == 1
    assert latch.read(scene.workspace) is not None


def test_two_that_miss_the_same_lines_append_them_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither looks at the file while the other is between its look and its lines."""
    for _ in range(3):
        scene.check(cost=11, context=31)
    METRICS.unlink()
    looked = [threading.Event(), threading.Event()]
    real = LineFile.last

    def last(file: LineFile) -> object:
        found = real(file)
        mine = looked.pop()
        mine.set()
        for other in looked:
            other.wait(0.3)  # it cannot come; a broken lock lets it
        return found

    monkeypatch.setattr(LineFile, "last", last)
    words = (scene.workspace, "budget:default", 6, ())
    records = scene.workspace.journal.read("budget:default")
    monkeypatch.setattr(scene.workspace.journal, "read", lambda *_, **__: records)
    threads = [threading.Thread(target=side_files.append_metrics, args=words) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["number"] for line in scene.metrics()] == [1, 2, 3, 4, 5, 6]


def test_every_line_of_the_metrics_is_there_once(scene: Scene) -> None:
    METRICS.parent.mkdir(parents=True)
    together(scene, "check", "--cost", "11", "--context", "31")
    numbers = Counter(line["number"] for line in scene.metrics())
    assert numbers == Counter(range(1, 2 * PROCESSES + 1))


def test_reports_of_many_programs_all_count(scene: Scene) -> None:
    together(scene, "report", "--add-cost", "0.10", "--add-tokens", "7")
    assert scene.state["added"]["cost"] == PROCESSES * 100_000
    assert scene.state["added"]["tokens"] == PROCESSES * 7
