"""A writer that waits for the lock decides and stages its views meanwhile. What happens to the stream and to
its files before it gets the lock is not lost."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from _thread import get_ident
from collections.abc import Callable

import pytest

from holdfast.kernel import clock
from holdfast.kernel.commit import Order, leave_in_inbox
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.workspace import discover
from holdfast.streams import open_writer
from tests import warm
from tests.kernel.views.scene import STREAM, Scene, child_command, clean_environment

# Remembers the stream, says so, and writes again once another process has the lock.
WRITE_AND_DIE = """
note("one")
crash.register(sys.argv[2], die)
print("ready", flush=True)
sys.stdin.readline()
note("waited")
"""


def asides(scene: Scene) -> set[str]:
    return {path.name.rpartition(".")[2] for path in scene.asides()}


def wait_until_staged(scene: Scene, before: set[str]) -> None:
    deadline = time.monotonic() + 30
    while asides(scene) == before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert asides(scene) != before, "nothing was staged"


def while_it_waits(scene: Scene, meanwhile: Callable[[], object]) -> None:
    """Write a note while another process has the lock; `meanwhile` happens once its view is staged."""
    before = asides(scene)
    failed: list[BaseException] = []

    def write() -> None:
        try:
            scene.note("waited")
        except BaseException as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    with WorkspaceLock(scene.workspace.home):
        writer.start()
        wait_until_staged(scene, before)
        meanwhile()
    writer.join()
    assert not failed
    assert scene.text() == scene.rendered()
    assert scene.problems() == []


def test_what_was_prepared_is_written(scene: Scene) -> None:
    scene.note("one")
    staged: set[str] = set()
    while_it_waits(scene, lambda: staged.update(asides(scene)))
    assert scene.texts() == ["one", "waited"]
    assert scene.kinds() == ["noted", "noted"]
    assert len(asides(scene) & staged) == 1, "the displaced file has the name of the staged one"


def test_an_edit_before_the_lock_is_a_record(scene: Scene) -> None:
    scene.note("one")
    while_it_waits(scene, lambda: scene.view.write_text(f"{scene.text()}- by hand\n"))
    assert scene.texts() == ["one", "by hand", "waited"]
    assert scene.kinds() == ["noted", "edited_outside", "noted"]


def test_a_file_that_is_removed_before_the_lock_stays_removed(scene: Scene) -> None:
    scene.note("one")
    staged = asides(scene)
    with pytest.raises(FileNotFoundError):
        while_it_waits(scene, scene.view.unlink)
    assert scene.kinds() == ["noted", "removed_outside", "noted"]
    assert asides(scene) <= staged


def test_another_writer_that_comes_first_is_kept(scene: Scene) -> None:
    scene.note("one")

    def write_first() -> None:
        other = open_writer(discover(str(scene.root)))
        other.locked_by = get_ident()  # this test has the lock
        command = {"add": "first", "by": "another"}
        other.execute(STREAM, command, actor="another", now=clock.now())

    while_it_waits(scene, write_first)
    assert scene.texts() == ["one", "first", "waited"]


def test_a_command_in_the_inbox_comes_first(scene: Scene) -> None:
    scene.note("one")

    def queue() -> None:
        order = Order(STREAM, {"add": "queued", "by": "agent"})
        leave_in_inbox(scene.writer, order, "b" * 26, "agent", clock.now())

    while_it_waits(scene, queue)
    assert scene.texts() == ["one", "queued", "waited"]


def test_nothing_is_left_behind_when_the_lock_does_not_come(scene: Scene) -> None:
    workspace = discover(str(scene.root), local=True)
    workspace.patience = 0.05
    hook = open_writer(workspace)
    first, second = ({"add": text, "by": "hook"} for text in ("one", "two"))
    hook.execute(STREAM, first, actor="hook", now=clock.now())
    before = asides(scene)
    with WorkspaceLock(scene.workspace.home):
        assert hook.execute(STREAM, second, actor="hook", now=clock.now())["queued"]
        assert asides(scene) == before
    scene.note("three")
    assert scene.texts() == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("point", "texts"),
    [
        ("before append", ["one", "next"]),
        ("after append", ["one", "waited", "next"]),
        ("before placing", ["one", "waited", "next"]),
        ("after placing", ["one", "waited", "next"]),
    ],
)
def test_the_next_writer_repairs_what_a_crash_left(
    scene: Scene, point: str, texts: list[str]
) -> None:
    with warm.Process(
        child_command(scene.root, WRITE_AND_DIE, point),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        before = asides(scene)
        with WorkspaceLock(scene.workspace.home):
            child.stdin.write("go\n")
            child.stdin.flush()
            wait_until_staged(scene, before)
        assert child.wait(30) == -signal.SIGKILL
    scene.note("next")
    assert scene.texts() == texts
    assert scene.text() == scene.rendered()
    assert set(scene.kinds()) == {"noted"}, "the file of a crash is no edit"
    assert scene.problems() == []
