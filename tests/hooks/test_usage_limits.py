"""A usage limit ended a turn: the session's state, its reset, and going on at the reset."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import holdfast as library
from holdfast.clients.limits import find_limit
from holdfast.hooks import question_notices as notices
from holdfast.hooks.after_turn import after_turn
from holdfast.hooks.run import respond
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.people import notices as people_notices
from holdfast.session import client_start, session_files
from holdfast.usage import usage_limits
from holdfast.web import page_cache
from holdfast.web.background import tell_of_resets
from holdfast.web.workspaces import Site
from tests.gates.person import Terminal
from tests.hooks import world as hooks_world
from tests.hooks.world import ask
from tests.session import world as session_world
from tests.session.world import Holdfast
from tests.web import conftest as web
from tests.web.world import Visitor, World

holdfast, left = session_world.holdfast, hooks_world.left
pytestmark = pytest.mark.usefixtures("left")
world, stranger, visitor = web.world, web.stranger, web.visitor
AT = "2026-11-17T06:50:14.945Z"
RESETS = 1794909012
HIT = "You've hit your limit · resets 9:50am (UTC)"
CODEX = "You’ve hit your usage limit. Upgrade to Pro, or try again later."


def codex_line(**payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": "event_msg", "payload": payload}


# Cut down from what the real clients wrote when the stub answered 429.
CLAUDE_LINES: list[dict[str, Any]] = [
    {"type": "user", "timestamp": AT, "message": {"role": "user", "content": "Do two things."}},
    {
        "type": "assistant",
        "timestamp": AT,
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": HIT}]},
        "apiError": "usage_limit_reached",
        "quotaLimits": {"status": "rejected", "resetsAt": RESETS, "rateLimitType": "five_hour"},
        "error": "rate_limit",
        "isApiErrorMessage": True,
        "apiErrorStatus": 429,
    },
    {"type": "last-prompt", "lastPrompt": "Do two things."},
    {"type": "user", "message": {"content": "<command-name>/exit</command-name>"}},
    {"type": "cost-state", "totalCostUSD": 0},
]
CODEX_LINES: list[dict[str, Any]] = [
    codex_line(type="task_started"),
    codex_line(
        type="token_count",
        rate_limits={"primary": {"used_percent": 100.0, "resets_at": RESETS}, "secondary": None},
    ),
    codex_line(
        type="task_complete",
        error={"message": CODEX, "codex_error_info": "usage_limit_exceeded"},
    ),
    codex_line(type="thread_settings_applied"),
]
COPILOT_LINES: list[dict[str, Any]] = [
    {"type": "user.message", "timestamp": AT, "data": {}},
    {
        "type": "session.error",
        "timestamp": AT,
        "data": {
            "errorType": "rate_limit",
            "message": "429 Please retry in 3h.",
            "statusCode": 429,
        },
    },
    {"type": "session.shutdown", "timestamp": AT, "data": {}},
]
QWEN_LINES: list[dict[str, Any]] = [
    {"type": "assistant", "timestamp": AT},
    {
        "type": "system",
        "timestamp": AT,
        "systemPayload": {
            "uiEvent": {
                "event.name": "qwen-code.api_error",
                "error_message": "429 Please retry in 3h.",
                "status_code": 429,
            }
        },
    },
]
MORE: dict[str, dict[str, Any]] = {
    "claude": {"type": "user", "message": {"role": "user", "content": "go on"}},
    "codex": codex_line(type="task_started"),
    "copilot": {"type": "user.message", "data": {}},
    "qwen": {"type": "user"},
}
LINES = {
    "claude": CLAUDE_LINES,
    "codex": CODEX_LINES,
    "copilot": COPILOT_LINES,
    "qwen": QWEN_LINES,
}


def write(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def limited() -> list[str]:
    return [one["session"] for one in usage_limits.list_limited(discover(), clock.now())]


@pytest.mark.parametrize("client", LINES)
def test_a_transcript_that_ends_with_a_limit_tells_its_reset(client: str, tmp_path: Path) -> None:
    path = write(tmp_path / "transcript.jsonl", LINES[client])
    found = find_limit(client, path)
    assert found is not None
    in_three_hours = clock.parse(AT) + 3 * clock.HOUR
    assert found["resets_at"] == (
        RESETS * 1000 if client in ("claude", "codex") else in_three_hours
    )
    write(tmp_path / "transcript.jsonl", [*LINES[client], MORE[client]])
    assert find_limit(client, path) is None, "the session went on"


def test_an_error_that_is_no_limit_is_none(tmp_path: Path) -> None:
    broken = {**CLAUDE_LINES[1], "error": "server_error", "apiErrorStatus": 500}
    assert find_limit("claude", write(tmp_path / "one.jsonl", [broken])) is None
    other = codex_line(type="task_complete", error={"message": "stream disconnected"})
    assert find_limit("codex", write(tmp_path / "two.jsonl", [CODEX_LINES[2], other])) is None


def failed(**facts: object) -> None:
    said = f"Claude AI usage limit reached|{clock.now() // 1000 + 7200}"
    ask("claude", "StopFailure", error="rate_limit", last_assistant_message=said, **facts)


def test_a_limit_is_a_state_of_the_session_with_its_reset(
    repository: Path, holdfast: Holdfast
) -> None:
    failed()
    (one,) = holdfast("status", "--json").data["attention"]
    assert re.fullmatch(
        r"Claude Code s1 is at a usage limit until [\d :-]+ \(in 2 h\): Claude AI .*", one["what"]
    )
    assert one["next"] == "holdfast resume --in claude --at-reset"
    ask("claude", "SessionEnd", reason="other")
    assert limited() == ["s1"], "the state of a session that ended, too"
    ask("claude", "SessionStart", session_id="s2", source="startup")
    assert limited() == [], "another session goes on with its work"


def test_the_next_request_ends_the_state(repository: Path, holdfast: Holdfast) -> None:
    failed()
    assert limited() == ["s1"]
    ask("claude", "UserPromptSubmit", prompt="and now?")
    assert limited() == []
    assert "usage limit" not in holdfast("status").out


def test_codex_tells_no_hook_and_its_rollout_is_read(
    repository: Path, holdfast: Holdfast, tmp_path: Path, left: list[list[str]]
) -> None:
    resets = clock.now() // 1000 + 3600
    lines = json.loads(json.dumps(CODEX_LINES).replace(str(RESETS), str(resets)))
    stamp = clock.precise(clock.now())
    path = write(tmp_path / "rollout-x.jsonl", [{**line, "timestamp": stamp} for line in lines])
    ask("codex", "SessionStart", source="startup", transcript_path=path)
    assert limited() == ["s1"]
    assert "Codex s1 is at a usage limit until" in holdfast("status").out
    # `codex exec` ends with it, and its slot goes; the process after the turn has kept the limit.
    session_files.end(discover(), "s1")
    assert limited() == []
    after_turn(discover(), "codex", "s1", path, clock.now())
    assert limited() == ["s1"]
    assert [words[-2:] for words in left].count(["tell-waiting", "s1"]) == 1


def test_the_page_shows_the_limit_under_needs_you(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.root)
    monkeypatch.setattr(page_cache, "LASTS", 0.0)
    monkeypatch.setattr(page_cache, "SHARE", 0)
    failed()
    text = visitor.get("/board").text
    assert "Claude Code is at a usage limit until" in text
    assert "holdfast resume --in claude --at-reset" in text
    assert "Nothing waits for you." not in text
    ask("claude", "UserPromptSubmit", prompt="go on")
    assert "usage limit" not in visitor.get("/board").text


def test_a_person_elsewhere_is_told_at_the_limit_and_at_its_reset(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, str]] = []
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "json://127.0.0.1:9/x")
    monkeypatch.setattr(people_notices, "send", lambda url, title, text: sent.append((title, text)))
    soon = {"says": HIT, "at": clock.now(), "resets_at": clock.now() + 300}
    usage_limits.keep(discover(), "claude", "s1", soon)  # type: ignore[arg-type]
    assert notices.tell_waiting(discover(), "s1", look_every=0.05)
    assert [title for title, _ in sent] == [
        "Holdfast: Claude Code is at a usage limit",
        "Holdfast: the usage limit of Claude Code was reset",
    ]
    assert f"holdfast resume --in claude -C {repository}" in sent[1][1]
    assert "can go on since" in sent[1][1]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "json://127.0.0.1:9/x")
    monkeypatch.setattr(
        people_notices, "send", lambda url, title, text: found.append((title, text))
    )
    return found


def tell_after_a_restart(repository: Path, by: str, holdfast: Holdfast) -> None:
    """What happens first on a machine that was restarted while a process waited for the reset."""
    if by == "command":
        assert holdfast("note", "Back again.").code == 0
    elif by == "hook":
        ask("codex", "SessionStart", session_id="c9", source="startup")
    else:
        tell_of_resets(Site([str(repository)]))


@pytest.mark.parametrize("by", ["command", "hook", "serve"])
def test_a_reset_is_told_once_after_a_restart_of_the_machine(
    repository: Path,
    holdfast: Holdfast,
    left: list[list[str]],
    sent: list[tuple[str, str]],
    by: str,
) -> None:
    holdfast("note", "There is a journal.")
    an_hour_ago = {"says": HIT, "at": clock.now() - 3 * clock.HOUR}
    ended = {**an_hour_ago, "resets_at": clock.now() - clock.HOUR}
    usage_limits.keep(discover(), "claude", "s1", ended)  # type: ignore[arg-type]
    tell_after_a_restart(repository, by, holdfast)
    (words,) = left
    assert words[-3:] == ["tell-waiting", "s1", str(repository)]
    assert respond(words[-3:]) == {}
    ((title, text),) = sent
    assert title == "Holdfast: the usage limit of Claude Code was reset"
    assert f"holdfast resume --in claude -C {repository}" in text
    left.clear()
    tell_after_a_restart(repository, by, holdfast)
    assert left == [], "once"


def test_one_process_waits_for_a_reset_and_no_second_one_is_started(
    repository: Path, holdfast: Holdfast, left: list[list[str]], sent: list[tuple[str, str]]
) -> None:
    holdfast("note", "There is a journal.")
    later = {"says": HIT, "at": clock.now(), "resets_at": clock.now() + clock.HOUR}
    usage_limits.keep(discover(), "claude", "s1", later)  # type: ignore[arg-type]
    limited = usage_limits.read(discover(), "s1")
    assert limited is not None
    with notices.ToldOnce(discover(), notices.key_of(limited)):
        holdfast("status")
        assert left == []
        assert not notices.tell_waiting(discover(), "s1")
    holdfast("status")
    assert [one[-3:] for one in left] == [["tell-waiting", "s1", str(repository)]]


def test_a_notice_that_no_address_took_is_sent_again(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "json://127.0.0.1:9/x")
    tried: list[str] = []

    def send(url: str, title: str, text: str) -> None:
        tried.append(title)
        if len(tried) == 1:
            raise HoldfastError("offline")

    monkeypatch.setattr(people_notices, "send", send)
    ended = {"says": HIT, "at": clock.now() - 2000, "resets_at": clock.now() - 1000}
    usage_limits.keep(discover(), "claude", "s1", ended)  # type: ignore[arg-type]
    for _ in range(3):
        assert notices.tell_waiting(discover(), "s1")
    assert len(tried) == 2


def test_no_person_is_told_of_a_reset_when_the_work_went_on(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "json://127.0.0.1:9/x")

    def send(url: str, title: str, text: str) -> None:
        sent.append(title)
        ask("claude", "UserPromptSubmit", prompt="go on")

    monkeypatch.setattr(people_notices, "send", send)
    later = {"says": HIT, "at": clock.now(), "resets_at": clock.now() + clock.HOUR}
    usage_limits.keep(discover(), "claude", "s1", later)  # type: ignore[arg-type]
    assert notices.tell_waiting(discover(), "s1", look_every=0.01)
    assert sent == ["Holdfast: Claude Code is at a usage limit"]


# Going on at the reset


@pytest.fixture
def claude(repository: Path, holdfast: Holdfast, tmp_path: Path) -> dict[str, str]:
    """An environment with a client that writes its first prompt down; and a session to go on with."""
    holdfast("checkpoint", "--session", "s1", "--skip-git", "--next", "write the parser")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(f'#!/bin/sh\nprintf %s "$2" >{tmp_path}/prompt\n')
    (folder / "claude").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def keep(milliseconds: int) -> int:
    """A limit that is reset so much later; that instant."""
    now = clock.now()
    limit = {"says": HIT, "at": now, "resets_at": now + milliseconds}
    usage_limits.keep(discover(), "claude", "s1", limit)  # type: ignore[arg-type]
    return now + milliseconds


def test_a_person_lets_a_client_go_on_at_the_reset(claude: dict[str, str], tmp_path: Path) -> None:
    until = keep(0) + client_start.EXACT
    terminal = Terminal("resume", "--in", "claude", "--at-reset", environment=claude)
    terminal.type_back()
    seen = terminal.leave()
    assert clock.now() >= until, "not before the reset"
    assert seen.code == 0, seen.screen
    assert HIT in seen.screen
    assert "Ctrl+C ends the wait." in seen.screen
    assert "write the parser" in (tmp_path / "prompt").read_text()


PROGRAM = """
import holdfast
with holdfast.open() as workspace:
    done = workspace.resume_at_reset("claude", tell=print)
print(done["limited"]["session"], done["found"]["session"], done["command"][0], end=" ")
print("write the parser" in done["command"][-1])
"""


def test_a_program_waits_for_the_reset_when_a_person_let_it(claude: dict[str, str]) -> None:
    until = keep(0) + client_start.EXACT
    terminal = Terminal(script=PROGRAM, environment=claude)
    terminal.type_back()
    seen = terminal.leave()
    assert clock.now() >= until, "not before the reset"
    assert seen.code == 0, seen.screen
    assert "then Claude Code continues. Ctrl+C ends the wait." in seen.screen
    assert "s1 s1 claude True" in seen.screen


@pytest.mark.parametrize(("hours", "kind"), [(1, "no_person"), (20, "too_long")])
def test_a_program_without_a_person_waits_for_nothing(
    repository: Path, holdfast: Holdfast, hours: int, kind: str
) -> None:
    keep(hours * clock.HOUR)
    refused = json.loads(holdfast("resume", "--in", "claude", "--at-reset", "--json").out)
    with library.open() as workspace, pytest.raises(HoldfastError) as told:
        workspace.resume_at_reset("claude")
    assert told.value.data() == refused["error"], "both faces call the same operation"
    assert told.value.kind == kind


def test_ctrl_c_ends_the_wait(claude: dict[str, str], tmp_path: Path) -> None:
    keep(clock.HOUR)
    terminal = Terminal("resume", "--in", "claude", "--at-reset", environment=claude)
    terminal.type_back()
    terminal.read_until(re.compile(rb"then Claude Code continues"))
    terminal.type(b"\x03")
    assert terminal.leave().code == 130
    assert not (tmp_path / "prompt").exists()


def test_only_a_person_can_ask_for_it(repository: Path, holdfast: Holdfast) -> None:
    keep(clock.HOUR)
    refused = holdfast("resume", "--in", "claude", "--at-reset")
    assert refused.code == 4
    assert "Only a person may let Claude Code go on by itself" in refused.err


@pytest.mark.parametrize(
    ("milliseconds", "words", "code", "message"),
    [
        (20 * clock.HOUR, (), 1, "this waits at most 12 h"),
        (
            clock.HOUR,
            ("--session", "other"),
            3,
            "No session of Claude Code is at a usage limit here",
        ),
        (None, (), 3, "No session of Claude Code is at a usage limit here"),
    ],
)
def test_the_wait_is_bounded_and_has_a_reason(
    repository: Path,
    holdfast: Holdfast,
    milliseconds: int | None,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    if milliseconds is not None:
        keep(milliseconds)
    refused = holdfast("resume", "--in", "claude", "--at-reset", *words)
    assert (refused.code, message in refused.err) == (code, True), refused.err


def test_a_limit_without_a_reset_is_not_waited_for(repository: Path, holdfast: Holdfast) -> None:
    ask("claude", "StopFailure", error="rate_limit", last_assistant_message="Try again later.")
    refused = holdfast("resume", "--in", "claude", "--at-reset")
    assert refused.code == 1
    assert "gave no time" in refused.err
    assert holdfast("resume", "--at-reset").code == 2
