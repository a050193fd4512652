"""EPIC_README.md on disk: its lock, and edits of those who do not know the lock."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pytest

from holdfast.fleet import epic_readme as readme
from holdfast.fleet.epic import Epic
from holdfast.fleet.rules import epic_readme
from holdfast.fleet.rules.model import EPIC_README
from holdfast.kernel import clock, outbox
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.redact import Redactor
from holdfast.kernel.tree_file import TreeFile, exchange
from holdfast.kernel.workspace import discover
from tests.kernel.views.scene import child_command, clean_environment

if TYPE_CHECKING:
    from holdfast.journal.interface import Effect

README = Path("EPIC_README.md")
LOCK = Path(".epic_locks/epic_readme.lock")
LINE = "Secondary-A: STALE (likely crashed)"


@pytest.fixture
def epic(repository: Path) -> Epic:
    README.write_bytes(b"# Epic\r\n\r\ncaf\xe9\r\n")
    return Epic(discover(str(repository)), "")


def mark_stale(text: str) -> str:
    return epic_readme.mark_stale(text, "Secondary-A", False)


def edit(epic: Epic, patience: float = 0.0) -> bool:
    return readme.edit(
        epic,
        mark_stale,
        holder="Agent-Primary",
        session="abc123",
        operation="stale: Secondary-A",
        now=clock.now(),
        patience=patience,
    )


def held_by(holder: str, expires_at: int, **more: object) -> None:
    LOCK.parent.mkdir(exist_ok=True)
    fields = {
        "holder": holder,
        "holder_id": "other",
        "acquired_at": clock.stamp(expires_at - 5 * clock.MINUTE),
        "operation": "Updating S2.P2 progress",
        "expires_at": clock.stamp(expires_at),
        "auto_release": True,
    }
    LOCK.write_text(json.dumps({**fields, **more}))


@pytest.mark.clause("FLEET-56", "AMB-FLEET-25")
def test_the_line_is_written_and_the_rest_stays_to_the_byte(epic: Epic) -> None:
    README.chmod(0o664)
    assert edit(epic)
    expected = b"# Epic\r\n\r\ncaf\xe9\r\n\r\n## Stale agents\r\n\r\n" + LINE.encode() + b"\r\n"
    assert README.read_bytes() == expected
    assert README.stat().st_mode & 0o777 == 0o664
    assert list(LOCK.parent.iterdir()) == []
    assert edit(epic)  # again changes nothing
    assert README.read_bytes() == expected


def test_without_the_file_nothing_is_made(epic: Epic) -> None:
    README.unlink()
    assert not edit(epic)
    assert not README.exists()
    assert not LOCK.parent.exists()


@pytest.mark.clause("AMB-FLEET-25")
def test_the_lock_says_what_the_others_expect(epic: Epic, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, object]] = []

    def change(text: str) -> str:
        seen.append(json.loads(LOCK.read_text()))
        return mark_stale(text)

    now = clock.parse("2026-01-15T14:30:00Z")
    readme.edit(epic, change, holder="Agent-Primary", session="abc123", operation="stale", now=now)
    assert list(seen[0].items()) == [
        ("holder", "Agent-Primary"),
        ("holder_id", "abc123"),
        ("acquired_at", "2026-01-15T14:30:00Z"),
        ("operation", "stale"),
        ("expires_at", "2026-01-15T14:35:00Z"),
        ("auto_release", True),
    ]


@pytest.mark.clause("AMB-FLEET-25")
def test_a_held_lock_is_respected_and_its_holder_named(epic: Epic) -> None:
    before = README.read_bytes()
    held_by("Secondary-B", clock.now() + 4 * clock.MINUTE)
    with pytest.raises(StoreAway, match=r"locked by Secondary-B.*S2\.P2.*expires in \d+ s") as said:
        edit(epic)
    assert said.value.retryable
    assert README.read_bytes() == before
    assert json.loads(LOCK.read_text())["holder"] == "Secondary-B"


@pytest.mark.clause("AMB-FLEET-25")
def test_the_lock_is_waited_for(epic: Epic) -> None:
    held_by("Secondary-B", clock.now() + 4 * clock.MINUTE)
    releaser = subprocess.Popen(["sh", "-c", f"sleep 0.3; rm {LOCK}"])
    assert edit(epic, patience=30.0)
    assert releaser.wait() == 0
    assert LINE.encode() in README.read_bytes()


@pytest.mark.clause("AMB-FLEET-25")
@pytest.mark.parametrize("content", ["expired", "", "{", "[]", '{"expires_at": 5}', "\0"])
def test_an_expired_or_corrupt_lock_is_deleted(epic: Epic, content: str) -> None:
    if content == "expired":
        held_by("Secondary-B", clock.now() - clock.MINUTE)
    else:
        LOCK.parent.mkdir()
        LOCK.write_text(content)
    assert edit(epic)
    assert LINE.encode() in README.read_bytes()
    assert list(LOCK.parent.iterdir()) == []


@pytest.mark.clause("AMB-FLEET-25")
def test_a_lock_expires_when_its_time_is_over_and_not_before(epic: Epic) -> None:
    now = clock.parse("2026-01-15T14:30:00Z")
    for expires_at, is_held in ((now, True), (now - 1000, False)):
        held_by("Secondary-B", expires_at)
        lock = readme.EpicLock(epic.tree_file(str(LOCK)), "me", "s", "o", now, 0.0)
        if is_held:
            with pytest.raises(StoreAway), lock:
                pass
        else:
            with lock:
                assert json.loads(LOCK.read_text())["holder"] == "me"


def test_a_lock_that_is_written_over_in_the_same_instant_is_not_ours(
    epic: Epic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell knows no exclusive creation: who reads themselves afterwards has it."""
    sleep = time.sleep

    def overwritten(seconds: float) -> None:
        if json.loads(LOCK.read_text())["holder_id"] == "abc123":
            held_by("Secondary-B", clock.now() + 4 * clock.MINUTE)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", overwritten)
    with pytest.raises(StoreAway, match="Secondary-B"):
        edit(epic)
    assert json.loads(LOCK.read_text())["holder_id"] == "other"


def test_the_lock_goes_when_the_edit_fails(epic: Epic) -> None:
    def fail(text: str) -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        readme.edit(epic, fail, holder="a", session="b", operation="c", now=clock.now())
    assert list(LOCK.parent.iterdir()) == []


def test_a_link_is_not_followed(epic: Epic, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("not ours\n")
    README.unlink()
    README.symlink_to(elsewhere)
    with pytest.raises(HoldfastError, match="a link to"):
        edit(epic)
    assert elsewhere.read_text() == "not ours\n"
    assert README.is_symlink()


def test_who_holds_the_file_open_keeps_it_and_we_come_back(epic: Epic) -> None:
    before = README.read_bytes()
    with README.open("ab") as editor:
        with pytest.raises(StoreAway, match="another program"):
            edit(epic)
        editor.write(b"late\r\n")
    assert README.read_bytes() == before + b"late\r\n"
    assert edit(epic)
    assert b"late\r\n" in README.read_bytes()


def test_an_editor_that_opened_it_just_before_the_exchange_gets_it_back(
    epic: Epic, monkeypatch: pytest.MonkeyPatch
) -> None:
    editors: list[BinaryIO] = []

    def opened_first(one: TreeFile, other: TreeFile) -> bool:
        if not editors:
            editors.append(README.open("ab"))
        return exchange(one, other)

    monkeypatch.setattr(readme, "exchange", opened_first)
    with pytest.raises(StoreAway, match="another program"):
        edit(epic)
    editors[0].write(b"late\r\n")
    editors[0].close()
    assert README.read_bytes() == b"# Epic\r\n\r\ncaf\xe9\r\nlate\r\n"
    assert edit(epic)
    assert b"late\r\n" in README.read_bytes()


def test_edits_between_our_look_and_the_exchange_are_kept_each_time(
    epic: Epic, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter(range(5))

    def raced(one: TreeFile, other: TreeFile) -> bool:
        number = next(rounds, None)
        if number is not None:
            with README.open("ab") as file:
                file.write(f"raced-{number}\r\n".encode())
        return exchange(one, other)

    monkeypatch.setattr(readme, "exchange", raced)
    assert edit(epic)
    text = README.read_bytes()
    assert [text.count(f"raced-{number}\r\n".encode()) for number in range(5)] == [1] * 5
    assert text.count(LINE.encode()) == 1


def test_an_effect_is_delivered_and_a_held_lock_makes_it_wait(epic: Epic) -> None:

    def deliver(effect: Effect) -> None:
        readme.carry_out(epic, effect)

    journal = epic.workspace.journal
    bodies = {
        "stale": {"change": "stale", "agent": "Secondary-A"},
        "progress": {"change": "progress", "agent": "Secondary-A", "lines": ["Stage: S2.P1"]},
        "deferred": {"change": "deferred", "agent": "Secondary-A", "feature": "feature_02"},
        "recovered": {"change": "recovered", "agent": "Secondary-A"},
    }
    at = clock.precise(clock.now())
    for position, (name, body) in enumerate(bodies.items()):
        journal.commit(
            [],
            effects=[
                {
                    "id": f"{position:032x}",
                    "stream": "comms:primary_to_secondary_a",
                    "kind": EPIC_README,
                    "key": name,
                    "body": body,
                    "queued_at": at,
                    "due_at": at,
                    "attempts": 0,
                    "error": "",
                }
            ],
        )
        if name == "stale":
            held_by("Secondary-B", clock.now() + 4 * clock.MINUTE)
            (tried,) = outbox.deliver(
                journal, {EPIC_README: deliver}, clock.now(), redactor=Redactor()
            )
            assert not tried["delivered"]
            assert "Secondary-B" in tried["error"]
            LOCK.unlink()
        later = clock.now() + clock.HOUR
        outbox.deliver(journal, {EPIC_README: deliver}, later, redactor=Redactor())
        text = README.read_bytes().decode("latin-1")
        assert (LINE in text) is (name != "recovered")
    assert "Stage: S2.P1\r\n" in text
    assert "feature_02: deferred to Wave 2" in text
    assert journal.effects(kinds=[EPIC_README]) == []


SHELL = """
set -e
cd "$1"
read -r go
for number in $(seq 1 "$2"); do
  if [ $((number % 2)) = 0 ]; then
    echo "shell-$number." >> EPIC_README.md
  else
    # In one piece, by somebody who does not know the lock.
    perl -0pi -e "s/\\A(.*\\n)/\\${1}shell-$number.\\n/" EPIC_README.md
  fi
done
"""

EDITOR = """
from holdfast.fleet import epic_readme as readme
from holdfast.fleet.epic import Epic
from holdfast.fleet.rules import epic_readme

# The pause after taking the lock would leave the shell alone most of the time.
readme.SETTLE_SECONDS = 0.0
epic = Epic(workspace, "")
go = sys.stdin.readline()
number = 0
while not os.path.exists("over"):
    number += 1
    gone = number % 2 == 0
    try:
        readme.edit(
            epic,
            lambda text: epic_readme.mark_stale(text, "Secondary-A", gone),
            holder="Agent-Primary", session="s", operation="o", now=clock.now(),
        )
    except HoldfastError as error:
        assert error.kind == "epic_readme_busy", error
print(number)
"""


def test_of_two_hundred_edits_by_a_shell_none_is_lost(epic: Epic, repository: Path) -> None:
    README.write_text("# Epic\n\nplain\n")
    racers = [
        ["bash", "-c", SHELL, "bash", str(repository), "200"],
        child_command(repository, EDITOR),
    ]
    processes = [
        subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=repository,
            env={**clean_environment(), "PATH": os.environ["PATH"]},
        )
        for words in racers
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    _, errors = processes[0].communicate(timeout=120)
    assert processes[0].returncode == 0, errors
    Path("over").touch()
    answer, errors = processes[1].communicate(timeout=120)
    assert processes[1].returncode == 0, errors
    assert int(answer) > 5  # there was a race at all
    text = README.read_text()
    lost = [number for number in range(1, 201) if f"shell-{number}.\n" not in text]
    assert lost == []
    assert edit(epic)
    assert README.read_text().count(LINE) == 1
