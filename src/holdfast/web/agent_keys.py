"""The agents' token of a workspace: who has it may send what an agent of that workspace may send.

It is a file that only its user reads, in the workspace's home. It opens no page and answers for no
person.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterable

from holdfast.kernel.disk import write_synced
from holdfast.kernel.errors import NotAllowed, from_os_error
from holdfast.kernel.workspace import Workspace, discover

FILE = "agents-token"
LONGEST = 200


def path_of(home: str) -> str:
    return os.path.join(home, FILE)


def made(workspace: Workspace) -> str:
    """The file of the token, made when there is none that others cannot read."""
    path = path_of(workspace.home)
    try:
        with workspace.lock():
            if not read(workspace.home):
                write_synced(path, f"{secrets.token_urlsafe(32)}\n".encode())
    except OSError as error:
        raise from_os_error(error, f"writing {path}") from error
    return path


def read(home: str) -> str:
    """The token; nothing when there is none, or when it is not its user's alone."""
    try:
        descriptor = os.open(path_of(home), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        status = os.fstat(descriptor)
        private = not status.st_mode & 0o077 and status.st_uid == os.geteuid()
        if not private or not stat.S_ISREG(status.st_mode):
            return ""
        return os.read(descriptor, LONGEST).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)


class NoToken(NotAllowed):
    """Nobody that we know."""

    kind = "no_token"


class Home:
    """A workspace that agents speak to: its top folder, and where its things are."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.home = discover(root, local=True).home


class Keys:
    """Whose token is whose. A file that was removed or replaced counts from the next request on."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._homes = [Home(root) for root in roots]
        self._files: dict[str, tuple[int, int, int] | None] = {}
        self._known: dict[str, Home] = {}

    def known(self, token: str) -> Home | None:
        """Without a look at the disk."""
        return self._known.get(_digest(token)) if token else None

    def admit(self, token: str) -> Home:
        """After a look at the files. In a thread of any kind: what is known is replaced as a whole."""
        files = {one.home: _identity(path_of(one.home)) for one in self._homes}
        if files != self._files:
            found = {_digest(key): one for one in self._homes if (key := read(one.home))}
            self._known, self._files = found, files
        place = self.known(token)
        if place is None:
            raise NoToken(
                "No workspace on this page has that token.",
                hint="`holdfast init --client claude --http` says where it is.",
            )
        return place


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_mode
