"""Signs of life where there is no `/proc`, as on macOS: `ps` tells the same.

Only what holdfast itself reads is hidden. `ps` is this machine's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.processes import identity
from holdfast.processes.agent_process import VARIABLE, own_process, process_state
from holdfast.session import client_process, session_files

if TYPE_CHECKING:
    from holdfast.processes.agent_process import AgentProcess

pytestmark = pytest.mark.skipif(
    not os.path.exists(identity.PS), reason="There is no ps: a system without /proc was NOT tried."
)

# The command line of holdfast as far as the system sees it, saying which process it takes for its own.
HOLDFAST = """#!{python}
import json
from holdfast.processes import identity
from holdfast.processes.agent_process import own_process
identity.PROC = "/nowhere"
print(json.dumps(own_process()), flush=True)
"""


@pytest.fixture(autouse=True)
def no_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "PROC", str(tmp_path / "no-proc"))
    assert not identity.has_proc()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def process_of(process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> AgentProcess:
    monkeypatch.setenv(VARIABLE, str(process.pid))
    found = own_process()
    monkeypatch.delenv(VARIABLE)
    assert found is not None
    return found


def test_a_process_lives_until_it_ends(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = process_of(child, monkeypatch)
    assert process_state(seen) == "alive"
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_state(seen) == "gone", "a zombie"
    child.wait()
    assert process_state(seen) == "gone"


def test_a_reused_pid_and_another_boot_are_other_processes(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = process_of(child, monkeypatch)
    assert process_state({**seen, "started": "Thu Jan 1 00:00:00 1970"}) == "gone"
    machine, _, table = seen["host"].split("/")
    assert process_state({**seen, "host": f"{machine}/Thu Jan 1 00:00:00 1970/{table}"}) == "gone"
    assert process_state({**seen, "host": f"another/boot/{table}"}) == "unknown"


def test_shells_and_launchers_are_passed_over(tmp_path: Path) -> None:
    command = tmp_path / "holdfast"
    command.write_text(HOLDFAST.format(python=sys.executable))
    command.chmod(0o755)
    agent = (
        "import os, subprocess, sys; print(os.getpid(), flush=True); subprocess.run(sys.argv[1:])"
    )
    way = f"env A=1 timeout 60 {command}; true"
    done = subprocess.run(
        [sys.executable, "-c", agent, "bash", "-c", way], capture_output=True, text=True, check=True
    )
    number, found = done.stdout.splitlines()
    assert json.loads(found)["pid"] == int(number)


def test_a_lock_knows_whether_its_holder_lives(child: subprocess.Popen[bytes]) -> None:
    began = identity.started(child.pid)
    assert identity.lives(child.pid, began)
    child.kill()
    child.wait()
    assert not identity.lives(child.pid, began)


def test_a_session_is_at_work_until_its_client_ends(
    repository: Path, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not fifteen minutes later, as where no process tells."""
    workspace = discover()
    monkeypatch.setenv(VARIABLE, str(child.pid))
    client_process.began(workspace, "s1", "claude", alone=True)
    monkeypatch.delenv(VARIABLE)
    assert session_files.read(workspace, "s1", client_process.NAME)["process"] is not None
    assert client_process.lives(workspace, "s1", clock.now())
    child.kill()
    child.wait()
    assert not client_process.lives(workspace, "s1", clock.now())


def test_without_ps_either_nothing_is_known(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = process_of(child, monkeypatch)
    monkeypatch.setattr(identity, "PS", "/nowhere/ps")
    assert own_process() is None
    assert process_state(seen) == "unknown"
