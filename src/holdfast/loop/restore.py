"""Restoring a track: under its own lock, and past a file that nobody can read."""

from __future__ import annotations

import os
from contextlib import contextmanager

from holdfast.kernel.state import load
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.loop import history_file
from holdfast.loop.location import Place
from holdfast.loop.rules import loop as rules
from holdfast.loop.rules.document import Corrupt, parse
from holdfast.loop.track import Track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.loop.rules.model import LoopState

KIND = rules.stream_of("x").partition(":")[0]


@contextmanager
def made_ready(
    workspace: Workspace, writer: Writer, stream: str, *, actor: str, now: int
) -> Iterator[str]:
    """Around the restore of any stream. For a track: its lock is held, and a corrupt file is moved to
    quarantine, because here a person asked for it to be replaced. Where it is now, or nothing."""
    kind, _, name = stream.partition(":")
    if kind != KIND:
        yield ""
        return
    state: LoopState = load(workspace.journal, rules, stream)[0]
    track = Track(workspace, writer, Place(workspace, name, state["folder"]), actor=actor)
    os.makedirs(track.place.root, exist_ok=True)
    with track.lock():
        yield _set_aside(workspace, track.place.metadata, now)
        history_file.catch_up(track.place.history, workspace.journal, stream, ())


def _set_aside(workspace: Workspace, metadata: str, now: int) -> str:
    try:
        parse(text_of(read_file(metadata)[1]))
    except FileNotFoundError:
        return ""
    except (Unreadable, Corrupt):
        if os.path.isdir(metadata) and not os.path.islink(metadata):
            # Quarantine holds files; a folder is moved as it is, with all that is in it.
            aside = f"{metadata}.{now}"
            os.rename(metadata, aside)
            return aside
        kept = quarantine.keep(workspace, metadata, now)
        os.unlink(metadata)
        return kept
    return ""
