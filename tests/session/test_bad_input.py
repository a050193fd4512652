"""Input that nobody hoped for: clear handling, nothing lost, no secret on the disk."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel.text import split_words
from holdfast.session.rules import progress
from tests.conftest import Git
from tests.session import world
from tests.session.world import PROGRESS, Answer, Holdfast, set_state
from tests.trackers.fake_linear import FakeLinear

Document = Callable[..., Answer]
SHELL = "CIA-1; rm -rf ~ #"


@pytest.fixture
def document(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> Document:
    """`document({"issue": "CIA-1"})`: a checkpoint from a JSON document on standard input."""

    def send(content: Any, *words: str) -> Answer:
        text = content if isinstance(content, str) else json.dumps(content)
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return holdfast("checkpoint", "--from", "-", *words)

    return send


def text() -> str:
    return PROGRESS.read_text("utf-8")


def test_an_empty_mode_is_no_mode(project: Path, document: Document) -> None:
    for mode in ("", " ", "exec:"):
        answer = document({"mode": mode})
        assert (answer.code, "mode is empty" in answer.err) == (2, True)
    assert not PROGRESS.exists()
    document({"mode": "exec:tdd"})
    assert "**Execution Mode:** exec:tdd\n" in text()


def test_a_document_fills_every_field(project: Path, document: Document) -> None:
    answer = document(
        {
            "issue": "CIA-1",
            "title": "Dates",
            "mode": "tdd",
            "completed": ["read"],
            "done": ["test"],
            "current": "parse",
            "status": "half",
            "remaining": ["docs"],
            "decisions": ["a: b", {"decision": "c", "rationale": "d"}, {"decision": "e"}],
            "blockers": ["f (unblocked by: g)", {"blocker": "h", "until": "i"}],
            "next": "go on",
            "claims": [{"claim": "it is there", "probe": {"file": "a.py"}}],
        },
        *split_words("--file a.py"),
    )
    assert answer.code == 0
    read = progress.parse(text())
    assert read["completed"] == ["read", "test"]
    assert [one["rationale"] for one in read["decisions"]] == ["b", "d", "not given"]
    assert [one["until"] for one in read["blockers"]] == ["g", "i"]
    assert read["prompt"] == (
        "Resume CIA-1. Current task: task 3 of 4. Key files: a.py.\nNext action: go on."
    )
    assert "- [verified] it is there (" in text()
    assert progress.shortcomings(text()) == []


def test_flags_win_over_the_document(project: Path, document: Document) -> None:
    document({"issue": "CIA-1", "title": "Dates", "current": "parse"}, "--issue", "CIA-2")
    assert "**Issue:** CIA-2 — Dates\n" in text()
    assert "- parse — not started" in text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ([1], "must be a JSON object"),
        ({"titel": "x"}, "unknown field 'titel'"),
        ({"remaining": "x"}, "remaining must be a list"),
        ({"remaining": [1]}, "remaining must be text, not 1"),
        ({"remaining": [{"task": "x"}]}, "remaining must be text"),
        ({"done": [None]}, "done must be text"),
        ({"decisions": [{"rationale": "x"}]}, "decisions must hold decision and rationale"),
        ({"decisions": [{"decision": "x", "why": "y"}]}, "must hold decision and rationale"),
        ({"decisions": [7]}, "decisions must be text"),
        ({"blockers": [{"blocker": ""}]}, "blockers must hold blocker and until"),
        ({"next": 5}, "next must be text"),
        ({"title": ["x"]}, "title must be text"),
        ({"claims": [{"claim": "x"}]}, "claims must be a list of {claim, probe}"),
        ({"issue": SHELL}, "is not the name of an issue"),
    ],
)
def test_a_bad_document_is_refused_before_anything_is_written(
    project: Path, document: Document, content: Any, message: str
) -> None:
    before = world.every_byte_under(project)
    answer = document(content)
    assert answer.code in (1, 2)
    assert message in answer.err
    assert "Traceback" not in answer.err
    assert world.every_byte_under(project) == before


def test_a_document_comes_from_standard_input_only(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", "--from", "handoff.json")
    assert answer.code == 2
    assert "--from - < FILE" in answer.err


def test_null_is_not_given(project: Path, document: Document) -> None:
    document({"issue": "CIA-1", "current": "parse"})
    assert document({"issue": None, "current": None, "title": "Dates"}).code == 0
    assert "**Issue:** CIA-1 — Dates\n" in text()
    assert "- parse — not started" in text()


@pytest.mark.clause("AMB-CCC-14")
def test_no_issue_at_all(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", "--task", "parse", "--next", "go on")
    assert answer.code == 0
    assert "**Issue:** unknown issue — untitled\n" in text()
    assert "Resume the work here. Current task: task 1 of 1." in answer.out
    assert "Linear update skipped — " in answer.out
    assert "issue" not in answer.err, "there is no tracker that would need one"
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")


@pytest.mark.parametrize(
    "issue", [SHELL, "$(id)", "../../etc/passwd", "CIA-1\nCIA-2", "-1", "a  b", " ", "x" * 1000]
)
def test_an_issue_with_other_characters_is_refused(
    project: Path, holdfast: Holdfast, issue: str
) -> None:
    before = world.every_byte_under(project)
    answer = holdfast("checkpoint", f"--issue={issue}", "--task", "parse")
    assert answer.code == 2
    assert "is not the name of an issue" in answer.err
    assert world.every_byte_under(project) == before


@pytest.mark.parametrize(
    "issue", ["fix-quotes", "JIRA_7.2", "Größe ändern", "acme/words#7", "CIA-"]
)
def test_work_may_be_called_anything(project: Path, holdfast: Holdfast, issue: str) -> None:
    answer = holdfast("checkpoint", "--issue", issue, "--task", "parse", "--next", "go on")
    assert answer.code == 0
    assert f"**Issue:** {issue} — untitled\n" in text()
    assert f"Resume {issue}. Current task: task 1 of 1." in text()
    assert "it names no issue" not in answer.err


@pytest.mark.parametrize("profile", [[], ["--auto"]], ids=["manual", "automated"])
@pytest.mark.parametrize("key", ["linearIssue", "activeIssue"])
def test_a_bad_issue_in_the_engines_file_costs_no_work(
    project: Path, holdfast: Holdfast, key: str, profile: list[str]
) -> None:
    set_state(**{key: SHELL})
    answer = holdfast("checkpoint", "--task", "parse", "--json", *profile)
    assert "- parse — not started" in text()
    assert "**Issue:** unknown issue — untitled\n" in text()
    (warning,) = [one for one in answer.data["warnings"] if key in one]
    assert "is not the name of an issue" in warning
    assert answer.data["steps"][0]["status"] == "ok"


def test_a_bad_answer_costs_no_work(
    project: Path, holdfast: Holdfast, linear: FakeLinear, terminal: Callable[..., list[str]]
) -> None:
    asked = terminal(SHELL)
    answer = holdfast("checkpoint", "--task", "parse")
    assert len(asked) == 1
    assert "is not the name of an issue" in answer.err
    assert "- parse — not started" in text()


def test_shell_characters_in_a_task_reach_no_shell(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    (project / "a.py").write_text("two\n")
    task = "`touch pwned`; $(touch pwned) && touch pwned #\"'"
    holdfast("checkpoint", "--issue", "CIA-1", "--task", task, "--file", "a.py")
    assert f"- {task} — not started" in text()
    assert git("log", "-1", "--format=%s") == (f"wip(CIA-1): checkpoint — task 1 of 1: {task}\n")
    assert not Path("pwned").exists()


def test_ten_thousand_tasks(project: Path, document: Document) -> None:
    tasks = [f"task number {number}" for number in range(10_000)]
    begun = time.monotonic()
    half = {"issue": "CIA-1", "completed": tasks[:5000], "remaining": tasks[5000:], "next": "go"}
    assert document(half).code == 0
    assert document({"completed": tasks[:6000], "remaining": tasks[6000:]}).code == 0
    answer = document({"done": tasks[6000:9999]})
    assert time.monotonic() - begun < 10, "it must not grow with the square of the tasks"
    read = progress.parse(text())
    assert read["completed"] == tasks[:9999]
    assert read["remaining"] == tasks[9999:]
    assert "Current task: task 10000 of 10000." in answer.out
    assert progress.shortcomings(text()) == []


def test_more_tasks_than_can_be_held_are_said(project: Path, document: Document) -> None:
    document({"issue": "CIA-1", "current": "kept"})
    answer = document({"remaining": [f"{number}" for number in range(20_001)]})
    assert "20001 tasks are more than the 20000 a session can hold" in answer.out
    assert "Failed: Persist progress (" in answer.out
    assert "- kept — not started" in text()


@pytest.mark.parametrize(
    "task",
    [
        "ship it 🚀👩‍👩‍👧",
        "לסיים את הבדיקות",
        "أنهِ الاختبارات",
        "e\u0301 and é",
        "日本語のタスク",
        "<!-- comment --> | table | [link](x)",
        "# not a heading",
        "## Blockers",
        "- None",
        "x" * 9_000,
    ],
)
def test_every_script_comes_through(project: Path, holdfast: Holdfast, task: str) -> None:
    words = ("--issue", "CIA-1", "--task", task, "--remaining", task, "--done", "x")
    assert holdfast("checkpoint", *words, "--decision", f"d: {task}").code == 0
    assert f"\n- {task} — not started\n" in text()
    assert progress.parse(text())["remaining"] == [task]
    assert progress.parse(text())["decisions"][0]["rationale"] == task
    assert progress.shortcomings(text()) == []


@pytest.mark.parametrize("task", ["a\nb", "a\r\nb", "a\n\n## Blockers\nb", "a\0b", "a\u2028b"])
def test_a_task_is_one_line(project: Path, document: Document, task: str) -> None:
    document({"issue": "CIA-1", "current": task, "remaining": [task], "next": task})
    line = " ".join(task.replace("\0", " ").split())
    assert f"\n- {line} — not started\n" in text()
    assert text().count("\n## ") == 6
    assert progress.shortcomings(text()) == []


def test_half_a_character_is_no_crash(project: Path, document: Document) -> None:
    answer = document('{"issue": "CIA-1", "current": "a\\ud800b"}')
    assert answer.out.endswith("4/4 steps succeeded.\n")
    assert "- a" in text()


def test_no_escape_sequence_reaches_the_terminal(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", "--issue", "CIA-1", "--next", "\x1b[31mred\x1b]0;title\x07")
    assert "red" in answer.out
    assert "\x1b" not in answer.out + answer.err
    assert "\x07" not in answer.out + answer.err


TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
PASSWORD = "Tr0ub4dor" + "-and-3-more"
PEM_BODY = "MIIEpAIBAAKCAQEA7bq" + "x9Yw" * 20
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("pasted", "secret"),
    [
        (f"We use {TOKEN}: it works", TOKEN),
        (f"it works: with {TOKEN}", TOKEN),
        (f"password: {PASSWORD}", PASSWORD),
        (f"the key: {PEM}", PEM_BODY),
    ],
    ids=["token", "token in the reason", "password", "private key"],
)
@pytest.mark.parametrize("form", ["flag", "text", "object"])
def test_a_secret_is_nowhere_on_the_disk(
    project: Path, holdfast: Holdfast, document: Document, pasted: str, secret: str, form: str
) -> None:
    (project / "a.py").write_text("two\n")
    rest = ("--issue", "CIA-1", "--file", "a.py")
    if form == "flag":
        answer = holdfast("checkpoint", *rest, "--decision", pasted, "--task", pasted)
    else:
        decision, _, rationale = pasted.partition(": ")
        parts = {"decision": decision, "rationale": rationale}
        made = parts if form == "object" else pasted
        answer = document({"decisions": [made], "current": pasted, "next": pasted}, *rest)
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")
    assert "[redacted:" in text()
    assert secret not in answer.out + answer.err
    on_disk = world.every_byte_under(project) + objects()
    assert b"wip(CIA-1)" in on_disk
    assert secret.encode() not in on_disk


def objects() -> bytes:
    """Everything in git's store, unpacked."""
    words = ["git", "cat-file", "--batch", "--batch-all-objects"]
    return subprocess.run(words, check=True, capture_output=True).stdout
