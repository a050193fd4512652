"""The systemd unit, the launchd file and the container recipe of the how-to: checked by systemd, and run as written."""

from __future__ import annotations

import configparser
import json
import plistlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from holdfast.web import service
from tests.gates.person import Terminal
from tests.test_docs import blocks
from tests.web.test_service import PATIENCE, asked, running
from tests.web.world import World

HOW_TO = "docs/reference/server.md"
TOKEN = re.compile(rb"https://board\.example\.org/sign-in\?token=([\w-]+)")


def unit() -> str:
    (found,) = blocks(HOW_TO, "ini")
    return found


def command_of_unit() -> list[str]:
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(unit())
    return shlex.split(parsed["Service"]["ExecStart"])


def command_of_launchd() -> list[str]:
    (found,) = blocks(HOW_TO, "xml")
    about = plistlib.loads(found.encode())
    # As Restart=on-failure of the unit.
    assert (about["RunAtLoad"], about["KeepAlive"]) == (True, {"SuccessfulExit": False})
    return list(about["ProgramArguments"])


def free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def test_systemd_accepts_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemd = shutil.which("systemd-analyze")
    if systemd is None:
        pytest.skip("There is no systemd-analyze: the unit was NOT checked by systemd.")
    program = tmp_path / ".local" / "bin" / "holdfast"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    def verified(text: str) -> tuple[int, str]:
        path = tmp_path / "holdfast.service"
        path.write_text(text)
        words = [systemd, "verify", "--user", "--man=no", str(path)]
        done = subprocess.run(words, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    assert verified(unit()) == (0, "")
    assert "on-failur" in verified(unit().replace("on-failure", "on-failur"))[1]


def test_the_command_of_the_unit_serves_until_it_is_ended(world: World) -> None:
    program, *words = command_of_unit()
    assert program == "%h/.local/bin/holdfast"
    assert command_of_launchd() == ["/Users/ada/.local/bin/holdfast", *words]
    assert words[-2:] == ["--port", "4653"]
    with running([*words[:-1], "0"]) as (process, found):
        seen = Terminal("serve", "--link").leave()
        assert seen.code == 0
        assert f":{found.port}/sign-in?token=" in seen.screen
        process.send_signal(signal.SIGTERM)
        # Restart=on-failure: an end that was asked for must not look like a failure.
        assert process.wait(PATIENCE) == 0
    assert service.find_service() is None


def test_the_container_serves_behind_its_proxy(world: World) -> None:
    """Its entrypoint with the words of `podman run`; no image is built, no container is started."""
    (recipe,) = blocks(HOW_TO, "dockerfile")
    entrypoint = json.loads(recipe.partition("ENTRYPOINT ")[2])
    assert entrypoint[0] == "holdfast"
    shown = next(one for one in blocks(HOW_TO, "console") if "podman run" in one)
    arguments = shown.partition("holdfast-page --behind")[2].splitlines()[0]
    words = shlex.split(f"--behind{arguments}")
    assert words[2:] == ["--workspace", "/srv/shop"]
    words[-1] = str(world.root)
    port = free_port()
    served = [*entrypoint[1:-1], port, *words]
    world.verify()
    with running(served) as (_, found):
        assert str(found.port) == port
        terminal = Terminal("serve", "--link")
        token = terminal.read_until(TOKEN).group(1).decode()
        assert terminal.leave().code == 0
        status, text = asked(found, f"/sign-in?token={token}", "board.example.org")
        assert status == 200, text
        assert asked(found, "/board", f"127.0.0.1:{port}")[0] == 421, "only the proxy's name"
