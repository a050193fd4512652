"""When the person last looked at what happened: a small file of the user, for all projects."""

from __future__ import annotations

import json
import os
from typing import TypedDict

from holdfast.kernel import clock
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.workspace import user_folder

FILE, SCHEMA, LARGEST = "looked.json", 1, 4096


class Looked(TypedDict):
    """When the person looked last, and from when on they saw what happened."""

    at: str
    since: str


def read_looked() -> Looked | None:
    """Return when the person looked; None before they did, or where the file cannot be read."""
    try:
        said = json.loads(read_plain(_path(), LARGEST, follow=False))
        at, since = str(said["at"]), str(said["since"])
        clock.parse(at), clock.parse(since)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return {"at": at, "since": since}


def keep_looked(now: int, since: str) -> bool:
    """Keep that the person has seen what happened since then, up to now. Return whether that was possible."""
    said = {"schema": SCHEMA, "at": clock.precise(now), "since": since}
    try:
        os.makedirs(user_folder(), 0o700, exist_ok=True)
        write_synced(_path(), json.dumps(said).encode() + b"\n")
    except OSError:
        return False
    return True


def _path() -> str:
    return os.path.join(user_folder(), FILE)
