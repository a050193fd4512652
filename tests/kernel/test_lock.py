"""The workspace's lock: who waits, gets it when it is free, and leaves no trace when it comes too late."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from holdfast.kernel import lock
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.lock import WorkspaceLock


def test_a_waiting_writer_has_the_lock_once_it_is_free(tmp_path: Path) -> None:
    home = str(tmp_path)
    holder = WorkspaceLock(home)
    holder.acquire()
    release = threading.Timer(0.2, holder.release)
    release.start()
    began = time.monotonic()

    with WorkspaceLock(home):
        assert time.monotonic() - began > 0.1, "not while the other one had it"
        with pytest.raises(StoreAway):
            WorkspaceLock(home, patience=0.0).acquire()
    release.join()


def test_a_lock_that_comes_too_late_is_given_back(tmp_path: Path) -> None:
    home = str(tmp_path)
    with WorkspaceLock(home):
        for _ in range(3):
            with pytest.raises(StoreAway) as raised:
                WorkspaceLock(home, patience=0.02).acquire()
            assert raised.value.kind == "store_busy"
    with WorkspaceLock(home, patience=1.0):
        pass


def test_without_a_thread_the_writer_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    home = str(tmp_path)
    holder = WorkspaceLock(home)
    holder.acquire()
    release = threading.Timer(0.05, holder.release)
    release.start()
    monkeypatch.setattr(lock, "start_new_thread", refuse)
    with WorkspaceLock(home):
        release.join()
    holder.acquire()
    with pytest.raises(StoreAway):
        WorkspaceLock(home, patience=0.02).acquire()
    holder.release()
