"""Claude Code's http hooks and MCP on the page server: who may send them, and what they are answered."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from scripts.page_server import Serving

from holdfast.clients import claude as settings
from holdfast.guard.budget import Budget
from holdfast.hooks import claude
from holdfast.hooks.run import command, respond_to
from holdfast.hooks.watching import EVERY, LOOKED
from holdfast.kernel import clock, failures, latch, slot
from holdfast.kernel.workspace import discover
from holdfast.web import hooks
from holdfast.web.agent_keys import made, path_of, read
from holdfast.web.agents import is_agents
from holdfast.web.serving import Wish, listen
from tests.hooks import world as hooks_world
from tests.session import world as session_world
from tests.session.world import Holdfast
from tests.web.world import Visitor, World

holdfast = session_world.holdfast

PATIENCE = 60.0
SAMPLES = [
    (event, stem)
    for client, event, stem in hooks_world.samples()
    if client == "claude" and event in hooks.EVENTS
]
WRONG: list[Any] = [None, 7, [], {}, "", "x" * 100_000, "\ud83d", "a\0b", {"command": [7, {}]}]
USED, TOOL = "PostToolUse", "PreToolUse"


class Agent:
    """A client that sends hooks to a server in this process."""

    def __init__(self, visitor: Visitor, token: str) -> None:
        self.visitor = visitor
        self.token = token

    def post(self, event: str, body: bytes | dict[str, Any], **headers: str) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {"authorization": f"Bearer {self.token}"} if self.token else {}
        given = {"content-type": "application/json", **own, **headers}
        return self.visitor.client.post(f"/hooks/claude/{event}", content=content, headers=given)

    def answer(self, event: str, body: bytes | dict[str, Any]) -> dict[str, Any]:
        said = self.post(event, body)
        assert said.status_code == 200, said.text
        assert said.headers["content-type"] == "application/json"
        answer = said.json()
        hooks_world.refuse_unreadable("claude", event, answer)
        return dict(answer)


@pytest.fixture
def agent(stranger: Visitor, world: World) -> Agent:
    made(world.workspace)
    return Agent(stranger, read(world.workspace.home))


def looked(world: World, session: str = "s1") -> None:
    """The session was seen just now: what follows is cheap."""
    slot.is_due(world.workspace, session, LOOKED, 0, clock.now())


# What is answered


@pytest.mark.parametrize(("event", "stem"), SAMPLES, ids=[stem for _, stem in SAMPLES])
def test_each_payload_that_was_seen_is_answered_as_a_command_would(
    agent: Agent, world: World, event: str, stem: str
) -> None:
    agent.answer(event, hooks_world.payload_of(stem))
    assert failures.read(world.workspace) == []


def test_a_stop_denies_a_tool_and_ends_the_turn(agent: Agent, world: World) -> None:
    looked(world)
    assert agent.answer(TOOL, hooks_world.given(tool_name="Bash")) == {}
    assert agent.answer(USED, hooks_world.given(tool_name="Bash")) == {}
    latch.engage(world.workspace, "Everybody out", by="somebody", now=0)
    denied = agent.answer(TOOL, hooks_world.given(tool_name="Bash"))
    assert "Everybody out" in hooks_world.denied("claude", denied)
    assert agent.answer(USED, hooks_world.given())["continue"] is False


def test_an_alert_and_a_persons_command_are_denied(agent: Agent, world: World) -> None:
    command = {"command": "holdfast gate answer store --yes"}
    denied = agent.answer(TOOL, hooks_world.given(tool_name="Bash", tool_input=command))
    assert "Only a person" in hooks_world.denied("claude", denied)
    Budget(world.workspace, actor="builder").check({"cost": 26.5}, session="s1", now=clock.now())
    denied = agent.answer(TOOL, hooks_world.given(tool_name="Bash"))
    assert "An alert waits for a person" in hooks_world.denied("claude", denied)


def test_a_stop_of_the_agent_is_captured_and_leaves_no_process(agent: Agent, world: World) -> None:
    agent.answer("Stop", hooks_world.given())
    assert [head["stream"] for head in world.workspace.journal.heads("session:")] == ["session:s1"]
    assert os.getcwd() == str(world.root), "the server's own folder stays"
    agent.answer("SessionEnd", hooks_world.given(reason="other"))
    kinds = {record["kind"] for record in world.workspace.journal.latest(limit=20)}
    assert "ended" in kinds


def test_open_tasks_answer_a_stop_with_the_prompt(agent: Agent, world: World) -> None:
    loop = {"linearIssue": "CIA-7", "phase": "execution", "taskIndex": 0, "totalTasks": 2}
    (world.root / ".ccc-state.json").write_text(json.dumps({**loop, "maxTaskIterations": 1}))
    answer = agent.answer("Stop", hooks_world.given())
    assert answer["decision"] == "block"
    assert "Resume CIA-7" in answer["reason"]
    assert agent.answer("Stop", hooks_world.given(stop_hook_active=True)) == {}


def test_a_session_that_was_not_looked_at_is_looked_at(agent: Agent, world: World) -> None:
    """The first event of a minute is a process's; the others are cheap."""
    payload = hooks_world.given()
    assert not hooks.is_cheap(USED, payload, world.workspace)
    agent.answer(USED, payload)
    assert slot.seen_at(world.workspace, "s1", LOOKED) is not None
    assert hooks.is_cheap(USED, payload, world.workspace)
    assert not world.workspace.exists(), "and no journal was made for it"


def test_a_linked_worktree_is_the_same_workspace(agent: Agent, world: World) -> None:
    subprocess.run(
        [
            *("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit"),
            "--allow-empty",
            "-qm",
            "x",
        ],
        cwd=world.root,
        check=True,
    )
    linked = world.root.parent / "linked"
    subprocess.run(["git", "worktree", "add", "-q", str(linked)], cwd=world.root, check=True)
    agent.answer(USED, hooks_world.given(cwd=str(linked)))
    assert (linked / ".holdfast" / "slots").is_dir()


# Who may send it


def test_without_a_token_nothing_is_read(agent: Agent, world: World) -> None:
    for token in ("", "wrong", "x" * 10_000, "%20", "\x7f"):
        agent.token = token
        said = agent.post(USED, hooks_world.given())
        assert (said.status_code, said.json()["error"]["kind"]) == (401, "no_token")
        assert said.headers["www-authenticate"] == "Bearer"
    assert not (world.root / ".holdfast" / "slots").exists()


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", "Bearer ", "Basic {token}", "{token}", "Bearer {token}x", "Bearer\t{token}"],
)
def test_only_a_bearer_with_the_whole_token_comes_in(agent: Agent, value: str) -> None:
    token, agent.token = agent.token, ""
    said = agent.post(USED, hooks_world.given(), authorization=value.format(token=token))
    assert said.status_code == 401


def test_a_token_in_the_address_is_none(agent: Agent) -> None:
    address = f"/hooks/claude/{USED}?token={agent.token}"
    assert agent.visitor.client.post(address, json=hooks_world.given()).status_code == 401


def test_a_persons_cookie_does_not_speak_for_an_agent(agent: Agent) -> None:
    agent.visitor.sign_in()
    agent.token = ""
    assert agent.post(USED, hooks_world.given()).status_code == 401
    assert agent.visitor.client.post("/mcp", json={}).status_code == 401


def test_an_agents_token_opens_no_page_and_answers_nothing(agent: Agent, world: World) -> None:
    gate = world.decide()
    own = {"authorization": f"Bearer {agent.token}"}
    for path in ("/", "/board", "/board.json", "/records.events", f"/w/{world.key}/gates/{gate}"):
        assert agent.visitor.get(path, **own).status_code == 401
    form = {"answer": "pg", "csrf": agent.token}
    headers = {**own, "origin": agent.visitor.address.origin}
    said = agent.visitor.client.post(f"/w/{world.key}/gates/{gate}", data=form, headers=headers)
    assert said.status_code == 401
    assert world.gate(gate)["answer"] is None


def test_a_page_cannot_send_a_hook_though_it_had_the_token(agent: Agent) -> None:
    for origin in ("http://evil.example", agent.visitor.address.origin, "null"):
        assert agent.post(USED, hooks_world.given(), origin=origin).status_code == 403


def test_another_host_is_refused(agent: Agent) -> None:
    for host in ("evil.example", "localhost:4653", "127.0.0.1"):
        assert agent.post(USED, hooks_world.given(), host=host).status_code == 421


@pytest.fixture
def other(tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    made_world = World(root)
    made(made_world.workspace)
    yield made_world
    made_world.workspace.close()


def test_another_workspaces_token_is_nobodys_here(agent: Agent, world: World, other: World) -> None:
    agent.token = read(other.workspace.home)
    assert agent.post(USED, hooks_world.given()).status_code == 401, "the page does not show it"
    with Visitor([str(world.root), str(other.root)]) as both:
        stray = Agent(both, read(other.workspace.home))
        for folder in (world.root, "/", world.root / ".git"):
            said = stray.post("Stop", hooks_world.given(cwd=str(folder)))
            assert (said.status_code, said.json()["error"]["kind"]) == (403, "other_workspace")
        assert not world.workspace.exists()
        stray.answer("Stop", hooks_world.given(cwd=str(other.root)))
        assert other.workspace.exists()


def test_a_token_that_was_taken_away_or_replaced_ends_at_once(agent: Agent, world: World) -> None:
    looked(world)
    agent.answer(USED, hooks_world.given())
    os.unlink(path_of(world.workspace.home))
    assert agent.post(USED, hooks_world.given()).status_code == 401
    made(world.workspace)
    assert agent.post(USED, hooks_world.given()).status_code == 401
    agent.token = read(world.workspace.home)
    agent.answer(USED, hooks_world.given())


def test_the_token_is_its_users_alone(world: World) -> None:
    path = Path(made(world.workspace))
    token = read(world.workspace.home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(token) >= 43
    assert made(world.workspace) == str(path)
    assert read(world.workspace.home) == token, "made once"
    path.chmod(0o640)
    assert read(world.workspace.home) == "", "others may have read it"
    made(world.workspace)
    assert read(world.workspace.home) not in ("", token)
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert read(world.workspace.home) == ""


def test_ten_make_one_token(world: World) -> None:
    with ThreadPoolExecutor(10) as several:
        list(several.map(lambda _: made(discover(str(world.root))), range(10)))
    assert read(world.workspace.home)
    left = [name for name in os.listdir(world.workspace.home) if "unfinished" in name]
    assert left == []


# What is no payload


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":' * 5_000, b"[" * 200_000, b'{"cwd": 7}'],
)
@pytest.mark.parametrize("event", [TOOL, USED, "Stop"])
def test_hostile_payloads_let_the_agent_go_on(
    agent: Agent, world: World, event: str, body: bytes
) -> None:
    assert agent.answer(event, body) == {}
    told = [failure["reason"] for failure in failures.read(world.workspace)]
    assert all("The payload is not" in reason for reason in told)
    assert len(told) == (0 if body.startswith(b'{"cwd') else 1)


@pytest.mark.parametrize("name", ["session_id", "cwd", "tool_name", "tool_input", "reason"])
def test_wrong_kinds_of_everything_that_is_read(agent: Agent, world: World, name: str) -> None:
    for wrong in WRONG:
        for event in (TOOL, USED):
            body = json.dumps(hooks_world.given(**{name: wrong})).encode()
            agent.answer(event, body)


def test_a_stop_holds_though_the_payload_is_garbage_or_too_long(agent: Agent, world: World) -> None:
    latch.engage(world.workspace, "Everybody out", by="somebody", now=0)
    for body in (b"", b"{", b"x" * 34_000_000):
        assert "Everybody out" in hooks_world.denied("claude", agent.answer(TOOL, body))


def test_thirty_megabytes_are_read_and_more_is_not(agent: Agent, world: World) -> None:
    looked(world)
    large = hooks_world.given(tool_response="x" * 30_000_000)
    assert agent.answer(USED, large) == {}
    assert failures.read(world.workspace) == []
    assert agent.answer(USED, hooks_world.given(tool_response="x" * 34_000_000)) == {}
    (failure,) = failures.read(world.workspace)
    assert failure["reason"] == "The payload is larger than 32 MB."


@pytest.mark.parametrize(
    "event", ["SessionStart", "Setup", "Dance", "", "../board", "Stop/x", "%00"]
)
def test_what_is_no_http_hook_is_not_found(agent: Agent, event: str) -> None:
    assert agent.post(event, hooks_world.given()).status_code in (403, 404)
    assert is_agents("/hooks/claude/x")
    assert not is_agents("/hooks")


def test_only_post_sends_a_hook(agent: Agent) -> None:
    own = {"authorization": f"Bearer {agent.token}"}
    assert agent.visitor.client.get(f"/hooks/claude/{USED}", headers=own).status_code == 404


def test_a_bug_is_an_error_of_the_servers_and_is_named(
    agent: Agent, world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> bool:
        raise RuntimeError("boom")

    monkeypatch.setattr(hooks, "is_cheap", broken)
    assert agent.post(USED, hooks_world.given()).status_code == 500
    (failure,) = failures.read(world.workspace)
    assert "boom" in failure["reason"]
    assert "boom" in capfd.readouterr().err


def test_neither_payload_nor_token_is_kept(agent: Agent, world: World) -> None:
    secret = "ghp_" + "a1B2" * 9
    for event in ("UserPromptSubmit", TOOL, USED, "Stop"):
        agent.answer(event, hooks_world.given(prompt=secret, tool_input={"command": secret}))
    kept = [
        path.read_bytes()
        for path in world.root.rglob("*")
        if path.is_file() and path.name != "agents-token"
    ]
    assert not any(secret.encode() in content for content in kept)
    assert not any(agent.token.encode() in content for content in kept)


# Several at once, on a real socket


class Wire:
    """A client's connection to a server on a socket."""

    def __init__(self, serving: Serving, token: str) -> None:
        self._address = serving.address
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(self, event: str, payload: dict[str, Any]) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(
            self._address.host, self._address.port, timeout=PATIENCE
        )
        body = json.dumps(payload)
        connection.request("POST", f"/hooks/claude/{event}", body, self._headers)
        answer = connection.getresponse()
        said = answer.status, json.loads(answer.read())
        connection.close()
        return said


@pytest.fixture
def wire(serving: Serving, world: World) -> Wire:
    made(world.workspace)
    return Wire(serving, read(world.workspace.home))


def test_ten_sessions_stop_at_once(wire: Wire, world: World) -> None:
    def stop(number: int) -> tuple[int, Any]:
        return wire.post("Stop", hooks_world.given(session_id=f"s{number}"))

    with ThreadPoolExecutor(10) as several:
        assert list(several.map(stop, range(10))) == [(200, {})] * 10
    assert len(world.workspace.journal.heads("session:")) == 10
    assert failures.read(world.workspace) == []


def test_a_slow_hook_holds_up_nobody(wire: Wire, world: World) -> None:
    """A capture waits for the workspace's lock; looks and pages do not wait for the capture."""
    looked(world)
    done: list[tuple[int, Any]] = []
    with world.workspace.lock():
        slow = threading.Thread(target=lambda: done.append(wire.post("Stop", hooks_world.given())))
        slow.start()
        for _ in range(5):
            assert wire.post(USED, hooks_world.given()) == (200, {})
        assert done == []
    slow.join()
    assert [status for status, _ in done] == [200]


def test_the_end_of_the_server_ends_a_hook_that_hangs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(world.workspace)
    pid = world.root / "pid"
    script = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    monkeypatch.setattr(hooks, "command", lambda *_: [shutil.which("python3"), "-c", script])
    monkeypatch.setattr("holdfast.web.serving.GRACE_SECONDS", 1)
    with Serving([str(world.root)]) as serving:
        wire = Wire(serving, read(world.workspace.home))

        def hang() -> None:
            with pytest.raises((OSError, http.client.HTTPException, ValueError)):
                wire.post("Stop", hooks_world.given())

        hanging = threading.Thread(target=hang)
        hanging.start()
        ends = time.monotonic() + PATIENCE
        while not (pid.exists() and pid.read_text()):
            assert time.monotonic() < ends
            time.sleep(0.01)
    hanging.join(PATIENCE)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_no_packet_waits_for_another() -> None:
    (listening,), _ = listen(Wish("127.0.0.1", 0))
    with listening, socket.create_connection(listening.getsockname()) as sends:
        taken, _ = listening.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sends


def test_a_client_that_vanishes_in_the_middle_harms_nobody(
    serving: Serving, wire: Wire, world: World
) -> None:
    looked(world)
    for length in (10, 10_000_000):
        with socket.create_connection((serving.address.host, serving.address.port)) as sends:
            head = (
                f"POST /hooks/claude/{USED} HTTP/1.1\r\nHost: {serving.address.netloc}\r\n"
                f"Authorization: Bearer {read(world.workspace.home)}\r\n"
                f"Content-Length: {length}\r\n\r\n{{"
            )
            sends.sendall(head.encode())
    assert wire.post(USED, hooks_world.given()) == (200, {})
    assert failures.read(world.workspace) == []


# MCP over HTTP


def test_tools_over_http_with_the_same_token(serving: Serving, wire: Wire, world: World) -> None:
    async def main() -> tuple[list[str], str]:
        headers = {"Authorization": f"Bearer {read(world.workspace.home)}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as sends:
            address = f"{serving.address.origin}/mcp"
            async with Client(streamable_http_client(address, http_client=sends)) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                done = await client.call_tool("gate_status", {})
                assert isinstance(done, CallToolResult)
                return names, done.content[0].text  # type: ignore[union-attr]

    names, text = anyio.run(main)
    assert {"checkpoint", "gate_open", "guard"} <= set(names)
    assert "answer" not in " ".join(names)
    assert text


def test_a_stream_that_a_client_holds_open_does_not_hold_up_the_end(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    made(world.workspace)
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    with Serving([str(world.root)]) as serving:
        headers = {
            "Authorization": f"Bearer {read(world.workspace.home)}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        talk = http.client.HTTPConnection(
            serving.address.host, serving.address.port, timeout=PATIENCE
        )
        talk.request("POST", "/mcp", json.dumps(hello), headers)
        answer = talk.getresponse()
        assert answer.status == 200, answer.read()
        session = answer.getheader("mcp-session-id") or ""
        answer.read()
        listening = http.client.HTTPConnection(
            serving.address.host, serving.address.port, timeout=PATIENCE
        )
        listening.request("GET", "/mcp", headers={**headers, "Mcp-Session-Id": session})
        stream = listening.getresponse()
        assert stream.status == 200
    assert "graceful shutdown exceeded" not in caplog.text, "it ended by itself"
    stream.read()
    stream.close()
    for connection in (talk, listening):
        connection.close()


# `holdfast init --http`


def test_the_words_of_the_settings_are_those_of_the_hooks() -> None:
    assert settings.UNWATCHED == claude.UNWATCHED
    assert set(settings.OVER_HTTP) <= hooks.EVENTS
    assert claude.read(f"{TOOL} {claude.UNWATCHED}", {}).looks_after > EVERY
    assert claude.read(TOOL, {}).looks_after == 0


def test_the_command_before_a_tool_looks_when_the_page_does_not(world: World) -> None:
    """With the page away nobody says that a tool was used; budgets are checked all the same."""
    respond_to("claude", TOOL, hooks_world.given(), may_leave=False)
    assert slot.seen_at(world.workspace, "s1", LOOKED) is None
    respond_to("claude", f"{TOOL} {claude.UNWATCHED}", hooks_world.given(), may_leave=False)
    assert slot.seen_at(world.workspace, "s1", LOOKED) is not None


def handlers(root: Path) -> dict[str, Any]:
    document = json.loads((root / settings.SETTINGS).read_text("utf-8"))
    return {event: groups[-1]["hooks"][0] for event, groups in document["hooks"].items()}


def test_only_what_may_be_lost_goes_over_http(world: World, holdfast: Holdfast) -> None:
    answer = holdfast("init", "--client", "claude", "--http")
    assert answer.code == 0, answer.err
    found = handlers(world.root)
    over_http = {event for event, handler in found.items() if handler["type"] == "http"}
    assert over_http == {USED}, "denials, captures and stops do not depend on a page"
    assert found[USED]["url"] == f"http://127.0.0.1:4653/hooks/claude/{USED}"
    assert found[USED]["headers"] == {"Authorization": "Bearer $HOLDFAST_AGENTS_TOKEN"}
    assert found[USED]["allowedEnvVars"] == ["HOLDFAST_AGENTS_TOKEN"]
    started = found[TOOL]
    assert [started["command"], *started["args"]] == command("claude", TOOL, claude.UNWATCHED)
    token = read(world.workspace.home)
    assert token
    assert token not in answer.out + answer.err
    assert token not in (world.root / settings.SETTINGS).read_text()
    assert path_of(world.workspace.home) in answer.out


def test_there_and_back_again(world: World, holdfast: Holdfast) -> None:
    file = world.root / settings.SETTINGS
    file.parent.mkdir()
    mine = b'{"hooks": {"PostToolUse": [{"hooks": [{"type": "http", "url": "http://x"}]}]}, "a": 1}'
    file.write_bytes(mine)
    holdfast("init", "--client", "claude")
    plain = file.read_bytes()
    holdfast("init", "--client", "claude", "--http")
    over_http = file.read_bytes()
    assert handlers(world.root)[USED]["type"] == "http"
    again = holdfast("init", "--client", "claude", "--http", "--json")
    assert json.loads(again.out)["data"]["clients"][0]["status"] == "already"
    assert file.read_bytes() == over_http
    holdfast("init", "--client", "claude")
    assert file.read_bytes() == plain
    holdfast("init", "--client", "claude", "--http", "https://page.example:8443")
    assert handlers(world.root)[USED]["url"].startswith("https://page.example:8443/hooks/")
    file.write_bytes(file.read_bytes().replace(b'"a": 1', b'"a": 2'))
    assert holdfast("uninstall", "--client", "claude").code == 0
    assert json.loads(file.read_bytes()) == {**json.loads(mine), "a": 2}, "only ours went"
    file.write_bytes(mine)
    holdfast("init", "--client", "claude", "--http")
    holdfast("uninstall", "--client", "claude")
    assert file.read_bytes() == mine


@pytest.mark.parametrize(
    "words",
    [
        ("--client", "codex", "--http"),
        ("--client", "claude", "--http", "http://page.example:4653"),
        ("--client", "claude", "--http", "ftp://127.0.0.1"),
        ("--client", "claude", "--http", "127.0.0.1:4653"),
        ("--client", "claude", "--http", "http://127.0.0.1:4653/x"),
    ],
)
def test_hooks_go_nowhere_unencrypted(
    world: World, holdfast: Holdfast, words: tuple[str, ...]
) -> None:
    assert holdfast("init", *words).code == 2
    assert not (world.root / ".claude").exists()
    assert not os.path.exists(path_of(world.workspace.home))


def test_a_dry_run_makes_no_token(world: World, holdfast: Holdfast) -> None:
    assert holdfast("init", "--client", "claude", "--http", "--dry-run").code == 0
    assert not os.path.exists(path_of(world.workspace.home))
