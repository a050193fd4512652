"""How many messages wait for an agent: every heartbeat asks, so this stays small."""

from __future__ import annotations

import os

from holdfast.fleet.rules.model import COMMS, PRIMARY, UNREAD
from holdfast.fleet.rules.names import check_agent, stem_of
from holdfast.kernel.views.files import Unreadable, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.fleet.epic import Epic

ENDING = ".md"
_MARK = UNREAD.encode()


def inbox_files(epic: Epic, agent: str) -> list[str]:
    """The names of the files that others write to an agent, in `agent_comms/`."""
    ending = f"_to_{stem_of(check_agent(agent))}{ENDING}"
    try:
        found = os.listdir(epic.file(COMMS))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(
        name for name in found if name.endswith(ending) and _is_stem(name.removesuffix(ending))
    )


def _is_stem(stem: str) -> bool:
    return stem == stem_of(PRIMARY) or stem.startswith("secondary_")


def unread_count(epic: Epic, agent: str) -> int:
    """How many messages an agent has not read."""
    count = 0
    for name in inbox_files(epic, agent):
        try:
            count += read_file(epic.file(f"{COMMS}/{name}"))[1].count(_MARK)
        except (FileNotFoundError, Unreadable):
            continue
    return count
