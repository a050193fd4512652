"""Every payload that the clients were seen to send, and what could be wrong with one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.table import NAMES as CLIENTS
from holdfast.clients.table import part
from holdfast.hooks.run import respond_to
from holdfast.kernel import failures, latch
from holdfast.kernel.workspace import discover
from holdfast.processes import relaunch
from tests.hooks import world
from tests.hooks.world import given_on_stdin, payload_of, refuse_unreadable, said, send
from tests.session import world as session_world

SAMPLES = world.samples()
NAMES = [stem for _, _, stem in SAMPLES]
# One payload of each event; and the fields that we read, of which every kind of nonsense is tried.
EVENTS = {(client, event): stem for client, event, stem in SAMPLES}
# One of each client goes to the interpreter that the client starts, the others stay in this process.
FIRST = {client: stem for client, _, stem in reversed(SAMPLES)}
READ = ("session_id", "cwd", "source", "reason", "tool_name", "tool_input", "input", "output")
WRONG: list[Any] = [None, 7, [], {}, "", "x" * 100_000, "\ud83d", "a\0b", {"command": [7, {}]}]
FEW: list[Any] = [None, [], "a\0b"]


@pytest.mark.parametrize(("client", "event", "stem"), SAMPLES, ids=NAMES)
def test_each_recorded_payload_is_answered(
    repository: Path, client: str, event: str, stem: str
) -> None:
    assert event in part(client, "events").EVENTS
    if stem == FIRST[client]:
        said(client, event, send(client, event, payload_of(stem), cold=True))
    else:
        given_on_stdin(client, event, payload_of(stem))
    assert failures.read(discover()) == []


@pytest.mark.parametrize(
    "nonsense", [FEW, pytest.param(WRONG, marks=pytest.mark.proof)], ids=["few", "all"]
)
@pytest.mark.parametrize(("client", "event"), EVENTS)
def test_whatever_is_missing_or_of_another_kind_the_answer_can_be_read(
    repository: Path, client: str, event: str, nonsense: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaunch, "leave", lambda *_: None)
    payload = payload_of(EVENTS[client, event])
    for name in payload:
        left = {key: value for key, value in payload.items() if key != name}
        wrong = nonsense if name in READ else nonsense[:1]
        for changed in (left, *({**left, name: value} for value in wrong)):
            answer = respond_to(client, event, changed, may_leave=False)
            refuse_unreadable(client, event, answer)


@pytest.mark.matrix
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":' * 5_000, b"[" * 200_000]
)
def test_what_is_no_payload_is_written_down(repository: Path, client: str, payload: bytes) -> None:
    event = world.STOP[client]
    assert said(client, event, send(client, event, payload)) == {}
    (failure,) = failures.read(discover())
    assert failure["hook"] == f"{client} {event}"
    assert "The payload is not" in failure["reason"]


@pytest.mark.parametrize("client", CLIENTS)
def test_an_unknown_event_lets_the_agent_go_on(repository: Path, client: str) -> None:
    assert given_on_stdin(client, "Dance", world.given()) == {}
    (failure,) = failures.read(discover())
    assert "Dance" in failure["reason"]


@pytest.mark.parametrize("client", ["claude", pytest.param("gemini", marks=pytest.mark.proof)])
def test_thirty_megabytes_are_read_and_more_is_not(repository: Path, client: str) -> None:
    event = world.STOP[client]
    large = {**world.given(), "last_assistant_message": "x" * 30_000_000}
    assert said(client, event, send(client, event, large)) == {}
    assert failures.read(discover()) == []
    large["last_assistant_message"] = "x" * 34_000_000
    assert send(client, event, large).returncode == 0
    (failure,) = failures.read(discover())
    assert failure["reason"] == "The payload is larger than 32 MB."


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_holds_though_the_payload_is_garbage(repository: Path, client: str) -> None:
    """The process's own folder says where it is then."""
    latch.engage(discover(), "Everybody out", by="somebody", now=0)
    large = [b"x" * 34_000_000] if client == CLIENTS[0] else []
    for payload in (b"", b"{", *large):
        answer = given_on_stdin(client, world.TOOL[client], payload)
        assert "Everybody out" in world.denied(client, answer)


@pytest.mark.parametrize("client", CLIENTS)
def test_neither_payload_nor_environment_is_kept(
    repository: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_OWN_VARIABLE", "in-the-environment-only")
    monkeypatch.setenv("HOLDFAST_NO_SUCH_SETTING", "1")  # which makes every hook fail
    secret = "ghp_" + "a1B2" * 9
    for stem in NAMES:
        if stem.startswith(f"{client}."):
            event = next(event for _, event, name in SAMPLES if name == stem)
            payload = payload_of(stem, prompt=f"use {secret}", tool_input={"command": secret})
            given_on_stdin(client, event, payload)
    send(client, world.STOP[client], world.given(prompt=secret))
    assert failures.read(discover()) != []
    kept = session_world.every_byte_under(repository)
    assert secret.encode() not in kept
    assert b"in-the-environment-only" not in kept


@pytest.mark.parametrize("client", CLIENTS)
def test_no_folder_and_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (str(tmp_path), str(tmp_path / "gone"), "/proc/nothing", "a\0b"):
        for event in (world.START[client], world.STOP[client], world.TOOL[client]):
            payload = json.dumps({"session_id": "s1", "cwd": folder}).encode()
            assert given_on_stdin(client, event, payload) == {}
    assert list(tmp_path.iterdir()) == []


def test_the_samples_hold_no_path_of_a_machine() -> None:
    for path in world.SAMPLES.glob("*.json"):
        text = path.read_text("utf-8")
        assert "/root" not in text, path
        assert f"/{'work'}/" not in text, path
    assert len(NAMES) > 55
    assert os.sep == "/"
