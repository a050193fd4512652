"""Claude Code's hooks, each in a process, with the payloads that it sends."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from holdfast.hooks import run as entry
from holdfast.hooks.run import command
from holdfast.hooks.session_start import TIP
from holdfast.kernel import failures
from holdfast.kernel.workspace import discover
from holdfast.session.rules.stop_gate import MOST_BLOCKS, judge
from tests.conftest import Git
from tests.hooks.test_entry import ALLOWED, STARTUP
from tests.session import world
from tests.session.world import (
    PROGRESS,
    PROMPT,
    STATE,
    WORK,
    Holdfast,
    fake_git,
    hook,
    loaded_by,
    said,
    send,
    set_state,
    stated,
    wait_for,
)
from tests.trackers import faults
from tests.trackers.fake_linear import FakeLinear

holdfast = world.holdfast
linear_server, linear = world.linear_server, world.linear

# What no start of a session may load: each costs as much as several bare interpreters.
TOO_DEAR = {"click", "asyncio", "urllib.parse", "http", "email", "ssl", "psycopg", "psutil", "yaml"}
SCRIPT = Path(entry.__file__).parent / "scripts" / "ccc-stop-handler.sh"
SNAPSHOT_REFS = "refs/holdfast"


def loop(**changes: object) -> None:
    """The execution engine in the middle of its second task of three."""
    fields = {"linearIssue": "ENG-12", "phase": "execution", "executionMode": "quick"}
    set_state(**{**fields, "taskIndex": 1, "totalTasks": 3, "activeTaskFiles": ["a.py"], **changes})


# SessionStart


@pytest.mark.clause("CCC-03")
def test_session_start_gives_the_pack_within_claudes_limit(
    repository: Path, holdfast: Holdfast
) -> None:
    tasks = [word for number in range(900) for word in ("--remaining", f"Task number {number}")]
    holdfast("checkpoint", *WORK, *tasks, "--session", "first")
    given = said(hook("SessionStart", "SessionStart.resume", session_id="first"))
    assert set(given) == {"hookSpecificOutput"}
    assert given["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    context = given["hookSpecificOutput"]["additionalContext"]
    assert 8_000 < len(context) < 10_000
    assert "Next action: finish parse_date." in context
    assert "Left out for length" in context


def test_session_start_with_nothing_to_resume_says_only_how_to_state_something(
    repository: Path,
) -> None:
    done = hook("SessionStart", "SessionStart.startup")
    assert said(done)["hookSpecificOutput"]["additionalContext"] == TIP
    assert len(TIP) <= 300
    assert failures.read(discover()) == []


@pytest.mark.clause("AMB-CCC-26")
def test_session_start_reads_a_file_that_no_record_knows(repository: Path) -> None:
    PROGRESS.write_text("# Session Progress\n\n## Continuation Prompt\nGo on with CIA-7.\n")
    given = said(hook("SessionStart", "SessionStart.startup"))
    context = given["hookSpecificOutput"]["additionalContext"]
    assert "Go on with CIA-7." in context
    assert "nothing to compare" in context


def test_session_start_looks_at_the_work_tree_and_runs_no_probe(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first", "--claim", "It runs", "run:touch trace")
    Path("trace").unlink()
    Path("README.md").write_text("Changed by somebody.\n")
    context = json.dumps(said(hook("SessionStart", "SessionStart.resume", session_id="first")))
    assert "Holdfast: DRIFTED." in context
    assert "changed since: README.md, trace" in context
    assert not Path("trace").exists()


# Captures


@pytest.mark.clause("CCC-03", "CCC-65", "CCC-54", "CCC-07")
@pytest.mark.parametrize("sample", ["Stop", "Stop.active"])
def test_stop_captures_without_git_and_without_a_word(
    repository: Path,
    holdfast: Holdfast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sample: str,
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    PROGRESS.unlink()
    marker = fake_git(tmp_path / "bin", monkeypatch)
    done = hook("Stop", sample, session_id="first")
    assert (done.returncode, done.stdout) == (0, b"")
    assert PROMPT in PROGRESS.read_text("utf-8")
    assert not marker.exists()
    (state,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert state["last"]["profile"] == "automated"


@pytest.mark.clause("CCC-03")
@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_compaction_captures_and_starts_a_snapshot_beside(
    repository: Path, holdfast: Holdfast, git: Git, trigger: str
) -> None:
    Path("new.txt").write_text("Untracked.\n")
    done = hook("PreCompact", f"PreCompact.{trigger}", apart=True)
    assert (done.returncode, done.stdout) == (0, b"")
    (state,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert (state["last"]["profile"], state["last"]["reason"]) == ("automated", "context-threshold")
    wait_for(lambda: git("for-each-ref", SNAPSHOT_REFS))
    wait_for(lambda: holdfast("snapshot", "list", "--json").data["snapshots"])


@pytest.mark.clause("CCC-03")
@pytest.mark.parametrize("sample", ["other", "clear", "prompt_input_exit"])
def test_the_end_ends_the_session_so_that_the_next_takes_it_over(
    repository: Path, holdfast: Holdfast, git: Git, sample: str
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    refs = git("for-each-ref", SNAPSHOT_REFS)
    Path("new.txt").write_text("Untracked.\n")
    done = hook("SessionEnd", f"SessionEnd.{sample}", apart=True, session_id="first")
    assert (done.returncode, done.stdout) == (0, b"")
    (state,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert state["ended_at"]
    wait_for(lambda: git("for-each-ref", SNAPSHOT_REFS) != refs)
    given = said(hook("SessionStart", "SessionStart.clear", session_id="second"))
    assert stated(PROMPT) in given["hookSpecificOutput"]["additionalContext"]
    (state,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert state["adopted_by"] == "second"


@pytest.mark.clause("CCC-03")
def test_each_entry_point_selects_its_profile(repository: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", *WORK, "--session", "first", "--json")
    assert (answer.data["profile"], len(answer.data["steps"])) == ("manual", 4)
    hook("Stop", session_id="second")
    by_name = {
        one["session"]: one["last"]["profile"]
        for one in holdfast("resume", "--list", "--json").data["sessions"]
    }
    assert by_name == {"first": "manual", "second": "automated"}


@pytest.mark.clause("CCC-03")
def test_a_hook_works_from_a_folder_below(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("below").mkdir()
    set_state(linearIssue="CIA-7")
    said(hook("Stop", cwd=str(repository / "below")))
    assert PROGRESS.exists()


# The stop's ruling


@pytest.mark.clause("CCC-65", "AMB-CCC-17", "AMB-CCC-27")
def test_a_waiting_gate_is_captured_and_the_stop_allowed(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    loop(awaitingGate=2)
    done = hook("Stop")
    assert (done.returncode, done.stdout) == (0, b"")
    assert "Resume ENG-12. Current task: task 2 of 3. Key files: a.py." in PROGRESS.read_text()
    (comment,) = linear.on("ENG-12")
    assert json.loads(STATE.read_text())["checkpointCommentId"] == comment.id
    hook("Stop")
    assert [word for word, _ in linear.writes] == ["create", "update"]


@pytest.mark.clause("CCC-54", "AMB-CCC-17", "AMB-CCC-27")
def test_open_tasks_block_the_stop_with_the_continuation_prompt(
    repository: Path, holdfast: Holdfast
) -> None:
    loop()
    answer = said(hook("Stop"))
    section = PROGRESS.read_text("utf-8").partition("## Continuation Prompt\n")[2].strip()
    assert answer == {"decision": "block", "reason": section}
    assert section.startswith("Resume ENG-12. Current task: task 2 of 3. Key files: a.py.\n")
    assert "╔" not in answer["reason"]


@pytest.mark.clause("AMB-CCC-17", "AMB-CCC-27")
def test_the_counter_ends_the_loop(repository: Path) -> None:
    loop(maxTaskIterations=2)
    answers = [said(hook("Stop", "Stop.active")) for _ in range(3)]
    assert [bool(answer) for answer in answers] == [True, True, False]
    loop(taskIndex=2, maxTaskIterations=2)
    assert said(hook("Stop", "Stop.active"))["decision"] == "block"


def test_a_task_that_is_done_begins_the_count_anew(repository: Path) -> None:
    for index in range(3):
        loop(taskIndex=index, maxTaskIterations=1)
        assert said(hook("Stop"))["decision"] == "block"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"awaitingGate": 0}, "gate"),
        ({"phase": "spec"}, "not executing"),
        ({"executionMode": "pair"}, "together"),
        ({"executionMode": "swarm"}, "together"),
        ({"taskIndex": 3}, "finished"),
        ({"totalTasks": "many"}, "finished"),
        ({}, "open"),
    ],
)
@pytest.mark.clause("AMB-CCC-27")
def test_when_a_stop_is_blocked(changes: dict[str, object], why: str) -> None:
    state = {"phase": "execution", "taskIndex": 1, "totalTasks": 3, "awaitingGate": None, **changes}
    assert judge(state, 0) == {"why": why, "blocks": why == "open"}
    assert judge({}, 0)["blocks"] is False


def test_the_counters_own_limit() -> None:
    state = {"phase": "execution", "taskIndex": 1, "totalTasks": 3}
    assert judge(state, MOST_BLOCKS - 1)["blocks"]
    assert judge(state, MOST_BLOCKS) == {"why": "enough", "blocks": False}
    assert MOST_BLOCKS < 8, "Claude Code ends a hook's blocks after 8 by itself"


@pytest.mark.clause("AMB-CCC-27", "CCC-39")
def test_a_plain_stop_touches_the_tracker_only_when_the_body_changed(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    asked = len(linear.requests)
    for _ in range(2):
        said(hook("Stop", session_id="first"))
    assert len(linear.requests) == asked
    holdfast("checkpoint", "--auto", "--session", "first", "--next", "write the tests")
    (comment,) = linear.on("ENG-12")
    assert "**Next:** write the tests" in comment.body
    holdfast("checkpoint", "--auto", "--session", "first", "--decision", "UTC only: simple")
    assert "**Decisions:** UTC only: simple" in comment.body


@pytest.mark.clause("AMB-CCC-27")
def test_a_plain_stop_tells_what_the_agent_wrote_into_the_file(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    text = PROGRESS.read_text("utf-8").replace("finish parse_date", "write the tests")
    PROGRESS.write_text(text, "utf-8")
    said(hook("Stop", session_id="first"))
    (comment,) = linear.on("ENG-12")
    assert "**Next:** write the tests" in comment.body


# Nothing fails the host


def named_in_status(holdfast: Holdfast, text: str) -> None:
    shown = holdfast("status").out
    assert "failed; last: " in shown
    assert text in shown


@pytest.mark.matrix
@pytest.mark.clause("AMB-CCC-18")
@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b"{",
        b'{"cwd": 7',
    ],
)
@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_garbage_lets_claude_go_on(
    repository: Path, holdfast: Holdfast, event: str, payload: bytes
) -> None:
    done = send(payload, event, apart=True)
    assert (done.returncode, done.stdout) == (0, b"")
    named_in_status(holdfast, "The payload is not")


@pytest.mark.clause("AMB-CCC-18")
def test_a_huge_payload(repository: Path, holdfast: Holdfast) -> None:
    payload = {"session_id": "first", "cwd": str(repository), "text": "x" * 30_000_000}
    assert send(json.dumps(payload).encode(), "Stop", apart=True).returncode == 0
    assert holdfast("resume", "--list", "--json").data["sessions"]
    payload["text"] = "x" * (entry.LARGEST_PAYLOAD + 1)
    done = send(json.dumps(payload).encode(), "Stop", apart=True)
    assert (done.returncode, done.stdout) == (0, b"")
    named_in_status(holdfast, "The payload is larger than 32 MB.")


@pytest.mark.clause("AMB-CCC-18")
@pytest.mark.parametrize(
    "damaged",
    [b'{"phase": ', b"[]", b"\xff\xfe", b'{"phase": 7'],
)
def test_a_damaged_state_file(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, damaged: bytes
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    STATE.write_bytes(damaged)
    done = hook("Stop", session_id="first")
    assert (done.returncode, done.stdout) == (0, b"")
    assert STATE.read_bytes() == damaged
    named_in_status(holdfast, ".ccc-state.json is damaged")
    (state,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert (state["captures"], state["last"]["profile"]) == (2, "automated")


@pytest.mark.clause("AMB-CCC-18")
@pytest.mark.parametrize("event", ["SessionStart.startup", "PreCompact.auto", "Stop"])
def test_a_damaged_journal(repository: Path, holdfast: Holdfast, event: str) -> None:
    holdfast("checkpoint", *WORK)
    for path in Path(".git/holdfast").glob("journal.db*"):
        path.write_bytes(b"garbage" * 999)
    done = hook(event.partition(".")[0], event)
    assert (done.returncode, done.stdout) == (0, b"")
    (failure, *_) = failures.read(discover())
    assert "damaged" in failure["reason"]


@pytest.mark.clause("AMB-CCC-18")
@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = send(json.dumps({"session_id": "first", "cwd": str(tmp_path)}).encode(), event)
    assert (done.returncode, done.stdout) == (0, b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.clause("AMB-CCC-18")
def test_a_payload_without_a_session(repository: Path) -> None:
    started = send(json.dumps({"cwd": str(repository)}).encode(), "SessionStart")
    assert said(started)["hookSpecificOutput"]["additionalContext"] == TIP
    for event in ("Stop", "PreCompact", "SessionEnd"):
        done = send(json.dumps({"cwd": str(repository)}).encode(), event, apart=True)
        assert (done.returncode, done.stdout) == (0, b""), event


@pytest.mark.clause("AMB-CCC-18")
@pytest.mark.parametrize("session", ["a:b", "../../up", "x" * 5_000, "two\nlines", "'; rm -rf /"])
def test_a_session_with_a_strange_name(repository: Path, session: str) -> None:
    done = hook("Stop", session_id=session)
    assert (done.returncode, done.stdout) == (0, b"")
    # `state` is the user's own folder: it knows the journal that was made here.
    assert sorted(os.listdir(repository.parent)) == ["repository", "state"]


@pytest.mark.clause("AMB-CCC-18")
def test_a_wrong_setting(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("holdfast.toml").write_text("[sesion]\nstale_hours = 1\n")
    done = hook("Stop")
    assert (done.returncode, done.stdout) == (0, b"")
    (failure,) = failures.read(discover())
    assert "sesion" in failure["reason"]


@pytest.mark.clause("AMB-CCC-18", "AMB-CCC-25", "CCC-52")
def test_a_tracker_that_fails_is_written_down_and_not_printed(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.status(503), times=9)
    loop(awaitingGate=2)
    done = hook("Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    named_in_status(holdfast, "Linear update: HTTP 503")


def test_a_read_only_progress_file_does_not_matter(repository: Path, holdfast: Holdfast) -> None:
    PROGRESS.mkdir()
    done = hook("Stop")
    assert (done.returncode, done.stdout) == (0, b"")
    named_in_status(holdfast, "Persist progress")


# The light path


@pytest.mark.matrix
@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd", "SessionStart"])
@pytest.mark.parametrize("gate", [None, 2])
def test_without_a_tracker_only_modules_of_the_list_are_loaded(
    repository: Path, holdfast: Holdfast, event: str, gate: int | None
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    loop(awaitingGate=gate)
    payload: dict[str, object] = {"session_id": "first", "cwd": str(repository)}
    loaded = loaded_by("claude", event, payload)
    assert "holdfast.kernel.writer" in loaded or event == "SessionEnd", "which another process does"
    foreign = {name for name in loaded if not name.startswith("holdfast")} - STARTUP - ALLOWED
    if event == "SessionStart":
        # It reads a transcript and asks git once: expressions, JSON and a process, nothing else.
        assert not foreign & TOO_DEAR
    else:
        assert foreign == set()
    assert failures.read(discover()) == []


# The script of the CCC protocol


@pytest.mark.clause("CCC-65")
def test_the_stop_handler_calls_the_automated_profile(
    repository: Path, holdfast: Holdfast, tmp_path: Path, linear: FakeLinear
) -> None:
    loop(awaitingGate=2)
    payload = json.dumps({"session_id": "first", "cwd": str(repository)}).encode()
    programs = str(Path(command("claude", "Stop")[0]).parent)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", str(SCRIPT)], input=payload, capture_output=True, env=environment, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert "Resume ENG-12. Current task: task 2 of 3." in PROGRESS.read_text("utf-8")
    assert len(linear.on("ENG-12")) == 1
    loop()
    done = subprocess.run(
        ["sh", str(SCRIPT)], input=payload, capture_output=True, env=environment, timeout=60
    )
    assert json.loads(done.stdout)["decision"] == "block"


@pytest.mark.clause("CCC-65", "AMB-CCC-18")
def test_the_stop_handler_never_fails_its_host(repository: Path, tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "holdfast").write_text("#!/bin/sh\nexit 70\n")
    (broken / "holdfast").chmod(0o755)
    for path in (f"{broken}:/usr/bin:/bin", "/usr/bin:/bin"):
        done = subprocess.run(
            ["sh", str(SCRIPT)], input=b"{", capture_output=True, env={"PATH": path}, timeout=60
        )
        assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.clause("CCC-03", "AMB-CCC-18")
def test_the_verb_answers_like_the_entry(repository: Path) -> None:
    loop()
    payload = json.dumps({"session_id": "first", "cwd": str(repository)})
    words = [command("claude", "Stop")[0], "-m", "holdfast", "hook", "claude"]
    done = subprocess.run([*words, "Stop"], input=payload, capture_output=True, text=True)
    assert json.loads(done.stdout)["decision"] == "block"
    for event, text in (("Stop", "garbage"), ("Dance", payload)):
        done = subprocess.run([*words, event], input=text, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")


def test_a_payload_without_a_session_means_the_one_at_work(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    hook("SessionEnd", "SessionEnd.other", session_id="")
    given = said(hook("SessionStart", "SessionStart.startup", session_id=""))
    assert "Next action: finish parse_date." in given["hookSpecificOutput"]["additionalContext"]
    streams = {record["stream"] for record in holdfast("history", "--json").data["records"]}
    assert streams == {"session:first"}
    kinds = [record["kind"] for record in holdfast("history", "--json").data["records"]]
    assert "ended" in kinds
    assert "adopted" not in kinds, "nobody took it over"
