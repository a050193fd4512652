"""A compaction of Claude Code with our mod: the pack stands where the conversation was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from tests.real_clients.world import Client, Run

pytestmark = pytest.mark.clients

RULING = "Don't touch the public API of the parser."
SUMMARY = "<summary>Somebody wanted milk.</summary>"


def compacted(claude: Client, market: Path, typed: str, *answers: str, setting: str = "") -> Run:
    """Work, compact with what is typed, and ask again."""
    if setting:
        Path("holdfast.toml").write_text(f'[claude]\ncompaction = "{setting}"\n')
    Path("parser.py").write_text("parse = str.split\n")
    claude.install_plugin(market)
    script = [
        claude.read("parser.py"),
        {"text": "FIRST-ANSWER"},
        *({"text": text} for text in answers),
        {"text": "LAST-ANSWER"},
    ]
    steps = [
        {"sees": "shift+tab to cycle", "type": [f"Read parser.py. {RULING}", "\r"]},
        {"sees": "FIRST-ANSWER", "type": [typed, "\r"]},
        {"sees": "Compacted", "type": ["and now", "\r"]},
        {"sees": "LAST-ANSWER", "type": ["/exit", "\r"]},
    ]
    run = claude.start([], script, steps=steps)
    assert run.code == 0, run.told
    return run


@pytest.mark.parametrize(
    ("typed", "setting"), [("/compact", "instant"), ("/holdfast:compact", "off")]
)
def test_instant_compaction_asks_no_model_and_keeps_the_ruling(
    claude: Client, market: Path, typed: str, setting: str
) -> None:
    run = compacted(claude, market, typed, setting=setting)
    assert len(run.asked) == 3, "two of the first turn, one of the last"
    last = json.loads(run.asked[-1])["messages"]
    pack = json.dumps(last[0], ensure_ascii=False)
    assert "Request under way" in pack
    assert RULING in pack
    assert "The whole conversation until here: " in pack
    assert run.asked[-1].count("## Request under way") == 1, "it is there once"
    assert "FIRST-ANSWER" in run.asked[-1], "the last messages stand word for word"
    with holdfast.open() as workspace:
        kinds = [record["kind"] for record in workspace.history(stream="session:*")]
    assert "observed" in kinds
    assert "captured" in kinds


def test_assisted_compaction_gives_the_pack_to_the_clients_own_summary(
    claude: Client, market: Path
) -> None:
    run = compacted(claude, market, "/compact", SUMMARY)
    assert len(run.asked) == 4
    _, _, summing, after = run.asked
    assert "Holdfast recorded the facts below" in summing
    assert summing.count("## Request under way") == 1
    assert "Somebody wanted milk." in after
    assert after.count("## Request under way") == 1, "and once into the context after it"


def test_with_the_setting_off_the_compaction_is_the_clients(claude: Client, market: Path) -> None:
    run = compacted(claude, market, "/compact", SUMMARY, setting="off")
    assert len(run.asked) == 4
    assert "Holdfast recorded the facts below" not in run.asked[2]


def test_without_the_command_holdfast_the_compaction_is_the_clients(
    claude: Client, market: Path
) -> None:
    mod = market / "plugins" / "holdfast" / "hooks" / "register.js"
    mod.write_text(mod.read_text().replace("'holdfast', 'hook'", "'not-holdfast', 'hook'"))
    run = compacted(claude, market, "/compact", SUMMARY, setting="instant")
    assert len(run.asked) == 4
    assert "Somebody wanted milk." in run.asked[-1]
