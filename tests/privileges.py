"""File modes that count for root too, so that tests of rights run in a container as well."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: read and write whatever the mode says.
_OVER_MODES = 1 << 1 | 1 << 2
_VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Set(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextmanager
def modes_count() -> Iterator[None]:
    """Give up the right to ignore file modes, in this thread until the block ends. A program that is
    started inside has it again."""
    library = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION_3, 0), (_Set * 2)()

    def call(name: str) -> None:
        if getattr(library, name)(ctypes.byref(header), ctypes.byref(sets)):
            raise OSError(ctypes.get_errno(), f"{name} failed")

    call("capget")
    before = sets[0].effective
    sets[0].effective = before & ~_OVER_MODES
    call("capset")
    try:
        yield
    finally:
        sets[0].effective = before
        call("capset")
