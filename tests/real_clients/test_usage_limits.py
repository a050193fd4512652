"""The model refuses with a usage limit and its reset: the real client's turn ends, and Holdfast knows until when."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.real_clients.dialects import Answer
from tests.real_clients.world import Claude, Client, eventually

pytestmark = pytest.mark.clients
SECONDS = 3 * 3600


def refusal(client: Client) -> Answer:
    """As each vendor says it, with a reset in three hours."""
    resets = str(int(time.time()) + SECONDS)
    if client.name == "claude":
        unified = "anthropic-ratelimit-unified"
        return {
            "status": 429,
            "error": {"type": "rate_limit_error", "message": "This would exceed your limit."},
            "headers": {
                f"{unified}-status": "rejected",
                f"{unified}-reset": resets,
                f"{unified}-representative-claim": "five_hour",
                f"{unified}-5h-status": "rejected",
                f"{unified}-5h-reset": resets,
                f"{unified}-overage-status": "rejected",
                "x-should-retry": "false",
            },
        }
    return {
        "status": 429,
        "error": {
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "plus",
            "resets_at": int(resets),
        },
        "headers": {
            "x-codex-primary-used-percent": "100",
            "x-codex-primary-window-minutes": "300",
            "x-codex-primary-reset-at": resets,
        },
    }


def used(client: Client, percent: int) -> Answer:
    """An answer of a model that says how much of the limits is used: 5 hours, and a week's 41 %."""
    now = int(time.time())
    hours, week = str(now + SECONDS), str(now + 5 * 86400)
    if client.name == "claude":
        unified = "anthropic-ratelimit-unified"
        headers = {
            f"{unified}-status": "allowed",
            f"{unified}-reset": hours,
            f"{unified}-representative-claim": "five_hour",
            f"{unified}-5h-utilization": str(percent / 100),
            f"{unified}-5h-reset": hours,
            f"{unified}-7d-utilization": "0.41",
            f"{unified}-7d-reset": week,
        }
    else:
        headers = {
            "x-codex-primary-used-percent": str(percent),
            "x-codex-primary-window-minutes": "300",
            "x-codex-primary-reset-at": hours,
            "x-codex-secondary-used-percent": "41",
            "x-codex-secondary-window-minutes": "10080",
            "x-codex-secondary-reset-at": week,
        }
    return {"text": "FINISHED", "headers": headers}


def assert_shown(client: Client, title: str) -> None:
    """The process after the turn reads it; the client does not wait for that."""
    eventually(lambda: "82 % used" in client.holdfast("status"))
    shown = client.holdfast("status")
    told = rf"{title}  5-hour limit 82 % used, resets [\d :-]+; weekly limit 41 % used, resets [\d :-]+"
    assert re.search(told, shown), shown
    found = json.loads(client.holdfast("guard", "limits", "--json"))["data"]["quotas"]
    assert [(one["name"], one["percent"]) for one in found] == [("5-hour", 82), ("weekly", 41)]


def test_claude_codes_mod_tells_how_much_of_its_limits_is_used(
    claude: Client, market: Path
) -> None:
    assert isinstance(claude, Claude)
    claude.has_subscription = True
    claude.holdfast("checkpoint", "--session", "before", "--next", "go on")
    claude.install_plugin(market)
    run = claude.run("Do it.", [used(claude, 82)])
    assert run.code == 0, run.told
    assert_shown(claude, "Claude Code")


def test_claude_codes_status_line_shows_it_and_tells_it(claude: Client) -> None:
    assert isinstance(claude, Claude)
    claude.has_subscription = True
    claude.install()
    run = claude.start(
        ["Do it."],
        [used(claude, 82)],
        steps=[
            {"sees": "FINISHED", "type": []},
            {"sees": "5-hour limit 82%, resets", "type": ["/exit", "\r"]},
        ],
    )
    assert run.code == 0, run.told
    assert_shown(claude, "Claude Code")


def test_codexs_rollout_tells_how_much_of_its_limits_is_used(codex: Client) -> None:
    codex.install()
    run = codex.run("Do it.", [used(codex, 82)])
    assert run.code == 0, run.told
    assert_shown(codex, "Codex")


def assert_known(attention: list[dict[str, Any]], title: str, client: str) -> None:
    (one,) = [one for one in attention if "usage limit" in one["what"]]
    told = re.fullmatch(
        rf"{title} \w{{8}} is at a usage limit until [\d :-]+ \(in (.*)\): You.ve hit your .*",
        one["what"],
    )
    assert told is not None, one["what"]
    assert re.fullmatch(r"3 h|2 h 5\d min", told[1]), "three hours, and what the run took"
    assert one["next"] == f"holdfast resume --in {client} --at-reset"


def status_of(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(client.holdfast("status", "--json"))["data"][
        "attention"
    ]
    return found


def is_known(client: Client) -> bool:
    return any("usage limit" in one["what"] for one in status_of(client))


@pytest.mark.parametrize("by", ["init", "plugin"])
def test_claude_code_ends_its_turn_at_a_limit(claude: Client, by: str, market: Path) -> None:
    assert isinstance(claude, Claude)
    if by == "init":
        claude.install()
    else:
        claude.holdfast("checkpoint", "--session", "before", "--next", "go on")
        claude.install_plugin(market)
    claude.has_subscription = True
    run = claude.run("Do two things.", [claude.shell("echo one"), *[refusal(claude)] * 3])
    assert run.code == 1, run.told
    eventually(lambda: is_known(claude))
    assert_known(status_of(claude), "Claude Code", "claude")


def test_codex_ends_with_its_turn_at_a_limit(codex: Client) -> None:
    codex.install()
    run = codex.run("Do two things.", [codex.shell("echo one"), *[refusal(codex)] * 3])
    assert run.code == 1, run.told
    # The process after the session's end keeps it; the client does not wait for that.
    eventually(lambda: is_known(codex))
    assert_known(status_of(codex), "Codex", "codex")


def test_an_interface_of_codex_is_known_to_stand_at_a_limit(codex: Client, tmp_path: Path) -> None:
    codex.install()
    file = tmp_path / "status.json"
    look = f"{codex.program('holdfast')} status --json >{file}; grep -q 'usage limit' {file}"
    look = f"for n in $(seq 60); do {look} && break; sleep 0.5; done"
    options = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
    run = codex.start(
        [*options, "Do two things."],
        [codex.shell("echo one"), *[refusal(codex)] * 3],
        steps=[
            {"sees": "usage limit", "type": []},
            {"run": {"command": ["sh", "-c", look]}, "type": ["\x03", "\x03"]},
        ],
    )
    assert file.exists(), run.told
    assert_known(json.loads(file.read_text())["data"]["attention"], "Codex", "codex")
