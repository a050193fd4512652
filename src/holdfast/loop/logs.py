"""The attempts of a track's runs, and what their programs said."""

from __future__ import annotations

import os

from holdfast.kernel.errors import NotFound
from holdfast.kernel.views.files import target_of
from holdfast.loop.driver import logs_of
from holdfast.loop.rules.model import HISTORY, METADATA
from holdfast.processes.outputs import outputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace
    from holdfast.loop.track import Track

    class Attempt(TypedDict):
        number: int
        step: str
        task: str
        program: str
        log: str
        at: str
        exit_code: int | None


def attempts(track: Track) -> list[Attempt]:
    """Every program that was started for the track, oldest first."""
    if not track.workspace.exists():
        return []
    found: dict[str, Attempt] = {}
    for record in track.workspace.journal.read(track.place.stream):
        body = record["body"] if isinstance(record["body"], dict) else {}
        if record["kind"] == "attempt_begun":
            found[body["log"]] = {
                "number": body["number"],
                "step": body["step"],
                "task": body["task"],
                "program": body["program"],
                "log": body["log"],
                "at": record["at"],
                "exit_code": None,
            }
        ended = body.get("attempt")
        if isinstance(ended, dict) and ended.get("log") in found:
            found[ended["log"]]["exit_code"] = ended["exit_code"]
    return list(found.values())


def read_log(track: Track, number: int | None) -> tuple[Attempt, str]:
    """One attempt and its output; without a number the last that was begun."""
    known = attempts(track)
    fitting = [one for one in known if number is None or one["number"] == number]
    if not fitting:
        what = "no attempt yet" if number is None else f"no attempt {number}"
        raise NotFound(
            f"The track {track.place.track} has {what}.",
            hint="Attempts are made by `holdfast loop run`.",
        )
    chosen = fitting[-1]
    path = os.path.join(logs_of(track), chosen["log"])
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return chosen, file.read()
    except FileNotFoundError:
        raise NotFound(
            f"The output of attempt {chosen['number']} is not there any more.",
            hint="`holdfast gc` removes outputs that are older than `retention.days`.",
        ) from None


def remove_old(workspace: Workspace, before: int) -> int:
    """Remove the outputs that were last written before an instant; how many that were."""
    removed = 0
    for path in outputs(workspace):
        if os.stat(path).st_mtime * 1000 < before:
            os.unlink(path)
            removed += 1
    return removed


def holding(workspace: Workspace, streams: list[str], text: str) -> list[str]:
    """Files of tracks that a purge removes: outputs with the text, and the side files of these
    streams, which the next command makes anew from the journal."""
    found = [path for path in outputs(workspace) if text and _holds(path, text.encode())]
    for stream in streams:
        for row in workspace.journal.views(worktree=workspace.root, stream=stream):
            history = os.path.join(os.path.dirname(target_of(workspace, row["path"])), HISTORY)
            if os.path.basename(row["path"]) == METADATA and os.path.isfile(history):
                found.append(history)
    return found


def _holds(path: str, wanted: bytes) -> bool:
    with open(path, "rb") as file:
        return wanted in file.read()
