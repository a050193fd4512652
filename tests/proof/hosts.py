"""Machines in network namespaces: each with its own address, name, processes, home and clone.

Everything hangs on the processes that hold the namespaces, and those die with the test's own process,
however that ends: the kernel takes the interfaces and whatever still runs on a host with it. Nothing is
made in the machine's own network. `sudo ip netns` would show none of it, because nothing has a name.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.journal.postgres.journal import PostgresJournal
from tests.journal.postgres.serve import OWNER, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    How = Literal["unplugged", "pulled", "swallowed"]

TOOLS = ("ip", "bridge", "unshare", "nsenter", "setpriv")
# Addresses for documentation (RFC 5737): no machine has them, and no route leads out of here.
SERVER_ADDRESS, PREFIX = "192.0.2.1", "192.0.2."
WORKSPACE = "team/product"
PATIENCE = 120.0  # seconds; a loaded machine is slow, not wrong
CLONE_NEWNET, CLONE_NEWPID = 0x40000000, 0x20000000
# The first process of a host: it collects what others leave behind, as an init does.
INIT = """
import os, signal, socket, sys
socket.sethostname(sys.argv[1])
print("up", flush=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
while True:
    signal.sigwait([signal.SIGCHLD])
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


def why_not() -> str:
    """Why no hosts can be made here; empty when they can."""
    if not sys.platform.startswith("linux"):
        return "network namespaces are Linux's"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (apt-get install iproute2 util-linux)"
    if os.geteuid() != 0:
        return "only root may make network namespaces and run a server in one"
    tried = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "name", "b", "type", "bridge"],
        capture_output=True,
        text=True,
    )
    return f"no right to make them: {tried.stderr.strip()}" if tried.returncode else ""


class Answer(NamedTuple):
    """What a command on a host said."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    @property
    def data(self) -> Any:
        assert self.code == 0, self
        return self.envelope["data"]


class Machine:
    """A set of namespaces, held by a process that is its init."""

    def __init__(self, name: str) -> None:
        self.name = name
        namespaces = ["--net", "--uts", "--pid", "--mount", "--mount-proc", "--fork"]
        self._holder = subprocess.Popen(
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                "unshare",
                *namespaces,
                "--kill-child",
                sys.executable,
                "-S",
                "-c",
                INIT,
                name,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "up\n"
        self.pid = _only_child(self._holder.pid)
        self.do("ip", "link", "set", "lo", "up")

    def inside(self, command: Sequence[str], folder: Path | str = "/") -> list[str]:
        """The same command, by a process of this machine."""
        entrance = ["nsenter", "--target", str(self.pid), "--net", "--uts", "--pid", "--mount"]
        return [*entrance, f"--wdns={folder}", *command]

    def do(self, *command: str) -> str:
        """Something about its network alone; processes are called as this machine calls them."""
        entrance = ["nsenter", "--target", str(self.pid), "--net"]
        done = subprocess.run([*entrance, *command], capture_output=True, text=True)
        assert done.returncode == 0, (self.name, command, done.stderr)
        return done.stdout

    def close(self) -> None:
        """The end of its init is the end of every process on it."""
        self._holder.kill()
        self._holder.wait()
        if self._holder.stdout is not None:
            self._holder.stdout.close()


class Host(Machine):
    """A machine with somebody's clone of the repository on it, and a cable to the others."""

    def __init__(self, number: int, name: str, folder: Path, hub: Machine, url: str) -> None:
        super().__init__(name)
        self.address = f"{PREFIX}{10 + number}"
        self.folder = folder
        self.clone = folder / "clone"
        self._hub, self._port = hub, f"to-{name}"
        for needed in ("home", "state"):
            (folder / needed).mkdir(parents=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(folder / "home"),
            "XDG_STATE_HOME": str(folder / "state"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "HOLDFAST_HOME": str(folder / "holdfast"),
            "HOLDFAST_ACTOR": name,
            "HOLDFAST_URL": url,
            "HOLDFAST_JOURNAL_WORKSPACE": WORKSPACE,
        }
        self.is_cut = False

    def plug_in(self) -> None:
        hub = self._hub
        other_end = ["peer", "name", "eth0", "netns", str(self.pid)]
        hub.do("ip", "link", "add", "name", self._port, "type", "veth", *other_end)
        hub.do("ip", "link", "set", self._port, "master", "switch", "up")
        self.do("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.do("ip", "link", "set", "eth0", "up")
        self._forwards(True)

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """A program on this host, in the clone."""
        return subprocess.Popen(
            self.inside(command, self.clone),
            env=self.environment,
            text=True,
            **{**_PIPES, **options},
        )

    def run(self, *command: str, given: str = "") -> Answer:
        done = subprocess.run(
            self.inside(command, self.clone),
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def holdfast(self, *words: str) -> Answer:
        return self.run(sys.executable, "-P", "-m", "holdfast", *words)

    def hook(self, *words: str, **payload: object) -> dict[str, Any]:
        """A hook as a client starts it; its answer."""
        from holdfast.hooks.run import command

        done = self.run(*command(*words), given=json.dumps(payload))
        assert done.code == 0, done
        value: dict[str, Any] = json.loads(done.out or "{}")
        return value

    def cut(self, how: How = "unplugged") -> None:
        """Nothing goes in or out. `unplugged`: this host sees that its interface is down. `pulled`: the
        other end is. `swallowed`: both are up, and the switch forwards nothing."""
        if how == "unplugged":
            self.do("ip", "link", "set", "eth0", "down")
        elif how == "pulled":
            self._hub.do("ip", "link", "set", self._port, "down")
        else:
            self._forwards(False)
        self.is_cut = True

    def join(self) -> None:
        """Whatever was cut, it is as before when this returns."""
        self.do("ip", "link", "set", "eth0", "up")
        self._hub.do("ip", "link", "set", self._port, "up")
        self._forwards(True)
        self.is_cut = False

    def reaches_server(self) -> bool:
        script = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)"
        port = self.environment["HOLDFAST_URL"].rpartition(":")[2].partition("/")[0]
        command = [sys.executable, "-S", "-c", script, SERVER_ADDRESS, port]
        return subprocess.run(self.inside(command), capture_output=True).returncode == 0

    def _forwards(self, forwards: bool) -> None:
        """The kernel itself lets a port forward some time after its cable is in, so this is said until
        it is so."""
        state = 3 if forwards else 0
        shown = ("ip", "-json", "-details", "link", "show", "dev", self._port)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            [link] = json.loads(self._hub.do(*shown))
            has_carrier = "LOWER_UP" in link["flags"]
            if has_carrier and link["linkinfo"]["info_slave_data"]["state"] == _STATES[state]:
                return
            if has_carrier:
                self._hub.do("bridge", "link", "set", "dev", self._port, "state", str(state))
            time.sleep(0.01)
        raise AssertionError(f"the port of {self.name} does not change its state")


_STATES = {0: "disabled", 3: "forwarding"}
_PIPES: dict[str, Any] = {
    "stdin": subprocess.PIPE,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
}


class Hosts:
    """A switch, a PostgreSQL beside it, and hosts that have nothing else in common but a git remote."""

    def __init__(self, folder: Path, names: Sequence[str], *, options: str = "") -> None:
        self._end = ExitStack()
        self._folder = folder
        try:
            self._make(names, options)
        except BaseException:
            self.close()
            raise

    def _make(self, names: Sequence[str], options: str) -> None:
        self.hub = Machine("hub")
        self._end.callback(self.hub.close)
        self.hub.do("ip", "link", "add", "name", "switch", "type", "bridge")
        # A port of a bridge that checks for loops first is silent for half a minute.
        for setting in (("stp_state", "0"), ("forward_delay", "0")):
            self.hub.do("ip", "link", "set", "switch", "type", "bridge", *setting)
        self.hub.do("ip", "address", "add", f"{SERVER_ADDRESS}/24", "dev", "switch")
        self.hub.do("ip", "link", "set", "switch", "up")
        self.server = Server(
            self._folder / "server", f"listen_addresses=127.0.0.1,{SERVER_ADDRESS}"
        )
        self.server.make()
        with open(self.server.data / "pg_hba.conf", "a") as rules:
            rules.write(f"host all all {PREFIX}0/24 trust\n")
        self.start_server()
        self._end.callback(self.server.stop)
        self.url = f"postgresql://{OWNER}@{SERVER_ADDRESS}:{self.server.port}/postgres"
        remote = self._remote()
        self.hosts = []
        for number, name in enumerate(names, 1):
            host = Host(number, name, self._folder / name, self.hub, self.url + options)
            self._end.callback(host.close)
            self.hosts.append(host)
            host.plug_in()
            _git("clone", "--quiet", str(remote), str(host.clone))

    def start_server(self) -> None:
        inside(self.hub, self.server.start)

    def _remote(self) -> Path:
        """The repository that all have cloned. A folder says nothing about who shares it, so it names
        itself."""
        remote, first = self._folder / "remote.git", self._folder / "first"
        _git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
        _git("clone", "--quiet", str(remote), str(first))
        (first / "holdfast.toml").write_text(f'[journal]\nworkspace = "{WORKSPACE}"\n')
        _git("-C", str(first), "checkout", "--quiet", "-B", "main")
        _git("-C", str(first), "add", ".")
        _git("-C", str(first), "commit", "--quiet", "--message", "first")
        _git("-C", str(first), "push", "--quiet", "origin", "main")
        return remote

    def ask(self, question: Callable[[PostgresJournal], Any]) -> Any:
        """What somebody beside the server reads in the journal."""

        def there() -> Any:
            journal = PostgresJournal(self.url, WORKSPACE, "")
            try:
                return question(journal)
            finally:
                journal.close()

        return inside(self.hub, there)

    def __enter__(self) -> Hosts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._end.close()


def inside(machine: Machine, action: Callable[[], Any]) -> Any:
    """Do it as if on that machine: a thread of ours goes to its network, and what it starts ends with
    the machine."""
    done: list[Any] = []
    failed: list[BaseException] = []

    def go() -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            for kind, flag in (("net", CLONE_NEWNET), ("pid", CLONE_NEWPID)):
                with open(f"/proc/{machine.pid}/ns/{kind}") as namespace:
                    if libc.setns(namespace.fileno(), flag):
                        raise OSError(ctypes.get_errno(), f"setns {kind}")
            done.append(action())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _only_child(pid: int) -> int:
    while True:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.005)


def _git(*words: str) -> None:
    identity = ["-c", "user.name=holdfast tests", "-c", "user.email=tests@holdfast.invalid"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", *identity, *words], env=environment, check=True, capture_output=True)
