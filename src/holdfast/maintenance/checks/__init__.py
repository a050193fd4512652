"""The checks of `doctor`. Each says what it found, why that matters, and what to do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    class Check(TypedDict):
        """One check. `fixed` says what `--fix` did about it."""

        id: str
        status: Literal["ok", "warning", "problem"]
        what: str
        why: str
        fix: str
        fixed: str


def new_check(
    id: str,
    what: str,
    *,
    status: Literal["ok", "warning", "problem"] = "ok",
    why: str = "",
    fix: str = "",
    fixed: str = "",
) -> Check:
    """A check that found nothing wrong, unless `status` says so."""
    return {"id": id, "status": status, "what": what, "why": why, "fix": fix, "fixed": fixed}
