"""What every client must pass: one folder in `clients/`, one row in `cases.py`, recorded payloads in
`tests/hooks/samples` and one recorded session in `samples/`. docs/how-to/add-a-client.md explains it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.clients import discovery, installation, transcripts
from holdfast.clients.table import CAPABILITIES, CLIENTS, NAMES, capability, owner_of, part
from holdfast.hooks.run import respond_to
from holdfast.kernel import clock, failures, latch
from holdfast.kernel.workspace import discover
from holdfast.people.person import agent_marks
from holdfast.processes import relaunch
from holdfast.session import observation, session_files, sessions
from holdfast.session.client_start import command_for
from holdfast.session.world import is_own
from holdfast.usage import spending
from tests.clients.conformance import cases
from tests.clients.conformance.cases import CASES, put_session
from tests.hooks import world
from tests.hooks.world import ask, context, denied, payload_of

pytestmark = pytest.mark.parametrize("client", NAMES)
SERVER = ["holdfast", "mcp"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has used no client yet; nothing runs behind the hooks."""
    folder = tmp_path / "home"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_DATA_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(relaunch, "leave", lambda *_: None)
    return folder


def every_file(root: Path) -> dict[str, bytes]:
    paths = [path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths if path.is_file()}


# What every client that is set up implements; docs/how-to/add-a-client.md names all of it.
NEEDED = ("install", "hooks", "sessions")


# The folder


def test_its_folder_has_all_parts(client: str) -> None:
    assert set(CASES) == set(CLIENTS), "each client has a row here"
    read_as = (
        ("store", "stored transcript") if capability(client, "store") else ("usage", "transcript")
    )
    for name in (*NEEDED, *read_as):
        assert capability(client, name), f"clients/{client} lacks a part of {CAPABILITIES[name]}"
    assert client == part(client, "events").NAME
    assert bool(CLIENTS[client].review) == bool(capability(client, "review"))


def test_every_event_that_is_installed_is_understood_and_has_a_recorded_payload(
    client: str,
) -> None:
    events = part(client, "events").EVENTS
    for event in part(client, "install").EVENTS:
        assert events[event] not in ("nothing", "unknown")
    meanings = {events[event] for event in part(client, "install").EVENTS}
    assert {"start", "prompt", "tool", "stop", "end"} <= meanings
    recorded = {name for owner, name, _ in world.samples() if owner == client}
    assert recorded, f"tests/hooks/samples has no payload of {client}"


def test_a_prompt_starts_it(client: str) -> None:
    command = command_for(client, "-go on")  # type: ignore[arg-type]
    assert command[0] == CLIENTS[client].start[0]
    assert command[-1].endswith("-go on")


def test_its_variables_say_that_no_person_typed_a_command(client: str) -> None:
    facts = CLIENTS[client]
    assert {facts.session_variable, facts.project_variable} - {""} <= agent_marks()


# Install and uninstall


@pytest.mark.parametrize("before", [None, b'{\r\n "mine" : [1,2 ]\r\n}'], ids=["new", "mine"])
def test_uninstall_puts_every_file_back_byte_for_byte(
    repository: Path, client: str, before: bytes | None
) -> None:
    workspace = discover()
    for name in CASES[client].files if before is not None else ():
        if name.endswith(".json"):
            path = repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(before or b"")
    was = every_file(repository)
    for _ in range(2):
        installation.install(workspace, [client], SERVER)
    installed = every_file(repository)
    assert {name for name in installed if installed[name] != was.get(name)} == {
        *CASES[client].files,
    }
    assert installation.install(workspace, [client], SERVER)[0]["status"] == "already"
    assert installation.uninstall(workspace, [client])[0]["status"] in ("restored", "removed")
    assert every_file(repository) == was
    assert {path.name for path in repository.iterdir()} == {
        *(name.partition("/")[0] for name in was),
        ".git",
    }, "no folder of ours is left"


def test_a_change_of_its_settings_is_no_change_of_the_work(client: str) -> None:
    assert [name for name in CASES[client].files if not is_own(name)] == []


def test_our_server_is_registered_and_its_command_is_whole(repository: Path, client: str) -> None:
    installation.install(discover(), [client], SERVER)
    texts = [(repository / name).read_text() for name in CASES[client].files]
    assert any('"mcp"' in text and "holdfast" in text for text in texts)


# A session's events


def test_a_start_gives_the_pack_and_once(repository: Path, client: str, home: Path) -> None:
    put_session(client, home, repository)
    event = world.START[client]
    told = context(client, ask(client, event, session_id="next", source="startup"))
    assert cases.REQUEST in told
    assert cases.ERROR in told
    assert told.count("Holdfast: ") == 1, "one verdict"
    again = ask(client, event, session_id="next", source="startup")
    assert context(client, again) == "", "two settings that name us are one start"


def test_a_prompt_and_a_tool_pass_and_a_stop_is_a_capture(repository: Path, client: str) -> None:
    ask(client, world.START[client], source="startup")
    assert ask(client, world.PROMPT[client], prompt="go on") == {}
    tool = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    assert ask(client, world.TOOL[client], **tool) == {}
    assert ask(client, world.USED[client], **tool) == {}
    assert ask(client, world.STOP[client]) == {}
    assert sessions.read_or_new(discover(), "s1")["captures"] == 1


def test_a_stop_that_a_person_set_denies_every_tool(repository: Path, client: str) -> None:
    latch.engage(discover(), "Everybody out", by="tester", now=0)
    answer = ask(client, world.TOOL[client], tool_name="Read", tool_input={"path": "a"})
    assert "Everybody out" in denied(client, answer)


def test_a_persons_command_is_denied(repository: Path, client: str) -> None:
    for _, event, stem in world.samples():
        if stem.startswith(f"{client}.") and part(client, "events").EVENTS[event] == "tool":
            payload = payload_of(stem)
            for name in ("tool_input", "toolInput"):
                if name in payload:
                    payload[name] = {"command": "holdfast gate answer 3f2a approved"}
            if "input" in payload:
                continue  # opencode's own form, which its shim does not send
            answer = respond_to(client, event, payload, may_leave=False)
            assert "Only a person" in denied(client, answer), stem


def test_before_its_context_is_cut_the_session_is_captured(repository: Path, client: str) -> None:
    events = part(client, "events").EVENTS
    named = [name for name, means in events.items() if means in ("compacting", "may compact")]
    assert named, "it has an event for that"
    ask(client, named[0], trigger="auto")
    assert sessions.read_or_new(discover(), "s1")["captures"] == 1


def test_an_end_ends_the_session(repository: Path, client: str) -> None:
    ask(client, world.STOP[client])
    ask(client, world.END[client], reason="other")
    state = sessions.read_or_new(discover(), "s1")
    assert state["ended_at"]
    assert not os.path.exists(session_files.folder_of(discover(), "s1"))


def test_an_unknown_event_is_written_down_and_nothing_else(repository: Path, client: str) -> None:
    assert ask(client, "Dance") == {}
    (failure,) = failures.read(discover())
    assert "Dance" in failure["reason"]


def test_each_recorded_payload_names_its_session_and_is_answered(
    repository: Path, client: str
) -> None:
    for owner, event, stem in world.samples():
        if owner != client:
            continue
        read = part(client, "events").read(event, payload_of(stem))
        if read.means not in ("nothing", "unknown"):
            assert read.session, stem
            assert read.folder == str(repository) or "input" in payload_of(stem), stem
        if read.means == "tool":
            assert read.tool, stem
        answer = respond_to(client, event, payload_of(stem), may_leave=False)
        world.refuse_unreadable(client, event, answer)
    assert failures.read(discover()) == []


# A client that was killed: no event tells, its transcript does


def test_what_a_killed_client_did_is_found_and_read(
    repository: Path, client: str, home: Path
) -> None:
    path = put_session(client, home, repository)
    (found,) = discovery.sessions_in(str(repository))
    assert found["client"] == client
    assert (found["session"], found["path"]) == (CASES[client].session, str(path))
    assert discovery.identify(str(path)) == client
    if client != "opencode":  # a database has no name that tells whose it is
        assert owner_of(str(path)) == client
    assert discovery.session_at(str(path)) == found
    described = transcripts.describe(found, [], str, now=clock.now())
    assert described["request"] == cases.REQUEST
    assert described["edits"] == 1
    assert not described["problem"]


def test_its_work_is_observed(repository: Path, client: str, home: Path) -> None:
    path = put_session(client, home, repository)
    looked = observation.look(discover(), CASES[client].session, transcript=str(path), now=1)
    assert looked is not None
    seen = looked["seen"]
    assert seen["request"] is not None
    assert seen["request"]["text"] == cases.REQUEST
    assert [os.path.basename(name) for name in seen["files"] if name.endswith("words.py")]
    (failure,) = seen["failures"]
    assert cases.COMMAND in str(failure)
    assert cases.ERROR in str(failure)
    assert seen["said"][-1]["text"] == cases.LAST_WORDS
    assert "Do not touch the tests." in [ruling["text"] for ruling in seen["rulings"]]


def test_what_it_spent_is_counted_once(repository: Path, client: str, home: Path) -> None:
    put_session(client, home, repository)
    session = CASES[client].session
    for _ in range(2):
        spent = spending.measure_session(discover(), session=session, now=clock.now())
        assert spent["client"] == client
        assert spent["tokens"]["total"] == cases.TOKENS
        assert spent["context_tokens"] == cases.TOKENS // cases.ANSWERS
    assert spending.sources_of(discover())[0]["session"] == session, "the newest one here"
