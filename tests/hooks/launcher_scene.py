"""The hooks of a client as its settings start them, with each start of Python counted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients import launcher
from holdfast.clients.table import CLIENTS as FACTS
from holdfast.hooks.run import command, respond_to
from tests.hooks.world import refuse_unreadable
from tests.session.world import Holdfast

SESSION_VARIABLES = {
    name: facts.session_variable for name, facts in FACTS.items() if not facts.has_nameless_hooks
}
PROOF = [pytest.mark.proof]
MAKE: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make"}}
# Notes each start of Python, and goes on as the interpreter that the tests run in.
COUNTING = """#!/bin/sh
echo "$*" >>{log}
exec {python} "$@"
"""


class Hooks:
    """The hooks of a client as its settings start them."""

    def __init__(self, root: Path, log: Path) -> None:
        self.root = root
        self.log = log
        self.folder = Path(launcher.folder_of_user())
        self.environment: dict[str, str] = {}

    def line(self, client: str, event: str, *words: str) -> str:
        made = launcher.line if client == "codex" else launcher.sourced_line
        return made(client, event, *words)

    def __call__(
        self, client: str, event: str, *words: str, shell: str = "/bin/sh", **facts: object
    ) -> dict[str, Any]:
        """What the client reads."""
        session = str(facts.get("session_id", "s1"))
        payload = {"session_id": session, "cwd": str(self.root), **facts}
        environment = {**os.environ, **self.environment}
        if client in SESSION_VARIABLES:
            environment[SESSION_VARIABLES[client]] = session
        line = self.line(client, event, *words)
        started = [shell, "-c", line]
        if client == "opencode":
            started = launcher.command(client, event)
        done = subprocess.run(
            started,
            input=json.dumps(payload).encode(),
            capture_output=True,
            cwd=self.root,
            env=environment,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b""), done
        answer = dict(json.loads(done.stdout or b"{}"))
        refuse_unreadable(client, event, answer)
        return answer

    def starts(self) -> list[str]:
        """Each start of Python so far, in the words that it was given."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [" ".join(line.split()[4:]) for line in lines]

    def name(self, **values: str) -> None:
        """Let the launcher start something else."""
        known = launcher.installation()
        for name, value in values.items():
            (old,) = [line for line in known.splitlines() if line.startswith(f"{name}=")]
            known = known.replace(old, f"{name}={launcher.quote(value)}")
        (self.folder / launcher.PYTHON).write_text(known)

    def reasons(self) -> list[str]:
        return [one["reason"] for one in launcher.failures()]


@pytest.fixture
def hooks(
    repository: Path, holdfast: Holdfast, tmp_path: Path, request: pytest.FixtureRequest
) -> Hooks:
    """The client that a case is about is installed; each start of Python is counted."""
    case = getattr(request.node, "callspec", None)
    client = case.params.get("client", "claude") if case else "claude"
    assert holdfast("init", "--client", client).code == 0
    found = Hooks(repository, tmp_path / "starts")
    python = tmp_path / "counting" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(COUNTING.format(log=found.log, python=command()[0]))
    python.chmod(0o755)
    found.name(python=str(python))
    return found


def begin(hooks: Hooks, client: str, session: str = "s1") -> None:
    """A session with its marks, and a journal. The Python that the launcher would start is this one."""
    told = {
        launcher.FOLDER_VARIABLE: str(hooks.folder),
        launcher.VERSION_VARIABLE: launcher.VERSION,
        launcher.CLIENT_VARIABLE: str(os.getpid()),
    }
    if client in SESSION_VARIABLES:
        told[SESSION_VARIABLES[client]] = session
    payload = {"session_id": session, "cwd": str(hooks.root), "source": "startup"}
    with pytest.MonkeyPatch.context() as environment:
        for name, value in told.items():
            environment.setenv(name, value)
        respond_to(client, "SessionStart", payload)


def captured(holdfast: Holdfast, session: str = "s1") -> bool:
    found = holdfast("history", f"session:{session}", "--json").data["records"]
    return any(record["kind"] == "captured" for record in found)


def other_shells() -> list[Any]:
    """What /bin/sh is elsewhere: busybox on Alpine, mksh on Android; for a test's `shell`."""
    found = []
    for name in ("busybox", "mksh"):
        lacks = pytest.mark.skipif(shutil.which(name) is None, reason=f"NOT tried: no {name} here")
        found.append(pytest.param(name, marks=lacks))
    return found


def shell_called(name: str, folder: Path) -> str:
    """The path of a shell. busybox is one under the name `sh`."""
    path = str(shutil.which(name))
    if name != "busybox":
        return path
    link = folder / "busybox" / "sh"
    link.parent.mkdir()
    link.symlink_to(path)
    return str(link)
