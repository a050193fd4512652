"""All tests of a client, for a module of your own that has a fixture `case`, a `Case` with the client's recordings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.clients import discovery, installation, transcripts
from holdfast.clients.table import CAPABILITIES, CLIENTS, capability, owner_of, part
from holdfast.hooks.run import respond_to
from holdfast.kernel import clock, failures, latch
from holdfast.kernel.workspace import discover
from holdfast.people.person import agent_marks
from holdfast.processes import relaunch
from holdfast.session import observation, session_files, sessions
from holdfast.session.client_start import command_for
from holdfast.session.world import is_own
from holdfast.testing.clients import Case, events
from holdfast.testing.clients.events import ask, context, denied, read_payload
from holdfast.usage import spending

SERVER = ["holdfast", "mcp"]


@pytest.fixture
def client(case: Case) -> str:
    return case.client


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has used no client yet; nothing runs behind the hooks."""
    folder = tmp_path / "home"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOLDFAST_JOURNAL_FORWARDER", "false")
    monkeypatch.setenv("HOLDFAST_MEMORY_KEEP_DAYS", "0")
    variables = {"XDG_DATA_HOME", "OPENCODE_DB", *agent_marks()}
    for facts in CLIENTS.values():
        variables |= {facts.home_variable, facts.settings_variable}
    for name in variables - {""}:
        monkeypatch.delenv(name.partition("/")[0], raising=False)
    monkeypatch.setattr(relaunch, "leave", lambda *_: None)
    return folder


@pytest.fixture
def repository(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh git repository, which is the current folder."""
    folder = Path(os.path.realpath(tmp_path)) / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    monkeypatch.chdir(folder)
    return folder


def every_file(root: Path) -> dict[str, bytes]:
    paths = [path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths if path.is_file()}


def payloads(case: Case) -> list[tuple[str, Path]]:
    """Return each recorded payload: its event, and the file."""
    found = events.list_payloads(case.payloads)
    return [
        (event, case.payloads / f"{stem}.json")
        for name, event, stem in found
        if name == case.client
    ]


# What every client that is set up implements; docs/how-to/add-a-client.md names all of it.
NEEDED = ("install", "hooks", "sessions")


# The folder


def test_its_folder_has_all_parts(client: str) -> None:
    read_as = (
        ("store", "stored transcript") if capability(client, "store") else ("usage", "transcript")
    )
    for name in (*NEEDED, *read_as):
        assert capability(client, name), f"clients/{client} lacks a part of {CAPABILITIES[name]}"
    assert client == part(client, "events").NAME
    assert bool(CLIENTS[client].review) == bool(capability(client, "review"))


def test_every_event_that_is_installed_is_understood_and_has_a_recorded_payload(
    case: Case, client: str
) -> None:
    means = part(client, "events").EVENTS
    for event in part(client, "install").EVENTS:
        assert means[event] not in ("nothing", "unknown")
    meanings = {means[event] for event in part(client, "install").EVENTS}
    assert {"start", "prompt", "tool", "stop", "end"} <= meanings
    assert payloads(case), f"{case.payloads} has no payload of {client}"


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
    repository: Path, case: Case, client: str, before: bytes | None
) -> None:
    workspace = discover()
    for name in case.files if before is not None else ():
        if name.endswith(".json"):
            path = repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(before or b"")
    was = every_file(repository)
    for _ in range(2):
        installation.install(workspace, [client], SERVER)
    installed = every_file(repository)
    assert {name for name in installed if installed[name] != was.get(name)} == {
        *case.files,
    }
    assert installation.install(workspace, [client], SERVER)[0]["status"] == "already"
    assert installation.uninstall(workspace, [client])[0]["status"] in ("restored", "removed")
    assert every_file(repository) == was
    assert {path.name for path in repository.iterdir()} == {
        *(name.partition("/")[0] for name in was),
        ".git",
    }, "no folder of Holdfast is left"


def test_a_change_of_its_settings_is_no_change_of_the_work(case: Case, client: str) -> None:
    assert [name for name in case.files if not is_own(name)] == []


def test_our_server_is_registered_and_its_command_is_whole(
    repository: Path, case: Case, client: str
) -> None:
    installation.install(discover(), [client], SERVER)
    texts = [(repository / name).read_text() for name in case.files]
    assert any('"mcp"' in text and "holdfast" in text for text in texts)


# A session's events


def test_a_start_gives_the_pack_and_once(
    repository: Path, case: Case, client: str, home: Path
) -> None:
    case.put(home, repository)
    event = events.START[client]
    told = context(client, ask(client, event, session_id="next", source="startup"))
    assert case.request in told
    assert case.error in told
    assert told.count("Holdfast: ") == 1, "one verdict"
    again = ask(client, event, session_id="next", source="startup")
    assert context(client, again) == "", "two settings that name us are one start"


def test_a_prompt_and_a_tool_pass_and_a_stop_is_a_capture(repository: Path, client: str) -> None:
    ask(client, events.START[client], source="startup")
    assert ask(client, events.PROMPT[client], prompt="go on") == {}
    tool = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    assert ask(client, events.TOOL[client], **tool) == {}
    assert ask(client, events.USED[client], **tool) == {}
    assert ask(client, events.STOP[client]) == {}
    assert sessions.read_or_new(discover(), "s1")["captures"] == 1


def test_a_stop_that_a_person_set_denies_every_tool(repository: Path, client: str) -> None:
    latch.engage(discover(), "Everybody out", by="tester", now=0)
    answer = ask(client, events.TOOL[client], tool_name="Read", tool_input={"path": "a"})
    assert "Everybody out" in denied(client, answer)


def test_a_persons_command_is_denied(repository: Path, case: Case, client: str) -> None:
    for event, path in payloads(case):
        if part(client, "events").EVENTS[event] == "tool":
            payload = read_payload(path)
            for name in ("tool_input", "toolInput"):
                if name in payload:
                    payload[name] = {"command": "holdfast gate answer 3f2a approved"}
            if "input" in payload:
                continue  # opencode's own form, which its shim does not send
            answer = respond_to(client, event, payload, may_leave=False)
            assert "Only a person" in denied(client, answer), path.name


def test_before_its_context_is_cut_the_session_is_captured(repository: Path, client: str) -> None:
    known = part(client, "events").EVENTS
    named = [name for name, means in known.items() if means in ("compacting", "may compact")]
    assert named, "it has an event for that"
    ask(client, named[0], trigger="auto")
    assert sessions.read_or_new(discover(), "s1")["captures"] == 1


def test_an_end_ends_the_session(repository: Path, client: str) -> None:
    ask(client, events.STOP[client])
    ask(client, events.END[client], reason="other")
    state = sessions.read_or_new(discover(), "s1")
    assert state["ended_at"]
    assert not os.path.exists(session_files.folder_of(discover(), "s1"))


def test_an_unknown_event_is_written_down_and_nothing_else(repository: Path, client: str) -> None:
    assert ask(client, "Dance") == {}
    (failure,) = failures.read(discover())
    assert "Dance" in failure["reason"]


def test_each_recorded_payload_names_its_session_and_is_answered(
    repository: Path, case: Case, client: str
) -> None:
    for event, path in payloads(case):
        payload = read_payload(path)
        read = part(client, "events").read(event, payload)
        if read.means not in ("nothing", "unknown"):
            assert read.session, path.name
            assert read.folder == str(repository) or "input" in payload, path.name
        if read.means == "tool":
            assert read.tool, path.name
        answer = respond_to(client, event, payload, may_leave=False)
        events.refuse_unreadable(client, event, answer)
    assert failures.read(discover()) == []


# A client that was killed: no event tells, its transcript does


def test_what_a_killed_client_did_is_found_and_read(
    repository: Path, case: Case, client: str, home: Path
) -> None:
    path = case.put(home, repository)
    (found,) = discovery.sessions_in(str(repository))
    assert found["client"] == client
    assert (found["session"], found["path"]) == (case.session, str(path))
    assert discovery.identify(str(path)) == client
    if client != "opencode":  # a database has no name that tells whose it is
        assert owner_of(str(path)) == client
    assert discovery.session_at(str(path)) == found
    described = transcripts.describe(found, [], str, now=clock.now())
    assert described["request"] == case.request
    assert described["edits"] == 1
    assert not described["problem"]


def test_its_work_is_observed(repository: Path, case: Case, client: str, home: Path) -> None:
    path = case.put(home, repository)
    looked = observation.look(discover(), case.session, transcript=str(path), now=1)
    assert looked is not None
    seen = looked["seen"]
    assert seen["request"] is not None
    assert seen["request"]["text"] == case.request
    assert [os.path.basename(name) for name in seen["files"] if name.endswith("words.py")]
    (failure,) = seen["failures"]
    assert case.command in str(failure)
    assert case.error in str(failure)
    assert seen["said"][-1]["text"] == case.last_words
    assert "Do not touch the tests." in [ruling["text"] for ruling in seen["rulings"]]


def test_what_it_spent_is_counted_once(
    repository: Path, case: Case, client: str, home: Path
) -> None:
    case.put(home, repository)
    session = case.session
    for _ in range(2):
        spent = spending.measure_session(discover(), session=session, now=clock.now())
        assert spent["client"] == client
        assert spent["tokens"]["total"] == case.tokens
        assert spent["context_tokens"] == case.tokens // case.answers
    assert spending.sources_of(discover())[0]["session"] == session, "the newest one here"
