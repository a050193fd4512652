"""Sign-in: one-time links that become sessions, and the tokens that every change carries."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

LINK_SECONDS = 600.0
IDLE_SECONDS = 7 * 86_400.0
MOST_SESSIONS = 20
# Wrong tries within a minute, from one address, after which it has to wait.
TRIES, TRIES_SECONDS = 10, 60.0


class SignedIn(NamedTuple):
    """A person who signed in. `terminal` is where the link was shown; `over` is set at sign-out."""

    terminal: str
    csrf: str
    over: asyncio.Event


class SignIns:
    """The links and sessions. Only digests are kept, so a copy of the memory lets no one in."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        take_link: Callable[[str], str | None] | None = None,
    ) -> None:
        self._clock = clock
        # Links that another process showed: the terminal of a digest, once.
        self._take_link = take_link
        self._links: dict[str, tuple[float, str]] = {}
        self._sessions: dict[str, tuple[float, SignedIn]] = {}
        self._failures: dict[str, list[float]] = {}

    def link(self, terminal: str) -> str:
        """A new token for a link. An unused token from before becomes invalid."""
        token = secrets.token_urlsafe(32)
        self._links = {_digest(token): (self._clock() + LINK_SECONDS, terminal)}
        return token

    def enter(self, token: str, address: str) -> str | None:
        """Exchange a link's token for a session's token, once; None if it is not valid. Failed
        attempts from the same address do not matter."""
        ends, terminal = self._links.pop(_digest(token), (0.0, ""))
        elsewhere = self._take_link(_digest(token)) if self._take_link and not ends else None
        if elsewhere is not None:
            terminal = elsewhere
        elif self._clock() >= ends:
            if not self.wait(address):
                self._failures.setdefault(address, []).append(self._clock())
            return None
        cookie = secrets.token_urlsafe(32)
        session = SignedIn(terminal, secrets.token_urlsafe(32), asyncio.Event())
        self._sessions[_digest(cookie)] = (self._clock(), session)
        while len(self._sessions) > MOST_SESSIONS:
            self._end(min(self._sessions, key=lambda key: self._sessions[key][0]))
        return cookie

    def wait(self, address: str) -> float:
        """Seconds until an address may try again; 0 if it may now."""
        since = self._clock() - TRIES_SECONDS
        for known in list(self._failures):
            self._failures[known] = [at for at in self._failures[known] if at > since]
            if not self._failures[known]:
                del self._failures[known]
        recent = self._failures.get(address, [])
        return recent[-TRIES] - since if len(recent) >= TRIES else 0.0

    def session(self, cookie: str) -> SignedIn | None:
        key = _digest(cookie)
        seen, session = self._sessions.get(key, (0.0, None))
        if session is None:
            return None
        if self._clock() - seen > IDLE_SECONDS:
            self._end(key)
            return None
        self._sessions[key] = (self._clock(), session)
        return session

    def leave(self, cookie: str) -> None:
        self._end(_digest(cookie))

    def _end(self, key: str) -> None:
        _, session = self._sessions.pop(key, (0.0, None))
        if session is not None:
            session.over.set()


def is_token(session: SignedIn, said: str) -> bool:
    """Whether a change carries the token of its session."""
    return hmac.compare_digest(session.csrf.encode(), said.encode("utf-8", "replace"))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
