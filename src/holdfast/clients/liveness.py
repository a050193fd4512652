"""Whether a session's client still runs, as far as this machine shows it.

Some clients say which session a process runs: Claude Code keeps a file per process, Codex holds its
transcript open. Of the others it is only known that no process can be it. What is not known is
called unknown: a client in a container, on another machine or of another user is not seen.
"""

from __future__ import annotations

import os

from holdfast.clients.lines import FIRST_BYTES, MOST_BYTES, first_line, read_piece
from holdfast.clients.table import CLIENTS, home_of
from holdfast.kernel.canonical_json import read_table, text_of
from holdfast.kernel.plain_file import list_names
from holdfast.processes import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.table import ClientName

    Liveness = Literal["alive", "ended", "unknown"]

_INTERPRETERS = frozenset(("node", "nodejs", "bun", "deno"))
# A session that was written to just now may be at work where its process is not seen.
JUST_NOW = 2 * 60 * 1000
# A file's time and a process's start come from different clocks.
CLOCKS_DIFFER = 2000
_TAKES_UP = frozenset(("-c", "--continue", "-r", "--resume", "resume", "-s", "--session", "fork"))


class ClientProcess:
    """A running client. What cannot be read is None."""

    def __init__(
        self,
        pid: int,
        client: ClientName,
        argv: list[str],
        cwd: str | None,
        started: int | None,
        files: set[str] | None,
    ) -> None:
        self.pid = pid
        self.client = client
        self.argv = argv
        self.cwd = cwd
        # In milliseconds since the epoch.
        self.started = started
        self.files = files


def liveness(found: FoundSession, running: Sequence[ClientProcess] | None, *, now: int) -> Liveness:
    """Whether a session runs. `running` is what `running_clients` gave; None: nothing is seen."""
    if found["client"] == "claude":
        told = _registered(found["session"])
        if told:
            return told
    if running is None:
        return "unknown"
    own = [process for process in running if process.client == found["client"]]
    if any(_names(process, found) for process in own):
        return "alive"
    if any(_may_run(process, found) for process in own):
        return "unknown"
    return "unknown" if now - found["modified"] < JUST_NOW else "ended"


def _names(process: ClientProcess, found: FoundSession) -> bool:
    """Whether the process says that it runs this session."""
    if "--fork-session" in process.argv or "fork" in process.argv:
        return False
    if found["client"] != "opencode" and found["path"] in (process.files or ()):
        return True
    return len(found["session"]) >= 8 and found["session"] in process.argv


def _may_run(process: ClientProcess, found: FoundSession) -> bool:
    client = found["client"]
    if client == "codex" and process.files is not None:
        return False
    if client == "claude" and _record_of(process.pid):
        return False  # it says that it runs another one
    if client == "opencode" and process.files is not None and found["path"].endswith(".db"):
        # One server works in many folders.
        if found["path"] not in process.files:
            return False
    elif process.cwd is not None and not _is_same(process.cwd, found["cwd"]):
        return False
    if process.started is None or not _TAKES_UP.isdisjoint(process.argv):
        return True
    return found["modified"] >= process.started - CLOCKS_DIFFER


def _is_same(path: str, other: str) -> bool:
    return path == other or os.path.realpath(path) == os.path.realpath(other)


# Claude Code's own record: `sessions/<pid>.json`, which goes when the process ends in order


def _registered(session: str) -> Liveness | None:
    folder = os.path.join(home_of("claude"), "sessions")
    for name in list_names(folder):
        record = read_table(os.path.join(folder, name)) if name.endswith(".json") else {}
        if record.get("sessionId") == session:
            return _state_of(record)
    return None


def _record_of(pid: int) -> dict[str, Any]:
    return read_table(os.path.join(home_of("claude"), "sessions", f"{pid}.json"))


def _state_of(record: dict[str, Any]) -> Liveness | None:
    pid, started = record.get("pid"), text_of(record.get("procStart"))
    domain = text_of(record.get("pidDomain"))
    if not isinstance(pid, int) or not started or not domain.startswith("linux:"):
        return None
    try:
        here = os.readlink("/proc/self/ns/pid")
    except OSError:
        return "unknown"
    machine = first_line("/etc/machine-id")
    if domain != f"linux:{machine}:{here}":
        return "unknown"
    return "alive" if identity.started(pid) == started else "ended"


# Processes


def running_clients() -> list[ClientProcess]:
    """The clients that run on this machine."""
    return list(_from_proc() if identity.has_proc() else _from_psutil())


def client_of(argv: Sequence[str]) -> ClientName | None:
    """Which client a command line starts; None for any other program."""
    words = list(argv[:1])
    if words and _program(words[0]) in _INTERPRETERS:
        words = [word for word in argv[1:12] if not word.startswith("-")][:1]
    for word in words:
        for facts in CLIENTS.values():
            if _program(word) == facts.name or f"/{facts.package}/" in word:
                return facts.name
    return None


def _program(path: str) -> str:
    name = os.path.basename(path)
    for ending in (".exe", ".js", ".mjs", ".cjs"):
        name = name.removesuffix(ending)
    return name


def _from_proc() -> Iterator[ClientProcess]:
    booted = _boot_time()
    ticks = os.sysconf("SC_CLK_TCK")
    for name in os.listdir(identity.PROC):
        if not name.isdigit():
            continue
        argv = _words(read_piece(f"{identity.PROC}/{name}/cmdline", 16 * FIRST_BYTES))
        client = client_of(argv)
        entry = identity.entry(int(name)) if client else None
        if client is None or entry is None or entry.state in identity.ENDED:
            continue
        started = booted + int(entry.started) * 1000 // ticks if booted else None
        cwd = _link(f"{identity.PROC}/{name}/cwd")
        yield ClientProcess(int(name), client, argv, cwd, started, _open_files(name))


def _words(line: bytes) -> list[str]:
    return [os.fsdecode(word) for word in line.split(b"\0")] if line else []


def _boot_time() -> int:
    """In milliseconds since the epoch; 0 when it is not known."""
    for line in read_piece(f"{identity.PROC}/stat", MOST_BYTES).split(b"\n"):
        if line.startswith(b"btime "):
            return int(line[6:]) * 1000
    return 0


def _open_files(pid: str) -> set[str] | None:
    folder = f"{identity.PROC}/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    return {path for name in names if (path := _link(f"{folder}/{name}"))}


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _from_psutil() -> Iterator[ClientProcess]:
    import psutil  # a session's start has no time for it where there is /proc

    for process in psutil.process_iter(["pid", "cmdline", "create_time"]):
        argv = process.info["cmdline"] or []
        client = client_of(argv)
        if client is None:
            continue
        cwd, files = None, None
        try:
            cwd = process.cwd()
            files = {file.path for file in process.open_files()}
        except (psutil.Error, OSError):
            pass
        started = process.info["create_time"]
        yield ClientProcess(
            process.info["pid"], client, argv, cwd, int(started * 1000) if started else None, files
        )
