"""A disk that became read-only: every face says so at once, readers read, and hooks let the client go on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Holdfast

# The commands, events and calls run in one process, which sees the disk read-only.
PROGRAM = """
import contextlib, io, json, subprocess, sys, time

folder, words, events, messages = sys.argv[1], *map(json.loads, sys.argv[2:])
for mount in (["--bind", folder, folder], ["-o", "remount,ro,bind", folder]):
    subprocess.run(["mount", *mount], check=True)
import os
os.chdir(os.getcwd())  # on the new mount
import holdfast
from holdfast.cli.frame import run
from holdfast.hooks.run import respond_to

def tried(name, call):
    out, err, began = io.StringIO(), io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = call()
        except holdfast.HoldfastError as error:
            code, said = error.exit_code, err.write(error.message)
        except SystemExit as ended:
            code = ended.code
    seconds = time.process_time() - began
    return {"name": name, "code": code, "said": out.getvalue() + err.getvalue(), "seconds": seconds}

def hook(event):
    payload = {"session_id": "s1", "cwd": os.getcwd(), "hook_event_name": event, "tool_name": "Bash"}
    return str(respond_to("claude", event, {**payload, "tool_input": {}}, may_leave=False))

found = [tried(" ".join(one), lambda one=one: run(one)) for one in words]
found += [tried("hook " + one, lambda one=one: hook(one)) for one in events]
with holdfast.open() as workspace:
    found.append(tried("library note", lambda: workspace.note("x")))
    found.append(tried("library agent", lambda: workspace.agent("Secondary-B", feature="f").__enter__()))
words = [sys.executable, "-m", "holdfast", "mcp"]
with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    server.stdin.write("".join(json.dumps(one) + "\\n" for one in messages))
    server.stdin.flush()
    said = [server.stdout.readline() for one in messages if "id" in one][-1]
    server.stdin.close()
print(json.dumps({"found": found, "mcp": said}, default=str))
"""
READ: tuple[list[str], ...] = (
    ["note"],
    ["resume"],
    ["status"],
    ["doctor"],
    ["history"],
    ["verify"],
    ["export"],
    ["agent", "list"],
    ["gate", "list"],
    ["snapshot", "list"],
    ["conflicts"],
    [],
    ["trust", "--show"],
    ["statusline"],
    ["doctor", "--fix"],
)
WRITE: tuple[list[str], ...] = (
    ["note", "second"],
    ["gc"],
    ["snapshot", "create"],
    ["agent", "beat", "Secondary-A"],
    ["guard", "check"],
    ["estop", "--reason", "x"],
    ["rfc", "init", "r1"],
    ["init", "--client", "claude"],
    ["backup", "copy.db"],
    ["gate", "verify", "--built", "A page", "--how", "Look"],
    ["agent", "start", "Secondary-B", "--feature", "f2"],
)
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
MESSAGES = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "beat", "arguments": {"agent": "Secondary-A"}},
    },
)
SAYS_WHY = ("Read-only file system", "read-only", "cannot be written")


@pytest.fixture
def found(repository: Path, holdfast: Holdfast) -> dict[str, Any]:
    """What each of them did."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("No right to make a mount namespace: a read-only disk was NOT tried.")
    assert holdfast("note", "first").code == 0
    assert holdfast("checkpoint", "--task", "t", "--skip-git").code == 0
    assert holdfast("agent", "start", "Secondary-A", "--feature", "f1").code == 0
    given = [json.dumps(one) for one in ([*READ, *WRITE], EVENTS, MESSAGES)]
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", PROGRAM, str(repository.parent), *given],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_every_face_says_at_once_that_the_disk_is_read_only(found: dict[str, Any]) -> None:
    by_name = {one["name"]: one for one in found["found"]}
    for words in READ:
        one = by_name[" ".join(words)]
        # `doctor` reads as well, and says that nothing can be written.
        assert one["code"] == (1 if words[:1] == ["doctor"] else 0), one
    for words in WRITE:
        one = by_name[" ".join(words)]
        assert one["code"] == 75, one
        assert any(why in one["said"] for why in SAYS_WHY), one
    for name in ("library note", "library agent"):
        assert by_name[name]["code"] == 75, by_name[name]
    for event in EVENTS:
        assert "Traceback" not in by_name[f"hook {event}"]["said"]
    assert "deny" not in str(by_name["hook PreToolUse"]["code"])
    assert '"isError":true' in found["mcp"].replace(" ", ""), found["mcp"]
    assert "Read-only file system" in found["mcp"]
    slow = {one["name"]: one["seconds"] for one in found["found"] if one["seconds"] > 1}
    assert slow == {}, "in seconds of work, which a loaded machine does not change"
