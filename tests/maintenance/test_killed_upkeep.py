"""`trust`, `conflicts --take`, `doctor --fix` and `uninstall --everything`, killed before each change that
they make to a file: nothing is half done, and the next run goes on."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.kernel import clock, config
from holdfast.kernel.workspace import discover
from tests import warm
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.gates.person import Terminal, does

pytestmark = pytest.mark.usefixtures("repository")
MOST = 400
# Kills itself before the number-th change of a file, counted from the person's word on, where one is asked.
PROGRAM = """
import os, signal, sys
from holdfast.cli.frame import run

number, begins, *words = sys.argv[1:]
left, is_counting = int(number), begins == "at once"
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink"}
WRITES = os.O_WRONLY | os.O_RDWR

def look(event, given):
    global left, is_counting
    if event == "open" and given[0] == "/dev/tty":
        is_counting = True
        return
    writes = event == "open" and isinstance(given[2], int) and given[2] & WRITES
    if is_counting and (writes or event in CHANGES):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(look)
sys.exit(run(words))
"""


def die_before(number: int, *words: str, asks: bool) -> bool:
    """Whether the command died before this change; otherwise it came to its end."""
    if asks:
        terminal = Terminal(str(number), "asked", *words, program=PROGRAM)
        terminal.type_back()
        code, said = terminal.leave()
    else:
        program = [sys.executable, "-c", PROGRAM, str(number), "at once", *words]
        done = warm.run(program, capture_output=True, timeout=60)
        code, said = done.returncode, str(done.stderr)
    assert code in (0, -signal.SIGKILL), said
    return code != 0


def each_death(*words: str, asks: bool, step: int = 1) -> Iterator[int]:
    """Let the command die before its first change, then before its second, until one run ends."""
    for number in range(1, MOST, step):
        if not die_before(number, *words, asks=asks):
            assert number > 1, "nothing was changed"
            return
        yield number
    raise AssertionError("it never ends")


def test_trust_is_whole_or_not_there(holdfast: Holdfast) -> None:
    Path("holdfast.toml").write_text('[probe]\ntests = "true"\n')
    holdfast("note", "one")
    for _ in each_death("trust", asks=True):
        assert config.load(discover())["probe.tests"] in ("", "true")
        assert holdfast("trust", "--show").code == 0
        assert holdfast("trust", "--forget").code in (0, 3)
    assert config.load(discover())["probe.tests"] == "true"


def test_a_conflict_that_was_being_settled(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second passes at each look at the clock. Within one second no line tells the copies apart.
    began, seconds = clock.now(), itertools.count()
    monkeypatch.setattr(clock, "now", lambda: began + 1000 * next(seconds))
    progress = Path(".ccc-progress.md")

    def meet() -> str:
        holdfast("checkpoint", "--issue", "ENG-12", "--task", "the first task")
        copy = progress.read_text()
        holdfast("checkpoint", "--task", "the second task")
        progress.write_text(copy.replace("the first task", "by hand", 1))
        holdfast("checkpoint", "--status", "going on")
        (one,) = holdfast("conflicts", "--json").data["conflicts"]
        return str(one["id"])

    for number in range(1, MOST):
        id = meet()
        died = die_before(number, "conflicts", id, "--take", "kept", asks=True)
        assert holdfast("verify").code == 0
        if holdfast("conflicts", "--json").data["conflicts"]:
            assert died
            done = does("conflicts", id, "--take", "kept")
            assert done.code == 0, done.screen
        assert holdfast("conflicts", "--json").data["conflicts"] == []
        holdfast("checkpoint", "--status", "still going on")
        assert "by hand" not in progress.read_text()
        if not died:
            break
    assert number > 3


def test_a_repair_that_was_killed_goes_on(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    note, strange = Path(".notes/default.md"), Path(".autopilot/config.yaml")

    def break_things() -> None:
        note.unlink(missing_ok=True)
        strange.parent.mkdir(exist_ok=True)
        if not strange.exists():
            os.mkfifo(strange)

    break_things()
    for _ in each_death("doctor", "--fix", asks=False):
        break_things()
        assert holdfast("verify").code == 0
        assert "one" in holdfast("note").out
    assert not strange.exists()
    assert holdfast("doctor").code == 0


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.proof)])
def test_a_removal_of_everything_that_was_killed_goes_on(
    step: int, holdfast: Holdfast, git: Git
) -> None:
    before = git("status", "--porcelain", "--ignored")

    def work() -> None:
        holdfast("init", "--client", "claude")
        holdfast("checkpoint", "--task", "Renderer")
        holdfast("note", "one")
        holdfast("snapshot", "create")

    def is_clean() -> bool:
        return (
            git("status", "--porcelain", "--ignored") == before
            and git("for-each-ref", "refs/holdfast") == ""
            and not Path(".git/holdfast").exists()
        )

    work()
    for number in each_death("uninstall", "--everything", asks=True, step=step):
        again = holdfast("uninstall", "--json")
        assert again.code == 0, (number, again.err)
        if not is_clean():
            done = does("uninstall", "--everything")
            assert done.code == 0, (number, done.screen)
        assert is_clean(), (number, git("status", "--porcelain", "--ignored"))
        work()
    assert is_clean()
