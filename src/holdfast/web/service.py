"""The page as a service of systemd, launchd or a container: one for each user, found by a small file.

The file `page/server.json` in the user's state folder says which process serves, and where. A person gets a
sign-in link with `holdfast serve --link`: that command makes the token, shows it on its terminal, and leaves
only the token's digest in the same folder, where the service takes it once.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from holdfast.kernel.errors import Conflict, NotFound
from holdfast.kernel.plain_file import write_synced
from holdfast.kernel.workspace import user_folder
from holdfast.processes import identity
from holdfast.web.urls import Address

SERVER = "server.json"
LINK_SECONDS = 600.0


class Service(NamedTuple):
    """A service that runs. `origin` has the random name of the page, which is for a terminal alone."""

    process: int
    since: str
    origin: str
    port: int
    workspaces: list[str]


def folder() -> str:
    return os.path.join(user_folder(), "page")


def find_service() -> Service | None:
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


def require_service() -> Service:
    found = find_service()
    if found is None:
        raise NotFound(
            "The page does not run as a service.",
            hint="Start it with systemd or launchd; docs/reference/server.md has the files. `holdfast serve` serves "
            "in this terminal and shows its link.",
            kind="no_service",
        )
    return found


def refuse_second() -> None:
    if (found := find_service()) is not None:
        raise Conflict(
            f"The page runs already, on port {found.port} (process {found.process}).",
            hint="holdfast serve --link shows a sign-in link.",
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
    found = find_service()
    if found is not None and found.process == os.getpid():
        with suppress(OSError):
            os.unlink(os.path.join(folder(), SERVER))


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
