"""The page as a service: one for each user, without a terminal, found by a small file.

The file `page/server.json` in the user's state folder says which process serves, and where. A person gets a
sign-in link with `holdfast serve --link`: that command makes the token, shows it on its terminal, and leaves
only the token's digest in the same folder, where the service takes it once.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast.kernel.errors import Conflict, HoldfastError, NotFound
from holdfast.kernel.plain_file import write_synced
from holdfast.kernel.workspace import user_folder
from holdfast.processes import identity, relaunch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.web.urls import Address

SERVER, LOG = "server.json", "log"
LINK_SECONDS = 600.0
# How long a service may take to begin, and to end: an answer that is on its way has 12 s.
START_SECONDS, STOP_SECONDS = 30.0, 20.0
END_OF_LOG = 2_000


class Service(NamedTuple):
    """A service that runs. `origin` has the random name of the page, which is for a terminal alone."""

    process: int
    since: str
    origin: str
    port: int
    workspaces: list[str]


def folder() -> str:
    return os.path.join(user_folder(), "page")


def running() -> Service | None:
    """The service of this user; None when there is none, or when its process is gone."""
    try:
        with open(os.path.join(folder(), SERVER), encoding="utf-8") as file:
            known = json.load(file)
        found = Service(
            int(known["process"]),
            str(known["since"]),
            str(known["origin"]),
            int(known["port"]),
            [str(name) for name in known["workspaces"]],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if identity.lives(found.process, found.since) else None


def needed() -> Service:
    found = running()
    if found is None:
        raise NotFound(
            "The page does not run in the background.",
            hint="holdfast serve --background",
            kind="no_service",
        )
    return found


def refuse_second() -> None:
    if (found := running()) is not None:
        raise Conflict(
            f"The page runs already, on port {found.port} (process {found.process}).",
            hint="holdfast serve --link shows a sign-in link, holdfast serve --stop ends it.",
            kind="already_serving",
        )


def write_down(address: Address, port: int, workspaces: Sequence[str]) -> None:
    """Say that this process serves, for its own user alone. Behind a proxy, `port` is not the address's."""
    os.makedirs(folder(), 0o700, exist_ok=True)
    process, since = identity.own()
    known = Service(process, since, address.origin, port, list(workspaces))
    path = os.path.join(folder(), SERVER)
    write_synced(path, json.dumps(known._asdict()).encode() + b"\n")
    os.chmod(path, 0o600)


def forget() -> None:
    """Take back what this process wrote down."""
    found = running()
    if found is not None and found.process == os.getpid():
        with suppress(OSError):
            os.unlink(os.path.join(folder(), SERVER))


def start(options: Sequence[str]) -> Service:
    """Start a service that outlives this process, and wait until it serves."""
    refuse_second()
    os.makedirs(folder(), 0o700, exist_ok=True)
    # What a folder or an agent tells Python to load is not for a page that people sign in to.
    environment = {name: value for name, value in os.environ.items() if name[:6] != "PYTHON"}
    log = os.open(os.path.join(folder(), LOG), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        process = subprocess.Popen(
            relaunch.command("serve", "--service", *options),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    finally:
        os.close(log)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        found = running()
        if found is not None and found.process == process.pid:
            process.returncode = 0  # it outlives us, and that is meant
            return found
        if process.poll() is not None:
            raise HoldfastError(f"The page did not start: {_end_of_log()}", kind="service_failed")
        time.sleep(0.05)
    process.kill()
    process.wait()
    raise HoldfastError(
        f"The page did not start within {START_SECONDS:.0f} seconds. {_end_of_log()}",
        kind="service_failed",
    )


def stop() -> Service:
    """End the service, and wait until it has ended."""
    found = needed()
    with suppress(ProcessLookupError):
        os.kill(found.process, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while identity.lives(found.process, found.since):
        if time.monotonic() > deadline:
            raise HoldfastError(
                f"Process {found.process} has not ended yet.",
                hint="An answer may be on its way. Try again in a moment.",
                kind="service_busy",
            )
        time.sleep(0.05)
    return found


def leave_link(service: Service, terminal: str) -> str:
    """A one-time link for the person at this terminal. Only its digest is left for the service."""
    _forget_old_links()
    token = secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    known = {"until": time.time() + LINK_SECONDS, "terminal": terminal}
    path = os.path.join(folder(), f"link-{digest}")
    write_synced(path, json.dumps(known).encode())
    os.chmod(path, 0o600)
    return f"{service.origin}/sign-in?token={token}"


def take_link(digest: str) -> str | None:
    """The terminal on which the link with this digest was shown, once; None if there is no such link, or
    it is too old."""
    path = os.path.join(folder(), f"link-{digest}")
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        os.unlink(path)  # the process that removes it has taken it
        terminal, until = str(known["terminal"]), float(known["until"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return terminal if time.time() < until else None


def _forget_old_links() -> None:
    """Remove links that no one used in time."""
    for name in os.listdir(folder()):
        path = os.path.join(folder(), name)
        with suppress(OSError):
            if name.startswith("link-") and time.time() - os.stat(path).st_mtime > LINK_SECONDS:
                os.unlink(path)


def _end_of_log() -> str:
    try:
        with open(os.path.join(folder(), LOG), encoding="utf-8", errors="replace") as file:
            return file.read()[-END_OF_LOG:].strip()
    except OSError:
        return ""
