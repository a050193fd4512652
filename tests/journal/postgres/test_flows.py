"""Two machines, each with a clone of its own and its own home, on one server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import holdfast as library
from holdfast.gates import lookup
from holdfast.gates.ask import AskRequest, ask
from holdfast.gates.lookup import GateContext
from holdfast.kernel import clock, inbox
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.gates.test_gates import DECISION, VERIFY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Git


@pytest.fixture
def machines(
    on_server: str, repository: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> tuple[Callable[[], None], Callable[[], None]]:
    """How to go to the first and to the second."""
    git("clone", "--quiet", str(repository), str(tmp_path / "there"))
    return lambda: monkeypatch.chdir(repository), lambda: monkeypatch.chdir(tmp_path / "there")


def test_a_note_of_one_machine_is_in_the_file_of_the_other(
    machines: tuple[Any, Any], holdfast: Holdfast
) -> None:
    here, there = machines
    here()
    holdfast("note", "from here")
    there()
    holdfast("note", "from there")
    assert "from here" in Path(".notes/default.md").read_text()
    here()
    assert "from there" not in Path(".notes/default.md").read_text()
    holdfast("note", "again")
    assert "from there" in Path(".notes/default.md").read_text()
    assert holdfast("doctor").code == 0
    assert holdfast("verify").code == 0


def test_an_edit_on_one_machine_is_taken_in_there_and_seen_here(
    machines: tuple[Any, Any], holdfast: Holdfast
) -> None:
    here, there = machines
    here()
    holdfast("note", "from here")
    there()
    holdfast("note", "from there")
    text = Path(".notes/default.md").read_text()
    Path(".notes/default.md").write_text(text.replace("from there", "from over there"))
    holdfast("note", "more")
    here()
    assert "from over there" in holdfast("show", "note:default").out


def test_agents_of_both_machines_are_one_fleet(
    machines: tuple[Any, Any], holdfast: Holdfast
) -> None:
    here, there = machines
    here()
    started = holdfast(*split_words("agent start Secondary-A --feature feature_01_one --json"))
    assert started.code == 0, started
    there()
    assert holdfast("agent", "start", "Secondary-B", "--feature", "feature_02_two").code == 0
    assert holdfast("agent", "beat", "Secondary-B", "--step", "writing").code == 0
    heads = holdfast("status", "--json").data["streams"]
    assert {head["stream"] for head in heads} >= {"agent:secondary_a", "agent:secondary_b"}


def test_a_session_is_captured_on_one_machine_and_resumed_on_the_other(
    machines: tuple[Any, Any], holdfast: Holdfast, git: Git
) -> None:
    here, there = machines
    here()
    captured = holdfast(
        "checkpoint", "--task", "the parser", "--skip-git", "--skip-tracker", "--json"
    )
    assert captured.code == 0, captured
    there()
    assert holdfast("resume", "--json").code == 3, "its own worktree has none"
    [session] = holdfast("resume", "--list", "--json").data["sessions"]
    words = ("resume", "--session", session["session"])
    assert "FOREIGN" in holdfast(*words).err, "another place: somebody has to say so"
    resumed = holdfast(*words, "--accept-foreign", "--json")
    assert resumed.code == 0, resumed
    assert "the parser" in resumed.out


def test_a_gate_asked_here_is_listed_there(machines: tuple[Any, Any], holdfast: Holdfast) -> None:
    here, there = machines
    here()
    asked = holdfast(
        "gate",
        "decide",
        "Which database?",
        "--context",
        "We need one.",
        "--json",
        "--option",
        "a",
        "PostgreSQL",
        "many machines",
        "a server",
        "--option",
        "b",
        "SQLite",
        "no server",
        "one machine",
    )
    there()
    listed = holdfast("gate", "list", "--json")
    assert (asked.code in (0, 8), listed.code) == (True, 0), (asked, listed)
    assert "Which database?" in listed.out


def test_a_budget_is_the_workspaces_on_every_machine(
    machines: tuple[Any, Any], holdfast: Holdfast
) -> None:
    here, there = machines
    here()
    limits = holdfast("guard", "limits", "--json")
    assert limits.code == 0, limits
    checked = holdfast("guard", "check", "--json")
    assert checked.code in (0, 7, 8), checked
    there()
    assert holdfast("guard", "check", "--json").code in (0, 7, 8)


def test_two_machines_at_once_lose_nothing(on_server: str, machines: tuple[Any, Any]) -> None:
    """Neither holds the other's lock: the version decides, and the loser decides again."""
    here, there = machines
    folders = []
    for go in (here, there):
        go()
        folders.append(Path.cwd())
    script = (
        "import holdfast, sys\n"
        "with holdfast.open() as workspace:\n"
        "    for number in range(15):\n"
        "        workspace.note(f'{sys.argv[1]} {number}')\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, name], cwd=folder, stderr=subprocess.PIPE)
        for name, folder in zip(("here", "there"), folders, strict=True)
    ]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    with library.open(str(folders[0])) as workspace:
        texts = [record["body"]["text"] for record in workspace.history(limit=100)]
    assert sorted(texts) == sorted(f"{name} {n}" for name in ("here", "there") for n in range(15))


def test_a_hook_never_connects(repository: Path) -> None:
    """Its server is nowhere, and what it has to say waits; tests/remote has the rest of the story."""
    from holdfast.hooks.run import command

    environment = {
        **os.environ,
        "HOLDFAST_URL": "postgresql://nobody:secret@127.0.0.1:1/nowhere",
        "PYTHONPATH": "",
    }
    done = subprocess.run(
        command("note"),
        input=b'{"text": "offline"}',
        env=environment,
        cwd=repository,
        capture_output=True,
    )
    assert b'"queued":true' in done.stdout.replace(b" ", b""), done
    assert len(inbox.list_waiting(str(repository))) == 1


def test_the_library_follows_what_other_machines_write(
    machines: tuple[Any, Any],
) -> None:
    here, there = machines
    here()
    with library.open() as ours:
        ours.note("one")
        last = ours.journal.latest(limit=1)[0]["seq"]
        there()
        with library.open() as theirs:
            timer = threading.Timer(0.2, lambda: theirs.note("two"))
            timer.start()
            assert ours.journal.wait(last, 60)
            timer.join()


def test_a_machine_nine_hours_ahead_lets_no_gate_expire(machines: tuple[Any, Any]) -> None:
    """A gate expires by the clock of the journal's host, whatever the machines that ask and look say."""
    here, there = machines
    here()
    asked = AskRequest(content=DECISION, expires="2h", default="lite", name="store")
    ask(GateContext(discover(), "agent", clock.now()), asked)
    there()
    ahead = clock.now() + 9 * clock.HOUR
    assert lookup.read_now(discover(), "store", now=ahead)["answer"] is None
    request = AskRequest(content=VERIFY, expires="1h", default="No one looked", name="look")
    ask(GateContext(discover(), "agent", ahead), request)
    expires = clock.parse(lookup.read(discover(), "look")["expires_at"])
    assert abs(expires - clock.now() - clock.HOUR) < clock.MINUTE, "nor is it asked with that clock"
