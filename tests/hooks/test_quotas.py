"""How much of its vendor's limits a client has used: read from each client, shown on each face, warned of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.budgets.hooks import tell_quota
from holdfast.hooks import claude_mod
from holdfast.hooks.after_turn import after_turn
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.maintenance import status_line
from holdfast.people import notices as people_notices
from holdfast.usage import quotas, usage_limits
from holdfast.usage.usage_limits import local_time
from holdfast.web import page_cache
from tests.budgets.world import configure
from tests.hooks import world as hooks_world
from tests.hooks.world import ask
from tests.session import world as session_world
from tests.session.world import Holdfast
from tests.web import conftest as web
from tests.web.world import Visitor, World

holdfast, left = session_world.holdfast, hooks_world.left
pytestmark = pytest.mark.usefixtures("left")
world, stranger, visitor = web.world, web.stranger, web.visitor


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "json://127.0.0.1:9/x")
    monkeypatch.setattr(
        people_notices, "send", lambda url, title, text: found.append((title, text))
    )
    return found


def in_hours(hours: float) -> int:
    """A reset as the clients tell it: whole seconds."""
    return (clock.now() + int(hours * clock.HOUR)) // 1000


def measure(five_hour: float, *, session: str = "s1", hours: float = 3) -> None:
    """As the mod tells it; its client's own shape."""
    resets = [clock.precise(in_hours(each) * 1000) for each in (hours, 100)]
    told = {
        "session_id": session,
        "cwd": str(Path.cwd()),
        "rate_limits": [
            {"kind": "five_hour", "percentUsed": five_hour, "resetsAt": resets[0]},
            {"kind": "seven_day", "percentUsed": 41, "resetsAt": resets[1]},
        ],
    }
    assert claude_mod.answer("measure", told, discover(), clock.now()) == {}


def codex_rollout(folder: Path, five_hour: float) -> str:
    """As Codex 0.166 wrote it when the stub's answers had the headers of its vendor."""
    primary = {"used_percent": five_hour, "window_minutes": 300, "resets_at": in_hours(3)}
    secondary = {"used_percent": 41.0, "window_minutes": 10080, "resets_at": in_hours(100)}
    stamp = clock.precise(clock.now())
    lines: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "c1", "cwd": str(Path.cwd())}},
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": None,
                "rate_limits": {"primary": primary, "secondary": secondary},
            },
        },
        {"type": "event_msg", "payload": {"type": "task_complete"}},
    ]
    path = folder / ".codex/sessions/2026/11/17/rollout-2026-11-17T10-00-00-c1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps({'timestamp': stamp, **line})}\n" for line in lines))
    return str(path)


def limited() -> list[str]:
    return [one["session"] for one in usage_limits.list_limited(discover(), clock.now())]


def test_the_mods_measurement_is_shown_by_status_and_guard_limits(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("note", "There is a journal.")
    measure(82.4)
    resets = local_time(clock.precise(in_hours(3) * 1000))
    for words in (("status",), ("guard", "limits")):
        assert (
            f"5-hour limit 82 % used, resets {resets}; weekly limit 41 % used"
            in holdfast(*words).out
        )
        told = holdfast(*words, "--json").data["quotas"]
        assert [(one["client"], one["name"], one["percent"]) for one in told] == [
            ("claude", "5-hour", 82.4),
            ("claude", "weekly", 41),
        ]


def test_claude_codes_status_line_tells_the_same(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    holdfast("note", "There is a journal.")
    windows = {
        "five_hour": {"used_percentage": 82, "resets_at": in_hours(3)},
        "seven_day": {"used_percentage": 41, "resets_at": in_hours(100)},
    }
    payload = {"session_id": "s1", "rate_limits": windows}
    shown = status_line.write(discover(), payload, now=clock.now())
    assert "5-hour limit 82%, resets " in shown
    assert "weekly" not in shown, "the fullest one"
    assert [one["name"] for one in holdfast("status", "--json").data["quotas"]] == [
        "5-hour",
        "weekly",
    ]


def test_codexs_rollout_tells_the_same(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    holdfast("note", "There is a journal.")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    path = codex_rollout(tmp_path, 82.0)
    after_turn(discover(), "codex", "c1", path, clock.now())
    assert "Codex  5-hour limit 82 % used, resets" in holdfast("status").out
    assert limited() == []


def test_a_limit_that_was_reset_and_another_shape_say_nothing(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("note", "There is a journal.")
    measure(82, hours=-0.1)
    assert [one["name"] for one in quotas.list_quotas(discover(), clock.now())] == ["weekly"]
    odd = [None, 5, {"kind": 3}, {"kind": "\x1b[31m", "percentUsed": 9, "resetsAt": 10**40}]
    told = {"session_id": "s2", "cwd": str(Path.cwd()), "rate_limits": odd}
    claude_mod.answer("measure", told, discover(), clock.now())
    assert "\x1b[31m" not in holdfast("status").out


def test_an_older_reading_says_how_old_it_is() -> None:
    now = clock.now()
    one: quotas.ClientQuota = {
        "client": "claude",
        "name": "5-hour",
        "percent": 82.9,
        "resets_at": "",
        "at": clock.precise(now - 20 * clock.MINUTE),
    }
    assert quotas.describe(one, now) == "5-hour limit 82 % used (seen 20 min ago)"


def test_at_100_percent_the_session_is_at_its_limit_until_the_reset(
    repository: Path, holdfast: Holdfast, left: list[list[str]]
) -> None:
    holdfast("note", "There is a journal.")
    ask("claude", "SessionStart", source="startup")
    measure(99)
    assert limited() == []
    measure(100)
    (one,) = holdfast("status", "--json").data["attention"]
    assert one["what"].startswith("Claude Code s1 is at a usage limit until ")
    assert one["what"].endswith("5-hour limit 100 % used")
    assert one["next"] == "holdfast resume --in claude --at-reset"
    assert [words[-2:] for words in left] == [["tell-waiting", "s1"]]
    ask("claude", "UserPromptSubmit", prompt="go on")
    assert limited() == [], "an account that may go on beyond its limit"
    measure(100)
    assert limited() == [], "told once a limit"


def test_codex_at_100_percent_is_at_its_limit_before_a_request_is_refused(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    holdfast("note", "There is a journal.")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    path = codex_rollout(tmp_path, 100.0)
    ask("codex", "SessionStart", session_id="c1", source="startup", transcript_path=path)
    after_turn(discover(), "codex", "c1", path, clock.now())
    assert limited() == ["c1"]


def test_a_budget_warns_before_the_limit_is_reached_once(
    repository: Path, holdfast: Holdfast, left: list[list[str]], sent: list[tuple[str, str]]
) -> None:
    configure("thresholds:\n  warning: {quota: 90%}\n  alert: {quota: 97%}\n")
    holdfast("note", "There is a journal.")
    measure(89)
    assert left == []
    measure(91)
    (words,) = left
    assert words[-2:] == ["tell-quota", "warning"]
    assert tell_quota(["warning"], {}, discover(), clock.now())["told"]
    ((title, text),) = sent
    assert title == "Holdfast: the usage limit of Claude Code is near"
    assert text.startswith("Claude Code: 5-hour limit 91 % used, resets ")
    assert "This is your budget's warning." in text
    measure(92, session="s2", hours=3.01)
    assert not tell_quota(["warning"], {}, discover(), clock.now())["told"], (
        "once, whichever session it was"
    )
    shown = holdfast("guard", "limits").out
    assert "Quota" in shown
    assert "90%" in shown
    refused = ask("claude", "PreToolUse", tool_name="Edit", tool_input={"file_path": "a.py"})
    assert refused == {}, "a warning goes on"
    measure(98)
    refused = ask("claude", "PreToolUse", tool_name="Edit", tool_input={"file_path": "a.py"})
    assert "An alert waits for a person: Quota at 98%, the alert is at 97%" in json.dumps(refused)
    assert (
        json.loads(Path(".autopilot/state/thresholds.json").read_text())["current_values"][
            "quota_percent"
        ]
        == 98
    )


def test_the_board_shows_the_limits_of_the_clients(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.root)
    monkeypatch.setattr(page_cache, "LASTS", 0.0)
    monkeypatch.setattr(page_cache, "SHARE", 0)
    assert "Usage limits" not in visitor.get("/board").text
    world.verify()
    measure(82)
    text = visitor.get("/board").text
    assert "5-hour limit 82 % used, resets" in text
    assert "weekly limit 41 % used" in text
