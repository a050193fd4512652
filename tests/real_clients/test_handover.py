"""A real client that is started with a first prompt asks its model for it, and a person goes on."""

from __future__ import annotations

import json

import pytest

from holdfast.maintenance.client_start import command_for
from tests.real_clients.world import Client

pytestmark = pytest.mark.clients

# Begins like an option, has several lines, and what a shell would change.
PACK = (
    "-- Holdfast: go on\nwith 'quotes', \"more\" and $HOME\n" + ("x" * 100 + "\n") * 60 + "The end."
)
LEAVE = {"opencode": ["/exit", "\r"]}
INTERRUPT_TWICE = ["\x03", "\x03"]


def test_the_prompt_arrives_whole(client: Client) -> None:
    # Else Gemini CLI asks another model first which one to take.
    words = ["-m", "gemini-2.5-flash"] if client.name == "gemini" else []
    words += command_for(client.name, PACK)[1:]  # type: ignore[arg-type]
    leave = LEAVE.get(client.name, INTERRUPT_TWICE)
    steps = [{"asked": 1, "type": []}, {"sees": "UNDERSTOOD", "type": leave}]
    run = client.start(words, [{"text": "UNDERSTOOD"}], steps=steps)
    assert len(run.asked) == 1, run.told
    assert json.dumps(PACK, ensure_ascii=False)[1:-1] in run.asked[0]
