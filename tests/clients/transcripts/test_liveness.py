"""Whether a session's client runs: told by real processes, and unknown where nothing tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.liveness import client_of, liveness, running_clients
from holdfast.processes import identity as processes

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.table import ClientName

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"),
    reason="There is no /proc: running clients were NOT searched for.",
)

# Opens the files it is given, says so, and waits for its input to end.
WAITS = (
    "import sys; kept = [open(name) for name in sys.argv[2:]]; print(flush=True); sys.stdin.read()"
)
HOUR = 3_600_000


@pytest.fixture(params=["proc", "psutil"])
def seen(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no `/proc`, as on macOS, psutil tells the same."""
    if request.param == "psutil":
        monkeypatch.setattr(processes, "PROC", str(tmp_path / "no-proc"))
        assert not processes.has_proc()


@contextmanager
def running(client: str, cwd: Path, *files: Path, name: str = "-") -> Iterator[int]:
    """A real process that looks like a client's."""
    script = cwd / "waits.py"
    script.write_text(WAITS)
    process = subprocess.Popen(
        [client, str(script), name, *map(str, files)],
        executable=sys.executable,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()


def session(client: ClientName, folder: Path, **more: Any) -> FoundSession:
    path = folder / "transcript.jsonl"
    path.touch()
    modified = path.stat().st_mtime_ns // 1_000_000
    found: FoundSession = {
        "client": client,
        "session": "0b5a7c1e-session",
        "path": str(path),
        "modified": modified,
        "cwd": str(folder),
    }
    return {**found, **more}  # type: ignore[typeddict-item]


def state(found: FoundSession, later: int = HOUR) -> str:
    return liveness(found, running_clients(), now=found["modified"] + later)


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "opencode"])
@pytest.mark.usefixtures("seen")
def test_without_a_process_it_has_ended(client: ClientName, home: Path, tmp_path: Path) -> None:
    found = session(client, tmp_path)
    assert state(found) == "ended"
    assert state(found, later=1000) == "unknown", "it may be at work in a container"
    assert liveness(found, None, now=found["modified"] + HOUR) == "unknown"


@pytest.mark.usefixtures("seen")
def test_a_transcript_that_is_held_open_is_at_work(home: Path, tmp_path: Path) -> None:
    found = session("codex", tmp_path)
    with running("codex", tmp_path, Path(found["path"])):
        assert state(found) == "alive"
    assert state(found) == "ended"


@pytest.mark.usefixtures("seen")
def test_a_codex_with_another_transcript_says_nothing_of_ours(home: Path, tmp_path: Path) -> None:
    found = session("codex", tmp_path)
    other = tmp_path / "other.jsonl"
    other.touch()
    with running("codex", tmp_path, other):
        assert state(found) == "ended"


@pytest.mark.usefixtures("seen")
def test_a_session_that_is_named_on_the_command_line_is_at_work(home: Path, tmp_path: Path) -> None:
    found = session("opencode", tmp_path)
    with running("opencode", tmp_path, name=found["session"]):
        assert state(found) == "alive"


@pytest.mark.usefixtures("seen")
def test_a_client_in_the_same_folder_may_run_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with running("gemini", tmp_path):
        found = session("gemini", tmp_path)
        os.utime(found["path"])
        found = session("gemini", tmp_path)
        assert state(found) == "unknown"
        assert state({**found, "cwd": str(tmp_path / "elsewhere")}) == "ended"
        # A session from before it began, unless it was told to take one up.
        before_it_began = {**found, "modified": found["modified"] - HOUR}
        assert state(before_it_began) == "ended"  # type: ignore[arg-type]
    with running("gemini", tmp_path, name="--resume"):
        assert state(before_it_began) == "unknown"  # type: ignore[arg-type]


@pytest.mark.usefixtures("seen")
def test_an_opencode_with_the_database_open_may_run_it(home: Path, tmp_path: Path) -> None:
    database = tmp_path / "opencode.db"
    database.touch()
    (tmp_path / "server").mkdir()
    with running("opencode", tmp_path / "server", database):
        found = session("opencode", tmp_path, path=str(database))
        assert state({**found, "modified": found["modified"] + HOUR}) == "unknown"


def test_the_record_of_claude_code_decides(home: Path, tmp_path: Path) -> None:
    found = session("claude", tmp_path)
    folder = home / ".claude" / "sessions"
    folder.mkdir(parents=True)
    machine = (
        Path("/etc/machine-id").read_text().strip() if Path("/etc/machine-id").exists() else ""
    )
    with running("claude", tmp_path) as pid:
        record = {
            "pid": pid,
            "sessionId": found["session"],
            "procStart": processes.started(pid),
            "pidDomain": f"linux:{machine}:{os.readlink('/proc/self/ns/pid')}",
        }
        kept = folder / f"{pid}.json"
        kept.write_text(json.dumps(record))
        assert state(found) == "alive"
        other = {**found, "session": "another-session"}
        assert state(other) == "ended"  # type: ignore[arg-type]
        kept.write_text(json.dumps({**record, "procStart": "1"}))
        assert state(found) == "ended", "the number was given to another process"
        kept.write_text(json.dumps({**record, "pidDomain": "linux:another:pid:[1]"}))
        assert state(found) == "unknown"
        kept.write_text("{")
        assert state({**found, "modified": found["modified"] + HOUR}) == "unknown"
    kept.write_text(json.dumps(record))
    assert state(found) == "ended", "it was killed"


@pytest.mark.parametrize(
    ("argv", "client"),
    [
        (["/usr/bin/claude", "-p", "x"], "claude"),
        (["claude"], "claude"),
        (["node", "--no-warnings", "/x/.bin/gemini", "-i", "x"], "gemini"),
        (["/usr/bin/node", "/x/@google/gemini-cli/bundle/gemini.js"], "gemini"),
        (["node", "/x/node_modules/@anthropic-ai/claude-code/cli.js"], "claude"),
        (["/x/opencode-ai/bin/opencode.exe", "run"], "opencode"),
        (["/x/vendor/bin/codex", "exec"], "codex"),
        (["vim", "claude"], None),
        (["node", "server.js", "gemini"], None),
        (["bash", "-c", "codex"], None),
        ([], None),
    ],
)
def test_command_lines_of_clients(argv: list[str], client: str | None) -> None:
    assert client_of(argv) == client
