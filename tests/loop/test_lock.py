"""The lock that shell scripts take too: taken, waited for, given back, and broken by the rule only."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.tree_file import TreeFile
from holdfast.loop.lock import LockTimeout, TrackLock
from holdfast.processes.identity import own, started
from tests.loop.world import World
from tests.processes import process, wait_for

Make = Callable[..., TrackLock]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make(patience=1)`: a lock of the track in this folder."""

    def made(*, patience: float = 30, stale_after: float = 300) -> TrackLock:
        guard = str(tmp_path / "home" / "holder")
        return TrackLock(
            TreeFile(str(tmp_path.parent), tmp_path.name),
            guard,
            patience=patience,
            stale_after=stale_after,
        )

    return made


@pytest.mark.clause("LOOP-45", "LOOP-47", "AMB-LOOP-06")
def test_the_folder_is_there_and_empty_during_an_update_and_gone_after(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    execute = type(world.track.writer).execute

    def watched(*arguments: object, **options: object) -> object:
        seen.append(os.listdir(world.lock))
        return execute(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(world.track.writer), "execute", watched)
    world.start("PLAN")
    assert seen == [[]]
    assert not world.lock.exists()


@pytest.mark.clause("LOOP-47", "AMB-LOOP-07")
def test_the_lock_is_given_back_when_the_update_fails(world: World) -> None:
    world.start("PLAN")
    with pytest.raises(HoldfastError):
        world.do("progress", fields={"tasks_completed": 2, "tasks_total": 1})
    assert not world.lock.exists()


@pytest.mark.clause("LOOP-46")
def test_a_second_writer_waits_and_tries_every_tenth_of_a_second(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start("PLAN")
    world.lock.mkdir()
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            world.lock.rmdir()

    monkeypatch.setattr(time, "sleep", pause)
    world.do("progress", fields={"current_phase": 1})
    assert pauses == [0.1, 0.1, 0.1]
    assert world.checkpoint("PLAN")["progress"] == {"current_phase": 1}


@pytest.mark.clause("LOOP-46")
def test_a_script_waits_for_us(make: Make, tmp_path: Path) -> None:
    script = 'while ! mkdir "$1" 2>/dev/null; do sleep 0.1; done; echo got; rmdir "$1"'
    with make() as held:
        shell = subprocess.Popen(
            ["bash", "-c", script, "bash", held.path], stdout=subprocess.PIPE, text=True
        )
        with pytest.raises(subprocess.TimeoutExpired):
            shell.wait(0.3)
    assert shell.communicate(timeout=30)[0] == "got\n"
    assert not os.path.exists(held.path)


@pytest.mark.clause("AMB-LOOP-06")
def test_a_lock_that_is_held_too_long_is_an_error_that_names_it(make: Make, tmp_path: Path) -> None:
    (tmp_path / ".metadata.lock").mkdir()
    with pytest.raises(LockTimeout) as late, make(patience=0.2):
        pass
    assert str(tmp_path / ".metadata.lock") in late.value.message
    assert " s old" in late.value.message
    assert (late.value.exit_code, late.value.retryable) == (75, True)
    assert (tmp_path / ".metadata.lock").is_dir(), "it is not ours to remove"


@pytest.mark.clause("AMB-LOOP-06")
def test_the_limits_are_those_of_the_protocol(world: World) -> None:
    assert world.track._patience == 30
    assert world.track._stale_after == 300


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.mark.clause("AMB-LOOP-06")
def test_another_tools_lock_is_broken_after_the_limit_and_not_before(
    make: Make, tmp_path: Path
) -> None:
    lock = tmp_path / ".metadata.lock"
    lock.mkdir()
    age(lock, 290)
    with pytest.raises(LockTimeout), make(patience=0.2):
        pass
    age(lock, 301)
    with make(patience=0.2) as held:
        assert lock.is_dir()
    (broken,) = held.broken
    assert (broken["lock"], broken["holder"]) == (str(lock), "another tool")
    assert broken["age_seconds"] >= 301
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.clause("AMB-LOOP-06")
def test_our_own_dead_holder_is_broken_at_once(world: World) -> None:
    """A process of ours is killed while it holds the lock: nobody waits for five minutes."""
    world.start("EXECUTE", tasks_total=3)
    code = (
        "import os, signal, sys\n"
        "from tests.loop.world import World\n"
        "from pathlib import Path\n"
        "world = World(Path(sys.argv[1]))\n"
        "world.track.lock().__enter__()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    project = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", code, str(world.root)], cwd=project, check=False)
    assert world.lock.is_dir()
    assert not stat.S_IMODE(world.lock.stat().st_mode) & stat.S_IWUSR
    known = json.loads(Path(world.track.place.guard).read_text())
    assert known["pid"] != own()[0]
    assert known["started"] != ""
    done = world.do("task_done", task="1.1")
    (broken,) = done.broken
    assert broken["holder"] == f"holdfast process {known['pid']}, which is gone"
    assert not world.lock.exists()
    assert world.kinds() == ["started", "task_done", "lock_broken"], "it is on the record"
    assert world.do("task_done", task="1.2").broken == []


@pytest.mark.clause("AMB-LOOP-06")
def test_a_fresh_lock_of_another_tool_survives_our_dead_holder(make: Make, tmp_path: Path) -> None:
    """We died, somebody removed our lock by hand, and a script took its own."""
    guard = tmp_path / "home" / "holder"
    guard.parent.mkdir()
    guard.write_text(json.dumps({"pid": 2**22 + 1, "started": "1"}))
    (tmp_path / ".metadata.lock").mkdir()
    with pytest.raises(LockTimeout), make(patience=0.2):
        pass
    assert (tmp_path / ".metadata.lock").is_dir()


@pytest.mark.clause("AMB-LOOP-06")
def test_a_lock_that_changed_hands_while_it_was_broken_is_given_back(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / ".metadata.lock"
    lock.mkdir()
    age(lock, 1000)
    rename = os.rename
    others: list[int] = []

    def late(source: str, target: str, **folders: int) -> None:
        if not others:
            # Its owner came back, gave it up, and another script took it: all before our rename.
            keep = tmp_path / "keep"
            keep.mkdir()  # so that the inode is not used again
            rename(lock, tmp_path / "old")
            lock.mkdir()
            others.append(lock.stat().st_ino)
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", late)
    with pytest.raises(LockTimeout), make(patience=0.2) as held:
        assert held.broken == []
    assert lock.stat().st_ino == others[0]


@pytest.mark.clause("AMB-LOOP-06")
def test_one_breaker_at_a_time(make: Make, tmp_path: Path) -> None:
    lock = tmp_path / ".metadata.lock"
    lock.mkdir()
    age(lock, 1000)
    inside, most, broken = [0], [0], [0]

    def work() -> None:
        with make() as held:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.01)
            inside[0] -= 1
        broken[0] += len(held.broken)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], broken[0]) == (1, 1)


def test_a_stale_lock_that_somebody_put_things_into_is_moved_out_of_the_way(
    make: Make, tmp_path: Path
) -> None:
    lock = tmp_path / ".metadata.lock"
    lock.mkdir()
    (lock / "mine").write_text("x")
    age(lock, 1000)
    with make(patience=0.2):
        pass
    (kept,) = tmp_path.glob(".metadata.lock.broken-*")
    assert (kept / "mine").read_text() == "x"


def test_a_process_is_known_by_its_number_and_its_start() -> None:
    number, since = own()
    assert started(number) == since != ""
    assert started(2**22 + 1) == ""


def test_the_command_line_gives_up_after_its_limit(world: World) -> None:
    world.start("PLAN")
    world.lock.mkdir()
    words = ("loop", "progress", "--current-phase", "1", "--json")
    ended = process(*words, HOLDFAST_LOOP_LOCK_SECONDS="1")
    out, _ = ended.communicate(timeout=60)
    assert ended.returncode == 75
    error = json.loads(out)["error"]
    assert (error["kind"], error["retryable"]) == ("lock_timeout", True)
    assert ".metadata.lock" in error["message"]


def test_a_waiting_process_goes_on_when_the_lock_is_free(world: World) -> None:
    world.start("PLAN")
    world.lock.mkdir()
    waiting = process("loop", "progress", "--current-phase", "1")
    wait_for(lambda: Path(world.track.place.guard).stat().st_size > 0)
    assert waiting.poll() is None
    world.lock.rmdir()
    assert waiting.wait(60) == 0, waiting.stderr
    assert world.checkpoint("PLAN")["progress"] == {"current_phase": 1}
    waiting.communicate()
