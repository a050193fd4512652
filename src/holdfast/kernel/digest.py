"""SHA-256 and record ids, without `hashlib` and `uuid`, which cost a hook half its time."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # CPython 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

ID_LENGTH = 32


def digest(*parts: bytes) -> bytes:
    state = sha256()
    for part in parts:
        state.update(part)
    return state.digest()


def new_id() -> str:
    """A random id. Random from its first letter, so that a short beginning of it is unique."""
    return os.urandom(ID_LENGTH // 2).hex()


def record_id(base: str, position: int) -> str:
    """The id of the n-th record of one command: the same again when the command is repeated."""
    return base if position == 0 else id_of(f"{base}/{position}")


def id_of(text: str) -> str:
    """The id that follows from a text."""
    return digest(text.encode()).hex()[:ID_LENGTH]
