"""Looking back: records and the states between them, as text that can be compared."""

from __future__ import annotations

import json

from holdfast.journal.interface import find_record
from holdfast.kernel.errors import Usage
from holdfast.kernel.state import at_version, load
from holdfast.streams import rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.journal.interface import Journal, Record


def picture(stream: str, state: Any) -> str:
    """A state as its reader knows it: its views, or its data where it has none."""
    views = rules_of(stream).render(state)
    if not views:
        return json.dumps(state, ensure_ascii=False, indent=2, sort_keys=True)
    return "\n".join(f"{path}\n\n{text}" for path, text in sorted(views.items()))


def state_at(journal: Journal, stream: str, version: int) -> Any:
    return at_version(journal, rules_of(stream), stream, version)


def state_now(journal: Journal, stream: str) -> tuple[Any, int]:
    state, head = load(journal, rules_of(stream), stream)
    return state, head["version"] if head else 0


def change_of(journal: Journal, record: Record) -> tuple[str, str]:
    """The picture before and after a record."""
    stream, version = record["stream"], record["version"]
    before = picture(stream, state_at(journal, stream, version - 1)) if version > 1 else ""
    return before, picture(stream, state_at(journal, stream, version))


def ends_of(journal: Journal, one: str, other: str) -> tuple[Record, Record]:
    """Two records of one stream; without the second, the newest of the first one's."""
    first = find_record(journal, one)
    if other:
        second = find_record(journal, other)
        if second["stream"] != first["stream"]:
            raise Usage(
                f"{one} is of {first['stream']}, {other} of {second['stream']}: "
                "states of different streams cannot be compared.",
                hint="Name two records of one stream.",
            )
        return first, second
    return first, journal.latest(stream=first["stream"], limit=1)[0]
