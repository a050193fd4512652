"""Copilot CLI, which runs the hooks in Claude Code's settings besides its own."""

from __future__ import annotations

import pytest

import holdfast
from tests.real_clients.world import Client, Copilot, eventually

pytestmark = pytest.mark.clients


def told() -> list[tuple[str, str]]:
    with holdfast.open() as workspace:
        return [
            (record["stream"], record["kind"])
            for record in workspace.history(stream="session:*")
            if record["stream"] != "session:before"
        ]


@pytest.mark.parametrize("client", [Copilot], indirect=True)
@pytest.mark.parametrize("settings", [("claude",), ("copilot",), ("claude", "copilot")])
def test_a_session_counts_once_whichever_settings_name_us(
    client: Client, settings: tuple[str, ...]
) -> None:
    client.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    client.holdfast("init", *(word for name in settings for word in ("--client", name)))
    run = client.run("hello", [client.shell("true"), {"text": "Done."}])
    assert run.code == 0, run.told
    assert run.asked[0].count("Next action: keep the quotes") == 1
    eventually(lambda: [kind for _, kind in told()].count("captured") >= 2)
    records = told()
    assert len({stream for stream, _ in records}) == 1, records
    kinds = [kind for _, kind in records]
    assert kinds.count("ended") == 1
    assert kinds.count("captured") == 2, "one of its stop, one of its end"


@pytest.mark.parametrize("client", [Copilot], indirect=True)
def test_after_a_compaction_the_pack_is_there_again(client: Client) -> None:
    client.install()
    run = client.start(
        ["--allow-all"],
        [{"text": "FIRST-ANSWER"}, {"text": "SUMMARY"}, {"text": "LAST-ANSWER"}],
        steps=[
            {"sees": "Interactive", "type": ["Don't touch the public API.", "\r"]},
            # Its spinner breaks words on the screen, so that requests are waited for.
            {"asked": 1, "type": []},
            {"sees": "commands", "anew": True, "type": ["/compact", "\r"]},
            {"sees": "Compaction completed", "type": ["and now", "\r"]},
            {"asked": 3, "type": []},
            {"sees": "commands", "anew": True, "type": ["/exit", "\r"]},
        ],
    )
    assert run.err == "", run.told
    assert len(run.asked) == 3, "the compaction is one of them"
    assert run.asked[-1].count("## Request under way") == 1
