"""A real client that is started with a first prompt asks its model for it, and a person goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts.clients import program_of

from holdfast.pack.pack import INTRODUCTION
from holdfast.session.client_start import command_for
from tests.real_clients.test_stories import REQUEST, as_read, begin, project, section
from tests.real_clients.world import Client

__all__ = ["project"]

pytestmark = pytest.mark.clients

# Begins like an option, has several lines, and what a shell would change.
PACK = (
    "-- Holdfast: go on\nwith 'quotes', \"more\" and $HOME\n" + ("x" * 100 + "\n") * 60 + "The end."
)
LEAVE = {"opencode": ["/exit", "\r"]}
# A person reviewed the hooks and the server.
TRUSTED = {"codex": "--dangerously-bypass-hook-trust"}
ACCEPT = {"qwen": [{"sees": "Approve this server", "type": ["\r"]}]}
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


def test_a_handover_asks_to_continue_and_brings_the_pack_once(
    client: Client, project: Path
) -> None:
    """With the hooks set up, too; and the session after it knows the request, not our text."""
    begin(client)
    programs = client.home / "bin"
    programs.mkdir()
    program = programs / client.name
    program.write_text(
        f'#!/bin/sh\nexec {program_of(client.name)} {TRUSTED.get(client.name, "")} "$@"\n'
    )
    program.chmod(0o755)
    environment = client.environment()
    run = client.start(
        [],
        [client.shell("ls"), {"text": "UNDERSTOOD"}],
        command=[str(client.program("holdfast")), "resume", "--in", client.name],
        environment={**environment, "PATH": f"{programs}:{environment['PATH']}"},
        steps=[
            *ACCEPT.get(client.name, ()),
            {"asked": 2, "type": []},
            {"sees": "UNDERSTOOD", "type": LEAVE.get(client.name, INTERRUPT_TWICE)},
        ],
    )
    told = as_read(run, 0)
    assert f"Continue this work: {REQUEST}" in told, run.told
    assert told.count(INTRODUCTION) == 1, told[-8000:]
    pack = client.holdfast("resume")
    assert section(pack, "Request under way")[0] == REQUEST, pack
    assert "Holdfast: " not in pack.partition("```data")[2], "our own text is no person's word"
    assert "Continue this work" not in json.dumps(
        json.loads(client.holdfast("resume", "--list", "--json"))["data"]["sessions"][0]["request"]
    )
