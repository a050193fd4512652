"""Which program an agent is, and whether that still runs.

A pid alone fools: it is given out again, and means another program on another machine, after a
reboot, or in another container.
"""

from __future__ import annotations

import os

from holdfast.kernel.digest import digest
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import split_words
from holdfast.processes import identity
from holdfast.processes.identity import ENDED, exists
from holdfast.processes.identity import entry as entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    ProcessState = Literal["alive", "gone", "unknown"]

    class AgentProcess(TypedDict):
        """The program that an agent runs in. Its start tells it from a later process of the same pid."""

        host: str
        pid: int
        started: str


VARIABLE = "HOLDFAST_AGENT_PID"
FIRST_PROCESS = 1
# What stands for the table of processes where the system has one for all.
NO_NAMESPACES = "pid"
SHELLS = frozenset(split_words("sh bash dash zsh fish ksh mksh ash"))
# The sh file that clients' settings start (`clients.launcher`).
HOOK_LAUNCHER = "/holdfast/hook.sh"
# They run one command for another program, and end with it.
LAUNCHERS = frozenset(
    split_words(
        "env timeout nohup nice ionice setsid stdbuf time xargs flock "
        "sudo doas su runuser setpriv make gmake just strace "
        "uv uvx pipx poetry hatch pdm rye bwrap firejail unshare codex-linux-sandbox"
    )
)
# They outlive every agent: to reach one means that the agent's own program is not there any more.
# As the kernel calls them, in 15 characters at most.
KEEPERS = frozenset(
    split_words(
        "init launchd systemd tini dumb-init docker-init catatonit s6-svscan "
        "conmon containerd-shim runc cron crond atd login sshd sshd-session tmux screen Relay"
    )
)


_hosts: dict[tuple[int, str], list[str]] = {}


def own_process() -> AgentProcess | None:
    """The program that has holdfast run: this process, or the first above it that does not merely carry out
    a command of another one."""
    named = os.environ.get(VARIABLE)
    if named:
        if not (named.isascii() and named.isdigit()):
            raise Usage(
                f"{VARIABLE} is {named!r}, not a process id.",
                hint=f"Set it to a number: {VARIABLE}=$$",
            )
        return process_of(int(named))
    pid = os.getpid()
    while pid > 0:
        entry = entry_of(pid)
        if entry is None or entry.name.partition(":")[0] in KEEPERS:
            return None
        if not _is_means(entry.name, entry.command):
            return process_of(pid)
        pid = entry.parent
    return None


def process_state(process: AgentProcess | None) -> ProcessState:
    """Whether that very process still runs; `unknown` when it cannot be seen from here."""
    here = _host()
    there = process["host"].split("/") if process is not None else []
    if process is None or len(there) != len(here) or there[0] != here[0]:
        return "unknown"
    if there[1] != here[1]:
        return "gone"
    if there[2] != here[2]:
        return "unknown"
    entry = entry_of(process["pid"])
    if entry is None:
        return "unknown" if exists(process["pid"]) else "gone"
    is_same = entry.started == process["started"] and entry.state not in ENDED
    return "alive" if is_same else "gone"


def process_of(pid: int) -> AgentProcess | None:
    """Return a process so that others can tell whether it still runs; None where the system does not tell."""
    entry, here = entry_of(pid), _host()
    if entry is None or not here:
        return None
    return {"host": "/".join(here), "pid": pid, "started": entry.started}


def _host() -> list[str]:
    """Machine, boot, and the table of processes that is seen; nothing where the system does not tell.

    Images give the same machine id to many containers, so that the host's name belongs to it. Without
    `/proc` there are no containers: the first process names the boot.
    """
    proc = identity.PROC
    # The same for the whole life of a process; a child may be in another table of processes.
    key = (os.getpid(), proc)
    if key in _hosts:
        return _hosts[key]
    boot, table = _read(f"{proc}/sys/kernel/random/boot_id").strip(), NO_NAMESPACES
    if identity.has_proc():
        try:
            table = os.readlink(f"{proc}/self/ns/pid")
        except OSError:
            return []
    elif first := entry_of(FIRST_PROCESS):
        boot = first.started
    machine = f"{_read('/etc/machine-id').strip()} {os.uname().nodename}"
    _hosts.clear()
    _hosts[key] = [digest(machine.encode()).hex()[:16], boot, table] if boot else []
    return _hosts[key]


def _is_means(name: str, command: list[str]) -> bool:
    """Whether a process only carries out a command that another one gave."""
    if command and os.path.basename(command[0]) == "busybox":
        command = command[1:]
    program = os.path.basename(command[0]).lstrip("-") if command else name
    if program in SHELLS:
        return _has_command_option(command) or "".join(command[1:2]).endswith(HOOK_LAUNCHER)
    return name in LAUNCHERS or program in LAUNCHERS or _is_holdfast(program, command)


def _has_command_option(command: list[str]) -> bool:
    """`-c`, also among others as in `-lc`; what comes after the first plain word is the script's."""
    for word in command[1:]:
        if word[:1] not in ("-", "+") or word == "--":
            return False
        if word[:2] != "--" and "c" in word:
            return True
    return False


def _is_holdfast(program: str, command: list[str]) -> bool:
    """Whether an interpreter runs our command line or one of our hooks."""
    if not program.startswith(("python", "pypy")):
        return program == "holdfast"
    words = iter(command[1:])
    for word in words:
        if word == "-m":
            return next(words, "").partition(".")[0] == "holdfast"
        if word in ("-X", "-W"):
            next(words, None)
        elif not word.startswith("-"):
            return os.path.basename(word) == "holdfast" or word.endswith("/holdfast/hooks/entry.py")
    return False


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
