"""RFCs that wait: for their context to restart after a failed round, or for a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.registry import WAITS, Attention
from holdfast.rfc.hooks import has_rfcs


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the open RFCs whose last transition asked for something that did not follow yet."""
    if not has_rfcs(workspace):
        return
    from holdfast.rfc.summary import list_rfcs

    for row in list_rfcs(workspace):
        failed = (
            f"failed round {row['round']} of {row['max_rounds']} of Gate-B" if row["round"] else ""
        )
        if not row["open"]:
            continue
        if row["owed"]:
            what = f"RFC {row['id']} {failed or 'left its phase'} and owes its checkpoint"
            yield Attention(what, f"holdfast rfc prompt {row['owed']} {quote(row['id'])}", WAITS)
        elif row["restart"]:
            what = f"RFC {row['id']} {failed or 'left its phase'}: its context must restart"
            yield Attention(what, f"holdfast rfc bootstrap {quote(row['id'])}", WAITS)
