"""What our mod does inside Claude Code besides compactions: a second wall, and what hooks never hear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.usage.spending import measure_session
from tests.real_clients.test_instant_compaction import (
    ASKED,
    RULING,
    SUMMARY,
    compacted,
    kinds,
    prepare,
)
from tests.real_clients.world import Client, eventually

pytestmark = pytest.mark.clients


def without_hooks(market: Path) -> None:
    """The plugin with its mod alone, as if no process of a hook could be started in time."""
    hooks = market / "plugins" / "holdfast" / "hooks" / "hooks.json"
    hooks.write_text(json.dumps({"hooks": {}}))


def spending(session: str) -> Any:
    return measure_session(discover(), session=session, now=clock.now())


def test_a_stop_holds_although_no_hook_runs(claude: Client, market: Path) -> None:
    without_hooks(market)
    claude.install_plugin(market)
    claude.holdfast("estop", "--reason", "Everybody out")
    run = claude.run("go on", [claude.shell("touch done"), claude.read("README.md"), {"text": "."}])
    assert run.code == 0, run.told
    assert not Path("done").exists()
    assert run.asked[-1].count("Stop now, checkpoint: Everybody out") == 2, run.asked[-1][-2000:]


def test_a_persons_command_is_refused_although_no_hook_runs(claude: Client, market: Path) -> None:
    without_hooks(market)
    claude.install_plugin(market)
    run = claude.run("go on", [claude.shell("holdfast release"), {"text": "Done."}])
    assert "Only a person may run `holdfast release`" in run.asked[-1]


def test_without_a_stop_the_mod_refuses_nothing(claude: Client, market: Path) -> None:
    without_hooks(market)
    claude.install_plugin(market)
    run = claude.run("go on", [claude.shell("touch done"), {"text": "Done."}])
    assert run.code == 0, run.told
    assert Path("done").exists()


def test_the_clients_own_figures_are_measured_without_a_status_line(
    claude: Client, market: Path
) -> None:
    claude.install_plugin(market)
    claude.holdfast("note", "There is a journal.")
    run = claude.run("hello", [{"text": "Done.", "tokens": 123_456}])
    told: dict[str, Any] = json.loads(run.out)
    # Its transcript counts the answer, too.
    eventually(lambda: spending(str(told["session_id"]))["context_tokens"] == 123_456)
    spent = spending(str(told["session_id"]))
    assert spent["context_window"] == 1_000_000
    assert spent["cost"] == pytest.approx(told["total_cost_usd"])


def test_an_interrupted_turn_is_observed_though_no_stop_hook_runs(
    claude: Client, market: Path
) -> None:
    prepare(claude, market)
    claude.holdfast("note", "There is a journal.")
    run = claude.start(
        [],
        [claude.read("parser.py"), {"text": "NEVER-SEEN", "silent": 20}],
        steps=[
            {"sees": "shift+tab to cycle", "type": [ASKED, "\r"]},
            {"asked": 2, "type": ["\x1b"]},
            {"sees": "Claude do instead?", "type": []},
            {"run": _observed(), "type": ["/exit", "\r"]},
        ],
    )
    assert run.code == 0, run.told
    pack = claude.holdfast("resume", "--json")
    assert RULING in pack


def _observed() -> dict[str, object]:
    """Wait until the turn that was cut off stands in the journal."""
    look = "holdfast history 'session:*' --json | grep -q '\"observed\"' && exit 0; sleep 0.2"
    return {"command": ["sh", "-c", f"for n in $(seq 300); do {look}; done; exit 1"]}


# An organization's settings that let no mod of a user run; the hooks of the same plugin run all the same.
NO_MODS = {
    "pluginConfigs": {"cc-plugin-sec-default@builtin": {"options": {"allowManagedModsOnly": True}}}
}


def test_where_managed_settings_allow_no_mods_everything_works_as_before(
    claude: Client, market: Path
) -> None:
    claude.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    run = compacted(claude, market, "/compact", SUMMARY, setting="instant", managed=NO_MODS)
    assert "keep the quotes" in run.asked[0], "the pack at the start"
    assert len(run.asked) == 4, "the client's own summary: no mod answered instead of it"
    assert "Holdfast recorded the facts below" not in run.asked[2]
    assert "Somebody wanted milk." in run.asked[3]
    assert run.asked[3].count("## Request under way") == 1, "and the pack behind it"
    eventually(lambda: {"ended", "captured"} <= set(kinds()))
    assert kinds().count("ended") == 1
    claude.holdfast("estop", "--reason", "Everybody out")
    stopped = claude.run("go on", [claude.shell("touch done"), {"text": "."}], managed=NO_MODS)
    assert not Path("done").exists()
    assert not stopped.asked, "the hook of the prompt held it"


@pytest.mark.parametrize("has_init", [False, True], ids=["plugin", "plugin and init"])
def test_settings_hooks_and_mod_together_count_once(
    claude: Client, market: Path, has_init: bool
) -> None:
    prepare(claude, market, "instant")
    if has_init:
        claude.install()
    run = claude.run("hello", [claude.read("parser.py"), {"text": "Done.", "tokens": 50_000}])
    assert run.code == 0, run.told
    session = str(json.loads(run.out)["session_id"])
    cost = pytest.approx(json.loads(run.out)["total_cost_usd"])
    eventually(lambda: bool(spending(session)["cost"] == cost), said=cost)
    eventually(lambda: kinds(f"session:{session}").count("captured") >= 2)
    found = kinds(f"session:{session}")
    assert found.count("ended") == 1
    assert found.count("captured") == 2, f"one of its stop, one of its end: {found}"
    assert run.asked[-1].count("Holdfast records this session's work by itself") == 1
