"""Changes that a file's times do not show: no state misses one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.git.capture import capture
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.undo import operations, store
from holdfast.undo.operations import UndoRequest
from holdfast.undo.store import Store
from tests.conftest import Git
from tests.undo import scene
from tests.undo.scene import Prompts, picture_of

if TYPE_CHECKING:
    from holdfast.undo.rules.prompts import TreeState

rich, prompts = scene.rich, scene.prompts
# A state takes a part of a second; on a busy machine the second is over sometimes, and it is tried again.
TRIES = 60
OLD = 1_600_000_000_000_000_000


def take() -> TreeState:
    states = Store(discover())
    with states.shadow() as shadow:
        return states.take(shadow, clock.now())


def die_after_capture(*given: object) -> object:
    capture(*given)  # type: ignore[arg-type]
    raise KeyboardInterrupt


def take_in_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time() + 1000
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: now)
        take()


def in_one_second(path: Path, first: Callable[[], object], second: Callable[[], object]) -> None:
    """Do both in the same second, as the time of the file's last change has it, with a state in between that is kept."""
    for _ in range(TRIES):
        time.sleep(1.0 - time.time() % 1.0)
        first()
        began = int(path.stat().st_ctime)
        before = take()
        second()
        if int(path.stat().st_ctime) == began:
            after = take()
            assert after["id"] != before["id"]
            assert (after["files"], after["extras"]) != (before["files"], before["extras"])
            return
    pytest.fail("a state takes longer than a second here")


def write(path: Path, content: str, mode: int = 0o644, at: int = OLD) -> None:
    path.write_text(content)
    path.chmod(mode)
    os.utime(path, ns=(at, at))


@pytest.mark.parametrize("name", ["one.py", "notes.txt", "sub/deep/five.py"])
def test_a_change_of_the_same_size_time_and_second_is_seen(rich: Path, name: str) -> None:
    path = rich / name
    take()
    in_one_second(path, lambda: write(path, "before\n"), lambda: write(path, "after!\n"))


def test_a_change_in_the_second_of_a_rename_is_seen(rich: Path) -> None:
    """As an editor does that writes beside and renames, and gives the new file the old one's time."""
    path, beside = rich / "one.py", rich / "beside"
    write(path, "before\n")
    take()

    def replace(content: str) -> None:
        write(beside, content)
        os.replace(beside, path)

    in_one_second(path, lambda: replace("rename\n"), lambda: write(path, "after!\n"))


def test_a_mode_in_the_second_of_a_state_is_seen(rich: Path) -> None:
    path = rich / "one.py"
    take()
    in_one_second(path, lambda: path.chmod(0o600), lambda: path.chmod(0o640))


def test_a_change_in_the_second_of_the_users_git_add_is_seen(rich: Path, git: Git) -> None:
    """The first state begins with the user's index, which has a file's times of that second."""
    path = rich / "one.py"
    for _ in range(TRIES):
        time.sleep(1.0 - time.time() % 1.0)
        write(path, "before\n")
        began = int(path.stat().st_ctime)
        git("add", "one.py")
        write(path, "after!\n")
        if int(path.stat().st_ctime) == began:
            break
    else:
        pytest.fail("git add takes longer than a second here")
    tree = take()["files"]
    assert git("cat-file", "blob", f"{tree}:one.py") == "after!\n"


def test_a_clock_that_was_set_back_hides_no_change(
    rich: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of the last state comes again, and in it a file is written with its old size and time."""
    path = rich / "one.py"
    write(path, "before\n")
    take_in_the_future(monkeypatch)
    second = path.stat()
    for _ in range(TRIES):
        write(path, "after!\n")
        if int(path.stat().st_ctime) == int(second.st_ctime):
            break
        write(path, "before\n")
        take_in_the_future(monkeypatch)
        second = path.stat()
    tree = take()["files"]
    assert git("cat-file", "blob", f"{tree}:one.py") == "after!\n"


def test_what_git_is_told_not_to_look_at_is_looked_at(rich: Path, git: Git) -> None:
    git("config", "core.trustctime", "false")
    git("config", "core.checkStat", "minimal")
    git("config", "core.fileMode", "false")
    write(rich / "one.py", "before\n")
    before = take()
    time.sleep(1.1)
    write(rich / "one.py", "after!\n")
    after = take()
    assert git("cat-file", "blob", f"{after['files']}:one.py") == "after!\n"
    (rich / "two.py").chmod(0o755)
    assert git("ls-tree", take()["files"], "two.py").startswith("100755")
    assert git("ls-tree", before["files"], "two.py").startswith("100644")


def test_a_state_that_was_cut_off_forgets_no_mode(
    rich: Path, prompts: Prompts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index knows the file then, and git names it no more."""
    take()
    time.sleep(2.1)  # no file is among those that changed just now
    prompts.begin("Change")
    before = picture_of(rich)
    (rich / "one.py").chmod(0o600)
    with monkeypatch.context() as patched:
        patched.setattr(store, "capture", die_after_capture)
        with pytest.raises(KeyboardInterrupt):
            prompts.end()
    prompts.end()
    after = picture_of(rich)
    operations.undo(discover(), UndoRequest(), actor="tester", now=prompts.now + 1)
    assert picture_of(rich) == before
    operations.undo(discover(), UndoRequest(redo=True), actor="tester", now=prompts.now + 2)
    assert picture_of(rich) == after


@pytest.mark.parametrize("content", ["at this instant\n", "line 0\n" * 20])
def test_an_edit_between_the_look_and_the_undo_stays(
    rich: Path, prompts: Prompts, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """The files are looked at first, and taken back a tenth of a second later."""
    prompts.begin("Change")
    (rich / "one.py").write_text("line 1\n" * 20)
    (rich / "two.py").unlink()
    (rich / "private.py").unlink()
    prompts.end()
    facts = (rich / "one.py").stat()
    keep = Store.keep

    def edit(*given: object, **named: object) -> object:
        (rich / "one.py").write_text(content)
        os.utime(rich / "one.py", ns=(facts.st_atime_ns, facts.st_mtime_ns))
        (rich / "two.py").write_text("the person's\n")
        return keep(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "keep", edit)
    done = operations.undo(discover(), UndoRequest(), actor="tester", now=prompts.now + 1)
    assert sorted(one.split(" ")[0] for one in done["left"]) == ["one.py", "two.py"]
    assert (rich / "one.py").read_text() == content
    assert (rich / "two.py").read_text() == "the person's\n"
    assert (rich / "private.py").read_text() == "mode 600\n"
