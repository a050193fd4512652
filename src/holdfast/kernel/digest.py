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

# Crockford's alphabet: no i, l, o, u, so that an id read aloud is still the same id.
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 26


def digest(*parts: bytes) -> bytes:
    state = sha256()
    for part in parts:
        state.update(part)
    return state.digest()


def new_id() -> str:
    """A random id of 130 bits. Random from its first letter, so that short prefixes are unique."""
    return _spell(os.urandom(17))


def derived_id(base: str, position: int) -> str:
    """The id of the n-th record of one command: the same again when the command is repeated."""
    return base if position == 0 else _spell(digest(f"{base}/{position}".encode()))


def _spell(material: bytes) -> str:
    number = int.from_bytes(material[:17], "big")
    letters = []
    for _ in range(ID_LENGTH):
        letters.append(ALPHABET[number & 31])
        number >>= 5
    return "".join(letters)
