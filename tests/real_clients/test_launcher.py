"""Hooks that cannot hurt: whatever happens to holdfast under a real client's feet, the client works, says
nothing odd, and `doctor` names it afterwards."""

from __future__ import annotations

import json
import shutil
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from scripts.clients import FOLDER

import holdfast
from tests.real_clients.world import Claude, Client, Codex, Run, eventually, wait_for_a_capture

pytestmark = pytest.mark.clients

MARK = Path("the-tool-ran")
# What a client says of a hook that failed, in its output or to its model.
ODD = ("Traceback", "cannot open", "hook error", "hook failed", "hook.sh")
# What it says of a hook that blocked, in its output. Codex tells its model about permissions with the
# same words, in each request but the first.
BLOCKED = "blocked by"


class Installation:
    """Holdfast in an environment of its own, as pip or pipx put it there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, symlinks=True, with_pip=False)
        self.packages = next(folder.glob("lib/python3*/site-packages"))
        self.package = self.packages / "holdfast"
        shutil.copytree(Path(holdfast.__file__).parent, self.package)
        libraries = Path(apsw.__file__).parent.parent
        (self.packages / "apsw").symlink_to(libraries / "apsw")
        # What the command line needs besides, as it is installed for these tests.
        (self.packages / "others.pth").write_text(f"{libraries}\n")
        self.python = folder / "bin" / "python"

    def __call__(self, client: Client, *words: str) -> str:
        done = subprocess.run(
            [self.python, "-P", "-m", "holdfast", *words],
            cwd=client.project,
            env=client.environment(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "environment")


def use_a_tool(client: Client, *, may_fail: bool = False, **job: Any) -> Run:
    """A session that runs a command. Nothing odd is said to its person, nor to its model."""
    MARK.unlink(missing_ok=True)
    run = client.run("do it", [client.shell(f": > {MARK}"), {"text": "I did."}], **job)
    assert run.code == 0 or may_fail, run.told
    assert len(run.asked) == 2, run.told
    assert MARK.exists(), run.told
    refuse_odd(run)
    return run


def refuse_odd(run: Run) -> None:
    """Of what is odd, the first request has what the client itself tells its model of tools."""
    first, last = run.asked[0], run.asked[-1]
    said = [odd for odd in (*ODD, BLOCKED) if odd in f"{run.out}{run.err}"]
    passed_on = [odd for odd in ODD if last.count(odd) > first.count(odd)]
    assert not said, run.told
    assert not passed_on, run.told


def without_holdfast(client: Client) -> dict[str, str]:
    """The client's environment, where no other holdfast is on the path."""
    environment = {**client.environment(), "PATH": "/usr/bin:/bin"}
    (client.home / ".profile").unlink(missing_ok=True)
    return environment


def lose_the_package(installation: Installation) -> str:
    shutil.rmtree(installation.package)
    return "holdfast is not installed for"


def lose_the_environment(installation: Installation) -> str:
    shutil.rmtree(installation.folder)
    return "is not there any more"


def break_the_package(installation: Installation) -> str:
    (installation.package / "hooks" / "run.py").write_text("def run(:\n")
    shutil.rmtree(installation.package / "hooks" / "__pycache__", ignore_errors=True)
    return "SyntaxError: invalid syntax"


def test_a_payload_that_no_hook_reads_disturbs_no_client(
    client: Client, installation: Installation
) -> None:
    """A pipe holds 64 KB: a client that writes more to a hook which has ended is told that it broke."""
    installation(client, "init", "--client", client.name)
    client.furnish()
    Path("large.txt").write_text("word " * 60_000)
    answers = [
        client.shell(f"cat large.txt; : > {MARK}"),
        client.shell("echo two"),
        {"text": "I did."},
    ]
    run = client.run("do it", answers)
    assert run.code == 0, run.told
    assert MARK.exists(), run.told
    assert len(run.asked) == 3, run.told
    refuse_odd(run)
    assert "hook stdin" not in f"{run.out}{run.err}", run.told


STORIES = [lose_the_package, lose_the_environment, break_the_package]


@pytest.mark.parametrize("story", STORIES)
def test_without_holdfast_the_client_works_and_doctor_names_it(
    client: Client, installation: Installation, story: Callable[[Installation], str]
) -> None:
    installation(client, "init", "--client", client.name)
    client.furnish()
    reason = story(installation)
    use_a_tool(client, environment=without_holdfast(client))
    told = client.holdfast("doctor", ends_with=1 if story is not break_the_package else 0)
    assert "could not be started" in told
    assert reason in told
    client.holdfast("estop", "--reason", "the disk is on fire")
    MARK.unlink()
    denied = client.run(
        "do it",
        [client.shell(f": > {MARK}"), {"text": "I tried."}],
        environment=without_holdfast(client),
    )
    assert not MARK.exists(), denied.told
    assert "the disk is on fire" in denied.asked[1]


@pytest.mark.parametrize("client", [Claude, Codex], indirect=True)
def test_after_a_reinstall_under_another_python_hooks_go_on(
    client: Client, installation: Installation
) -> None:
    """As `pipx reinstall --python` does: the environment keeps its place, the packages get another."""
    installation(client, "init", "--client", client.name)
    packages = installation.folder / "lib" / "python3.99" / "site-packages"
    shutil.copytree(installation.packages, packages, symlinks=True)
    shutil.rmtree(installation.package)
    client.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    run = use_a_tool(client, environment=without_holdfast(client))
    assert "keep the quotes" in run.asked[0]
    assert "could not be started" not in client.holdfast("doctor")


@pytest.mark.parametrize("client", [Claude, Codex], indirect=True)
def test_with_an_empty_path_hooks_go_on(client: Client) -> None:
    client.install()
    client.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    job: dict[str, Any] = {"environment": {**client.environment(), "PATH": ""}}
    if isinstance(client, Codex):  # its starter is a script of Node's, which needs the path
        (binary,) = (FOLDER / "codex").glob("node_modules/@openai/codex-*/vendor/*/bin/codex")
        job["command"] = [str(binary), *client.words("do it")]
    run = use_a_tool(client, **job)
    assert "keep the quotes" in run.asked[0]
    wait_for_a_capture(client)
    assert "No hook failed" in client.holdfast("doctor")


@pytest.mark.parametrize("how", ["full", "read-only"])
@pytest.mark.parametrize("client", [Claude, Codex], indirect=True)
def test_with_a_full_or_read_only_data_folder_hooks_go_on(client: Client, how: str) -> None:
    """The client itself still writes elsewhere in its home."""
    client.install()
    client.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    data = client.home / ".local" / "share" / "holdfast"
    run = use_a_tool(client, spoiled={"folder": str(data), "how": how})
    assert "keep the quotes" in run.asked[0]
    wait_for_a_capture(client)
    assert "No hook failed" in client.holdfast("doctor")


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_with_a_full_or_read_only_home_the_client_works(claude: Client, how: str) -> None:
    """Claude Code works to its end and then says that it could not keep its own transcript, with 1. Its hooks
    write elsewhere: the journal is the project's."""
    claude.install()
    claude.holdfast("checkpoint", "--session", "before", "--next", "keep the quotes")
    spoiled = {"folder": str(claude.home), "how": how}
    run = use_a_tool(claude, may_fail=True, spoiled=spoiled)
    assert '"result":"I did."' in run.out
    # With a read-only home, Claude Code 2.1.325 runs no hook at a session's start, of no program: the
    # pack comes with the first prompt.
    assert run.asked[0].count("keep the quotes") == 1
    wait_for_a_capture(claude)
    assert "No hook failed" in claude.holdfast("doctor")


def test_a_large_payload_that_is_not_read_disturbs_nobody(claude: Client) -> None:
    claude.install()
    content = "all work and no play\n" * 15_000
    path = claude.project / "large.txt"
    wrote = {"tool": "Write", "input": {"file_path": str(path), "content": content}}
    run = claude.run("write it", [wrote, claude.read("large.txt"), {"text": "I did."}])
    assert run.code == 0, run.told
    assert path.read_text() == content
    assert len(run.asked) == 3, run.told
    refuse_odd(run)


def test_doctor_knows_which_events_came_in(client: Client) -> None:
    client.install()
    told = client.holdfast("doctor")
    if client.name == "codex":
        assert "codex runs no hook of this project before you have reviewed it" in told
    else:
        assert "no session since `init`" in told
    use_a_tool(client)
    # `qwen -p` runs no hook at its end.
    expected = {"SessionStart", "Stop" if client.name == "qwen" else "SessionEnd"}
    eventually(lambda: expected <= {event for event, at in hooks(client)["events"].items() if at})
    assert hooks(client)["problem"] == ""


def hooks(client: Client) -> dict[str, Any]:
    (found,) = json.loads(client.holdfast("doctor", "--json"))["data"]["hooks"]
    return dict(found)


def test_doctor_knows_that_codex_ran_no_hook(codex: Client) -> None:
    """Nobody reviewed them: Codex leaves them out without a word."""
    codex.install()
    words = [word for word in codex.words("do it") if word != "--dangerously-bypass-hook-trust"]
    run = codex.start(words, [{"text": "I did."}])
    assert run.code == 0, run.told
    told = codex.holdfast("doctor")
    assert "codex had 1 session here since `init`, and none of its hooks ran." in told
    assert "type /hooks" in told
    assert "none of its hooks ran" in codex.holdfast("init")
