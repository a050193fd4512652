"""An undo that was cut off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.registry import BROKEN, Attention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.kernel.workspace import Workspace


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the undo that was cut off here, if one was."""
    try:
        names = os.listdir(workspace.home)
    except OSError:
        return
    if any(name.startswith("undo-") and name.endswith(".json") for name in names):
        what = "An undo was cut off; the next one, or the next prompt, finishes it"
        yield Attention(what, "holdfast undo --list", BROKEN)
