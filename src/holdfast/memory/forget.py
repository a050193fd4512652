"""Sessions that memory leaves out for good, because a purge erased what they hold, and the erasing itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

import apsw

from holdfast.clients import kept
from holdfast.clients.conversation import SessionEvent
from holdfast.kernel.erased_text import list_forms
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.workspace import Workspace
from holdfast.memory.index import Index, folder, make_folder, open_known, path

FILE, LARGEST = "forgotten.json", 1 << 22


def read_forgotten() -> set[str]:
    """Return the sessions that are left out for good, as `client:session`."""
    try:
        found = json.loads(read_plain(os.path.join(folder(), FILE), LARGEST, follow=False))
    except (OSError, ValueError):
        return set()
    return {str(one) for one in found} if isinstance(found, list) else set()


def is_forgotten(client: str, session: str) -> bool:
    """Return whether a purge erased what a session holds."""
    return f"{client}:{session}" in read_forgotten()


def find_copies(workspace: Workspace, _streams: Sequence[str], text: str) -> Iterator[str]:
    """Return the files of memory that hold a text: the index, and each kept session."""
    if not text:
        return
    forms = list_forms(text)
    for file in kept.list_all(workspace.root):
        events = kept.load(file, whole=True) or []
        said = [str(value) for value in (kept.read_header(file) or {}).values()]
        said += [text for event in events for text in _texts_of(event)]
        if any(form in text for text in said for form in forms):
            yield file
    index = open_known()
    if index is not None:
        try:
            with index:
                is_held = bool(_holding(index, forms))
        except apsw.Error:
            is_held = True  # a damaged one goes as a whole
        if is_held:
            yield path()


def _texts_of(event: SessionEvent) -> Iterator[str]:
    yield from (event.text, event.about, event.path)
    yield from (task["text"] for task in event.tasks)
    yield from (value for one in event.exact for value in one.values() if isinstance(value, str))


def _holding(index: Index, forms: Sequence[str]) -> list[tuple[int, str]]:
    """Return the sessions of the index that hold a text."""
    found = []
    for one in index.sessions():
        said = [str(value) for value in one.values()]
        said += [piece.searched for piece in index.pieces_of(one["id"])]
        said += [name for name, _, _ in index.files(one["id"])]
        if any(form in text for text in said for form in forms):
            found.append((one["id"], f"{one['client']}:{one['session']}"))
    return found


def clean_index(name: str, wanted: list[bytes]) -> bytes | None:
    """Take the sessions that hold a text out of the index, for good. Return its new content."""
    index = open_known()
    if index is None:
        return None
    with index:
        holding = _holding(index, [form.decode("utf-8", "replace") for form in wanted])
        make_folder()
        known = sorted(read_forgotten() | {session for _, session in holding})
        write_synced(os.path.join(folder(), FILE), json.dumps(known).encode())
        with index.writing():
            for id, _ in holding:
                index.remove(id)
        for table in ("core", "talk"):
            # The words of a removed document stay in the tables until they are merged.
            index.ask(f"INSERT INTO {table}({table}) VALUES ('optimize')")
        index.ask("VACUUM")
        index.ask("PRAGMA wal_checkpoint(TRUNCATE)")
    return read_plain(name, os.stat(name).st_size + 1)
