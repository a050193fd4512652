"""Values that stop one thing, at once: rules that never end, strange years, words that are no UTF-8, and
a process that may open no more files."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from holdfast.kernel.config import has_nested_repeat
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import LARGEST
from holdfast.kernel.redact import Redactor
from holdfast.kernel.text import split_words
from tests.bad_files import BAD, in_under_a_second
from tests.cli.conftest import Holdfast

# Each takes a time that doubles with every letter, on a text that almost matches.
CATASTROPHIC = (
    r"(a+)+$",
    r"(a|a)*b",
    r"(\w+\s?)*!",
    r"((ab)*)+c",
    r"(?:a{1,40}){1,40}b",
    r"(x+x+)+y",
)
SOUND = (
    r"[0-9]{6}",
    r"internal-[a-z]+",
    r"(?P<keep>badge: )\d+",
    r"(?:ab)+c",
    r"(?:acme|corp)-\w+",
)
YEARS = split_words(
    "2500-01-01T00:00:00Z 9999-12-31T23:59:59Z 0000-01-01T00:00:00Z "
    "0001-01-01T00:00:00Z -001-01-01T00:00:00Z 99999-01-01T00:00:00Z"
)
NOT_UTF8 = os.fsdecode(b"a\xff\xfeb")


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_a_rule_that_can_take_for_ever_is_refused(
    repository: Path, holdfast: Holdfast, pattern: str
) -> None:
    """Also when a person trusted it; the rule is named, and not run."""
    (repository / "holdfast.toml").write_text(f"[redact.rules]\nbadge = '{pattern}'\n")
    with in_under_a_second(pattern):
        answer = holdfast("trust", "--show")
    assert answer.code == 1
    assert "redact.rules.badge repeats what repeats or chooses by itself" in answer.err


@pytest.mark.parametrize("pattern", SOUND)
def test_a_sound_rule_is_accepted(pattern: str) -> None:
    assert not has_nested_repeat(pattern)


def test_a_slow_rule_ends_and_nothing_is_written() -> None:
    """Polynomial: of a form that is accepted, and slow on a long text."""
    redactor = Redactor(rules={"slow": r"[a-z]+[a-z]+[a-z]+[a-z]+!"})
    with in_under_a_second("slow"), pytest.raises(HoldfastError) as refused:
        redactor.text("a" * 20_000)
    assert refused.value.kind == "slow_rule"
    assert redactor.text("fine") == "fine"


def test_a_rule_in_another_thread_has_no_timer() -> None:
    found: list[str] = []
    rule = Redactor(rules={"badge": "[0-9]{6}"})
    thread = threading.Thread(target=lambda: found.append(rule.text("badge 123456")))
    thread.start()
    thread.join()
    assert found == ["badge [redacted:badge]"]


@pytest.mark.parametrize("year", YEARS)
def test_a_strange_year_in_a_file_is_no_bug(
    repository: Path, holdfast: Holdfast, year: str
) -> None:
    (repository / "agent_checkpoints").mkdir()
    (repository / "conductor/tracks/t").mkdir(parents=True)
    (repository / ".autopilot/state").mkdir(parents=True)
    (repository / ".holdfast/inbox").mkdir(parents=True)
    known = {"sessionId": "s", "lastCheckpoint": year}
    (repository / ".ccc-state.json").write_text(json.dumps(known))
    (repository / ".ccc-progress.md").write_text(f"# Progress\n\n**Last updated:** {year}\n")
    agent = {"agent_id": "Secondary-A", "status": "IN_PROGRESS", "last_checkpoint": year}
    (repository / "agent_checkpoints/secondary_a.json").write_text(json.dumps(agent))
    state = {"current_step": "PLAN", "step_status": "IN_PROGRESS", "step_started_at": year}
    track = {"track_id": "t", "loop_state": {**state, "checkpoints": {}}, "updated_at": year}
    (repository / "conductor/tracks/t/metadata.json").write_text(json.dumps(track))
    said = {"acknowledged_at": year, "value_at_ack": 1, "session_id": "s"}
    acknowledged = {"acknowledged": {"cost": said}, "last_reset": year}
    (repository / ".autopilot/state/acknowledgments.json").write_text(json.dumps(acknowledged))
    queued = {"id": "0" * 32, "stream": "note:default", "command": {"add": "x", "by": "y"}}
    path = repository / ".holdfast/inbox/1.json"
    path.write_text(json.dumps({**queued, "actor": "a", "fence": None, "at": year}))
    for words in (
        "note x",
        "status",
        "resume",
        "checkpoint --skip-git --skip-tracker",
        "agent list",
        "agent check",
        "loop show t",
        "guard check --cost 1",
        "doctor",
        "history",
    ):
        with in_under_a_second(words):
            answer = holdfast(*words.split())
        assert answer.code < 10, (words, answer.err)


@pytest.mark.parametrize("words", ["show", "history", "note", "resume --session", "agent beat"])
def test_a_word_that_is_not_utf8_is_no_bug(
    repository: Path, holdfast: Holdfast, words: str
) -> None:
    assert holdfast("note", "a first one").code == 0
    answer = holdfast(*words.split(), NOT_UTF8)
    assert answer.code in (0, 2, 3), answer.err


def test_a_home_that_is_not_utf8_is_named(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", NOT_UTF8)
    answer = holdfast("note", "x", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (2, "not_utf8")


def test_a_process_that_may_open_no_more_files_says_so(repository: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))

    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "note", "x", "--json"],
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["kind"], error["hint"]) == (
        75,
        "too_many_files",
        "Allow it more: ulimit -n 256",
    )


PLACES = split_words(
    "holdfast.toml .ccc-state.json .autopilot/config.yaml "
    "agent_checkpoints/secondary_a.json conductor/tracks/t/metadata.json"
)


def write_too_large(path: Path) -> None:
    path.write_bytes(b"#" * (LARGEST + 1))


def write_too_deep(path: Path) -> None:
    path.write_text("[" * 100_000)


STRANGE = {**BAD, "too large": write_too_large, "too deep": write_too_deep}


@pytest.mark.matrix
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", STRANGE)
def test_doctor_moves_a_strange_file_aside_and_says_where(
    repository: Path, holdfast: Holdfast, kind: str, place: str
) -> None:
    assert holdfast("note", "before").code == 0
    path = repository / place
    path.parent.mkdir(parents=True, exist_ok=True)
    STRANGE[kind](path)
    with in_under_a_second("doctor"):
        found = holdfast("doctor")
    assert found.code == 1
    assert f"{path} cannot be read: it" in found.out
    with in_under_a_second("doctor --fix"):
        mended = holdfast("doctor", "--fix")
    assert f"{path} is now {repository}/.git/holdfast/aside/" in mended.out
    assert not os.path.lexists(path)
    (kept,) = (repository / ".git/holdfast/aside").iterdir()
    assert kept.name.endswith(path.name)
    assert "cannot be read" not in holdfast("doctor").out
    assert holdfast("note", "after").code == 0
