"""Regular expressions that are compiled when they are first used.

A session's start loads modules with seventy of them and uses a few: to compile them all took longer than
a bare interpreter's start, and to import `re` takes two thirds of one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Any, AnyStr

# As in `re`, which is not imported for them.
IGNORECASE, MULTILINE, DOTALL = 2, 8, 16
_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


def compile_later(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """What `re.compile` gives, at the first use of one of its methods."""
    later: Any = _Later(pattern, flags)
    return later  # type: ignore[no-any-return]


class _Later:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        import re

        compiled = re.compile(*self._arguments)
        # From here on, the methods are found without this function.
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)
