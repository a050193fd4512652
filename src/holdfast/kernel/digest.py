"""SHA-256 and record ids, without `hashlib` and `uuid`, which cost a hook half its time."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        # By version: to look for a module that is not there takes a walk through all folders of the path.
        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

ID_LENGTH = 32


# A process that makes so many digests is no hook: loading OpenSSL, whose SHA-256 takes an eighth of
# the time, pays off.
MANY = 100


class _Hashes:
    """The function in use, and how often it was called."""

    __slots__ = ("count", "function")

    def __init__(self) -> None:
        self.count = 0
        self.function = sha256


_hashes = _Hashes()


def digest(*parts: bytes) -> bytes:
    _hashes.count += 1
    if _hashes.count == MANY:
        _load_openssl()
    return _hashes.function(b"".join(parts)).digest()


def _load_openssl() -> None:
    try:
        from _hashlib import openssl_sha256
    except ImportError:
        return
    _hashes.function = openssl_sha256


def new_id() -> str:
    """A random id. Random from its first letter, so that a short beginning of it is unique."""
    return os.urandom(ID_LENGTH // 2).hex()


def record_id(base: str, position: int) -> str:
    """The id of the n-th record of one command: the same again when the command is repeated."""
    return base if position == 0 else id_of(f"{base}/{position}")


def id_of(text: str) -> str:
    """The id that follows from a text."""
    return digest(text.encode()).hex()[:ID_LENGTH]
