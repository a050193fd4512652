"""The plugins, installed by the clients themselves: the pack, a command, the skill."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real_clients.world import (
    PLUGINS,
    Claude,
    Client,
    Gemini,
    Opencode,
    Qwen,
    wait_for_a_capture,
)

pytestmark = pytest.mark.clients


def test_a_plugin_brings_the_pack_the_skill_and_a_checkpoint(client: Client, market: Path) -> None:
    client.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    Path(".ccc-progress.md").unlink()
    if isinstance(client, Claude):
        client.validate_plugins(market)
    client.install_plugin(market, *PLUGINS)
    run = client.run("hello")
    assert run.code == 0, run.told
    assert run.asked[0].count("Next action: keep the quotes") == 1
    assert "Keeps the state of your work outside your context." in run.asked[0]
    wait_for_a_capture(client)


# Codex and Copilot CLI have no commands in plugins; their agents have the skill.
@pytest.mark.parametrize("client", [Claude, Gemini, Opencode, Qwen], indirect=True)
def test_a_command_by_the_protocols_own_name(client: Client, market: Path) -> None:
    client.install_plugin(market, "ccc")
    called = {"opencode": ["run", "--format", "json", "--command", "ccc/go"]}
    run = client.start(called.get(client.name) or client.words("/ccc:go"))
    assert run.code == 0, run.told
    assert "Run `holdfast go` with these words of the user" in run.asked[0]


def test_with_the_hooks_of_init_a_plugins_hooks_are_silent(client: Client, market: Path) -> None:
    client.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    client.install_plugin(market)
    client.install()
    run = client.run("hello")
    assert run.code == 0, run.told
    assert run.asked[0].count("Next action: keep the quotes") == 1
