"""One server for all processes of a test run, and a database for each of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.journal.postgres.serve import READY

# Read once: every test takes HOLDFAST_* out of its environment.
GIVEN = os.environ.get("HOLDFAST_TEST_URL", "")


@cache
def database_url() -> str:
    """An empty database of this process. Made on first use, so that other tests do not wait."""
    server = GIVEN or _server_of_this_run()
    name = f"holdfast_test_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    return at_database(server, name)


def drop() -> None:
    """On somebody's own server nothing is left behind; the one of this run ends anyway."""
    if GIVEN and database_url.cache_info().currsize:
        with psycopg.connect(GIVEN, autocommit=True) as connection:
            name = urlsplit(database_url()).path.strip("/")
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def at_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _server_of_this_run() -> str:
    """Started by the first process that asks. It watches the run's main process, and ends with it."""
    distributed = "PYTEST_XDIST_WORKER" in os.environ
    owner = os.getppid() if distributed else os.getpid()
    folder = Path(tempfile.gettempdir()) / f"holdfast-postgres-{os.getuid()}-{owner}"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / READY).exists():
            script = Path(__file__).with_name("serve.py")
            log = open(f"{folder}.log", "wb")  # noqa: SIM115
            server = subprocess.Popen(
                [sys.executable, str(script), str(folder), str(owner)],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            log.close()
            while not (folder / READY).exists():
                if server.poll() is not None:
                    raise RuntimeError(Path(f"{folder}.log").read_text())
                time.sleep(0.02)
            server.returncode = 0  # it outlives us, and that is meant
            with contextlib.suppress(OSError):
                os.unlink(f"{folder}.log")
    return (folder / READY).read_text()
