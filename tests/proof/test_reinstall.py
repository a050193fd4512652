"""Holdfast is installed, reinstalled under another Python in the same place, and uninstalled: the client's
hooks go on, and `doctor` names what could not be started meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.version import __version__

TOP = Path(__file__).parents[2]
OLD, NEW = "3.11", "3.13"
pytestmark = pytest.mark.proof


def interpreter(version: str) -> str:
    """A Python of this machine, also one that pyenv keeps."""
    pyenv = Path(sys.base_prefix).parent
    for found in (
        shutil.which(f"python{version}"),
        *map(str, pyenv.glob(f"{version}.*/bin/python")),
    ):
        asked = [found, "-c", "import sys; print(*sys.version_info[:2], sep='.')"] if found else []
        if (
            asked
            and subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version
        ):
            return str(found)
    pytest.skip(f"there is no Python {version} on this machine")


def run(*words: str | Path, may_skip: bool = False) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode and may_skip:
        pytest.skip(f"pip cannot install here: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def install(version: str, environment: Path, wheel: Path) -> None:
    python = interpreter(version)
    shutil.rmtree(environment, ignore_errors=True)
    run(python, "-m", "venv", environment)
    pip = environment / "bin" / "pip"
    run(pip, "install", "--quiet", "--disable-pip-version-check", wheel, may_skip=True)


def start_session(folder: Path, name: str) -> str:
    """What the client reads from its hook; it works whatever happens, so the hook ends with 0."""
    settings = json.loads((folder / ".claude" / "settings.local.json").read_text())
    line = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    told = {"session_id": name, "cwd": str(folder), "source": "startup"}
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        input=json.dumps(told),
        cwd=folder,
        env={**os.environ, "CLAUDE_CODE_SESSION_ID": name},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_another_python_in_the_same_environment_and_then_none(
    repository: Path, tmp_path: Path
) -> None:
    for version in (OLD, NEW):
        interpreter(version)
    Path(os.environ["HOME"], ".claude").mkdir(parents=True)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*build, "--wheel-dir", tmp_path, TOP)
    wheel = tmp_path / f"holdfast_agents-{__version__}-py3-none-any.whl"
    environment = tmp_path / "environment"
    holdfast = environment / "bin" / "holdfast"
    install(OLD, environment, wheel)
    run(holdfast, "init", "--client", "claude")
    assert "Holdfast records this session's work" in start_session(repository, "one")

    shutil.rmtree(environment)
    assert start_session(repository, "two") == ""

    install(NEW, environment, wheel)
    assert "Holdfast records this session's work" in start_session(repository, "three")
    seen = run(holdfast, "doctor")
    assert "could not be started; last claude SessionStart" in seen
    assert "is not there any more" in seen
    assert "claude: SessionStart less than a minute ago" in seen

    run(environment / "bin" / "pip", "uninstall", "--quiet", "--yes", "holdfast-agents")
    assert start_session(repository, "four") == ""
    install(NEW, environment, wheel)
    assert "holdfast is not installed for" in run(holdfast, "doctor")
