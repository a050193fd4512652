"""`holdfast mcp` as a process: only the protocol on its standard output, whatever comes in."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel.workspace import discover
from holdfast.processes.distribution import install_command
from tests.cli.conftest import Holdfast
from tests.mcp.test_tools import WORK
from tests.mcp.world import COMMAND, PATIENCE, Face, Process, request, tool_call

HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "old", "version": "1"},
}


def offers_only_what_is_there(capabilities: dict[str, Any]) -> None:
    assert {"tools", "resources", "prompts"} <= set(capabilities)
    for name in ("tools", "resources", "prompts"):
        assert not capabilities[name].get("listChanged")
    assert not capabilities["resources"].get("subscribe")


def test_both_eras_on_the_wire(repository: Path) -> None:
    """As Codex and Gemini begin, with `initialize`; and as Claude Code does, with `server/discover`."""
    old = Process(repository)
    old.send(
        json.dumps(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HANDSHAKE}
        ).encode()
        + b"\n"
    )
    begun = old.answer(0)["result"]
    assert begun["protocolVersion"] == "2025-06-18"
    offers_only_what_is_there(begun["capabilities"])
    old.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    old.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    assert len(old.answer(1)["result"]["tools"]) == 12
    assert old.end()[0] == 0

    new = Process(repository)
    new.send(request(0, "server/discover"))
    found = new.answer(0)["result"]
    assert "2026-07-28" in found["supportedVersions"]
    offers_only_what_is_there(found["capabilities"])
    new.send(request(1, "tools/list"))
    assert len(new.answer(1)["result"]["tools"]) == 12
    new.send(tool_call(2, "resume"))
    assert "error (not_found)" in new.text(2)
    assert new.end() == (0, b"", ""), "nothing is said on standard error either"


def test_what_is_no_message_is_answered_and_the_next_one_too(process: Process) -> None:
    process.send(tool_call("first", "gate_status"))
    assert process.text("first") == "No gate waits."
    broken: list[tuple[bytes, Any, int]] = [
        (b"not json", None, -32700),
        (b"\xff\xfe\x00\x01", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"', None, -32700),
        (b"[]", None, -32600),
        (b"17", None, -32600),
        (b"{}", None, -32600),
        (b'{"jsonrpc":"2.0","id":1}', 1, -32600),
        (b'{"jsonrpc":"1.0","id":2,"method":"tools/list"}', 2, -32600),
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":"x"}', 3, -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":4,"method":"tools/list"}', 4, -32602),
        (request(5, "no/such").strip(), 5, -32601),
        (request(6, "tools/call", name="guard", arguments=[1]).strip(), 6, -32602),
        (request(7, "resources/read", uri="holdfast://nothing").strip(), 7, -32602),
        (request(8, "prompts/get", name="extraction", arguments={"group": "x"}).strip(), 8, -32602),
        (b'{"pad":"' + b"x" * (17 * 1024 * 1024) + b'"}', None, -32700),
    ]
    for line, id, code in broken:
        process.send(line + b"\n")
        assert process.answer(id)["error"]["code"] == code, line[:80]
    for params, said in (
        ({"name": "nothing"}, "There is no prompt 'nothing'."),
        ({"name": "extraction"}, "The argument group is missing."),
        ({"name": "continuation", "arguments": {"sesion": "x"}}, "Did you mean session?"),
    ):
        process.send(request("prompt", "prompts/get", **params))
        error = process.answer("prompt")["error"]
        assert error["code"] == -32602
        assert said in error["message"]
    process.send(b"\n\n")
    process.send(b'{"jsonrpc":"2.0","id":99,"result":{}}\n')
    process.send(b'{"jsonrpc":"2.0","method":"notifications/no-such"}\n')
    half = tool_call("half", "beat", agent="@").replace(b'"@"', b'"\\ud83d"')
    process.send(half)
    assert "'?' is no agent's id" in process.text("half")
    process.send(tool_call("last", "gate_status"))
    assert process.text("last") == "No gate waits."
    assert process.end()[:2] == (0, b"")


def test_nothing_but_the_protocol_is_on_standard_output(repository: Path) -> None:
    """Even when something below prints, or a program that it starts does."""
    script = """
import os, subprocess, sys
from holdfast.cli.frame import run
from holdfast.kernel import crash
def speak():
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run(["sh", "-c", "echo started; cat"])
crash.register("before append", speak)
sys.exit(run(["mcp"]))
"""
    process = Process(repository, [sys.executable, "-c", script])
    process.send(tool_call(1, "checkpoint", **WORK))
    assert "Checkpoint complete" in process.text(1)
    code, out, err = process.end()
    assert (code, out) == (0, b"")
    assert all(word in err for word in ("printed", "written", "started"))


SLOW = """
import sys, time
from pathlib import Path
from holdfast.kernel import crash
def wait():
    Path({entered!r}).touch()
    while not Path({go!r}).exists():
        time.sleep(0.01)
crash.register("before append", wait)
from holdfast.cli.frame import run
sys.exit(run(["mcp"]))
"""


def until(path: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["closes", "dies"])
def test_a_client_that_vanishes_in_a_call_leaves_the_work_done(
    repository: Path, tmp_path: Path, how: str
) -> None:
    entered, go = tmp_path / "entered", tmp_path / "go"
    script = SLOW.format(entered=str(entered), go=str(go))
    process = Process(repository, [sys.executable, "-c", script])
    process.send(tool_call(1, "gate_open", kind="verify", title="It", items=["Look"], name="it"))
    until(entered)
    process.send(tool_call(2, "gate_status"))
    assert process.text(2) == "No gate waits.", "a slow call keeps no other waiting"
    process.stdin.close()
    if how == "dies":
        process.stdout.close()
    go.touch()
    assert process.process.wait(PATIENCE) == 0
    workspace = discover(str(repository))
    assert workspace.journal.head("gate:it") is not None
    workspace.close()
    assert process.said_on_stderr() == ""


def test_killed_in_a_call_nothing_is_half_done(
    repository: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    entered, go = tmp_path / "entered", tmp_path / "go"
    script = SLOW.format(entered=str(entered), go=str(go))
    process = Process(repository, [sys.executable, "-c", script])
    process.send(tool_call(1, "checkpoint", **WORK))
    until(entered)
    process.kill()
    assert holdfast("verify").code == 0
    assert "Checkpoint complete" in Face(repository).call("checkpoint", WORK).text


def test_interrupted_in_a_call_it_ends_when_that_is_done(repository: Path, tmp_path: Path) -> None:
    entered, go = tmp_path / "entered", tmp_path / "go"
    script = SLOW.format(entered=str(entered), go=str(go))
    process = Process(repository, [sys.executable, "-c", script])
    process.send(tool_call(1, "gate_open", kind="verify", title="It", items=["Look"], name="it"))
    until(entered)
    process.process.send_signal(signal.SIGINT)
    go.touch()
    assert process.process.wait(PATIENCE) == 130, "though its standard input is open"
    process.kill()
    workspace = discover(str(repository))
    assert workspace.journal.head("gate:it") is not None
    workspace.close()


# Starting


def test_without_the_sdk_it_says_what_to_install(repository: Path) -> None:
    script = """
import sys
sys.modules["mcp"] = sys.modules["mcp_types"] = None
from holdfast.cli.frame import run
sys.exit(run(["mcp"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert install_command("mcp") in done.stderr


def test_with_its_standard_input_closed_it_ends_with_an_envelope(repository: Path) -> None:
    command = f"{' '.join(COMMAND)} --json <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["ok"] is True


OTHERS = (
    "status",
    "note x",
    "checkpoint --skip-git",
    "resume",
    "gate list",
    "guard check",
    "agent list",
    "loop show",
    "rfc list",
    "doctor",
    "init --help",
    "mcp --help",
    "--help",
)


def test_no_other_command_loads_the_sdk(repository: Path) -> None:
    script = f"""
import sys
from holdfast.cli.frame import run
for words in {OTHERS}:
    run(words.split())
    loaded = {{name.partition(".")[0] for name in sys.modules}}
    heavy = loaded & {{"mcp", "mcp_types", "pydantic", "anyio", "starlette", "asyncio"}}
    assert not heavy and "holdfast.mcp" not in sys.modules, (words, heavy)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_hook_loads_the_sdk(repository: Path) -> None:
    script = (
        "import sys, holdfast.hooks.run, holdfast.api;"
        "assert not {'mcp', 'pydantic', 'anyio'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_in_a_folder_that_was_removed(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2" -m holdfast mcp'
    words = ["sh", "-c", script, "sh", str(folder), sys.executable]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 3
    assert "The current folder was removed." in done.stderr
