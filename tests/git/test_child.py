"""A program that is given its input and read to its end, without `subprocess`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from holdfast.processes.child import UNKNOWN_END, Child, TimeOut

LARGE = b"x" * 3_000_000


def start(script: str, *, fed: bool = True) -> Child:
    return Child(["sh", "-c", script], dict(os.environ), fed=fed)


def test_input_and_both_outputs_larger_than_a_pipe() -> None:
    child = start("tee /dev/stderr")
    assert child.communicate(LARGE, 60) == (LARGE, LARGE)
    assert child.code == 0


def test_a_program_that_does_not_take_its_input() -> None:
    child = start("exec <&-; echo done; exit 3")
    assert child.communicate(LARGE, 60) == (b"done\n", b"")
    assert child.code == 3


def test_without_input_it_reads_nothing() -> None:
    child = start("cat", fed=False)
    assert child.communicate(None, 60) == (b"", b"")


def test_a_signal_is_a_negative_code() -> None:
    child = start("kill -9 $$")
    child.communicate(None, 60)
    assert child.code == -9


def test_a_process_that_ignores_its_childrens_ends_does_not_take_a_failure_for_a_success() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        child = start("echo said; exit 3")
        assert child.communicate(None, 60) == (b"said\n", b"")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert child.code == UNKNOWN_END


def test_what_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    child = start(f"sleep 60 & echo $! > {mark}; wait")
    with pytest.raises(TimeOut):
        child.communicate(None, 0.3)
    child.end(5)
    assert child.code == -15
    started = int(mark.read_text())
    deadline = time.monotonic() + 10
    while _runs(started):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_a_program_that_is_not_there_leaves_no_descriptor() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        Child(["no-such-program-of-ours"], dict(os.environ), fed=True)
    assert len(os.listdir("/proc/self/fd")) == before
