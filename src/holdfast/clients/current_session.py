"""The session that a client runs this process in."""

from __future__ import annotations

import os

# Claude Code, Codex and Gemini CLI (for hooks) give it to what they start; for opencode our shim does.
VARIABLES = (
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SESSION_ID",
    "GEMINI_SESSION_ID",
    "OPENCODE_SESSION_ID",
)
LONGEST_ID = 100


def own_id() -> str:
    """The id that the client gives to the processes it starts; empty outside of one."""
    return safe_id(next((os.environ[name] for name in VARIABLES if os.environ.get(name)), ""))


def is_plain(session: str) -> bool:
    """Whether an id can stand in a line, in a path and in what an agent reads."""
    plain = session.replace("-", "").replace("_", "").replace(".", "")
    return plain.isascii() and plain.isalnum() and session[0] != "." and len(session) <= LONGEST_ID


def safe_id(session: str) -> str:
    """A session's id that can stand in a line and in a path: the client's own, or for an odd one a
    digest of it, so that no client is refused and none can write into our lines."""
    if not session or is_plain(session):
        return session
    from holdfast.kernel.digest import id_of

    return id_of(session.encode("utf-8", "replace").decode())
