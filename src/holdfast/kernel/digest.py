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


_function = sha256
_count = 0


def digest(*parts: bytes) -> bytes:
    global _count  # noqa: PLW0603
    _count += 1
    if _count == MANY:
        _load_openssl()
    return _function(b"".join(parts)).digest()


def _load_openssl() -> None:
    global _function  # noqa: PLW0603
    try:
        from _hashlib import openssl_sha256 as _function
    except ImportError:
        return


def new_id() -> str:
    """A random id. Random from its first letter, so that a short beginning of it is unique."""
    return os.urandom(ID_LENGTH // 2).hex()


def record_id(base: str, position: int) -> str:
    """The id of the n-th record of one command: the same again when the command is repeated."""
    return base if position == 0 else id_of(f"{base}/{position}")


def id_of(text: str) -> str:
    """The id that follows from a text."""
    return digest(text.encode()).hex()[:ID_LENGTH]
