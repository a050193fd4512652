"""Copies of checkpoints: the last ten of each agent, in `agent_checkpoints/backups/`, and archives.

A backup is called `agent_checkpoints/backups/secondary_a_20260115_143000.json`. Backups are not synced to
disk: after a power cut the journal still has their content, and a broken one is never restored.
"""

from __future__ import annotations

import os
from contextlib import suppress

from holdfast.fleet.rules.model import (
    BACKUPS,
    BACKUPS_KEPT,
    CHECKPOINTS,
    agent_of,
    backup_path,
    checkpoint_path,
    is_archive,
    is_backup,
    stem_of,
)
from holdfast.fleet.rules.updates import add_backup
from holdfast.kernel import canonical_json
from holdfast.kernel.clock import instant_of
from holdfast.kernel.errors import HoldfastError, from_os_error
from holdfast.kernel.plain_file import write_all
from holdfast.kernel.views.files import Unreadable, read_file, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.fleet.epic import Epic
    from holdfast.fleet.rules.model import AgentState

    # Name, time and content; None for a time or a content that it has not.
    Backup = tuple[str, int | None, dict[str, Any] | None]


def write(epic: Epic, agent: str, content: bytes, now: int) -> str:
    """Write a backup under the first free name; FLEET-77, FLEET-78. If a crash leaves half of one, no
    restore takes it."""
    copy = 1
    while True:
        name = backup_path(agent, now, copy)
        try:
            descriptor = epic.tree_file(name).create(make_folders=True)
            try:
                write_all(descriptor, content)
            finally:
                os.close(descriptor)
            return name
        except FileExistsError:
            copy += 1
        except OSError as error:
            raise from_os_error(error, "the backup of the checkpoint") from error


def renew(epic: Epic, state: AgentState, content: bytes, now: int) -> str:
    """Back up an agent's file, which was read as JSON, and remove its oldest backups. Return the file name of
    the new one."""
    name = os.path.basename(write(epic, state["agent"], content, now))
    prune(epic, state["agent"], add_backup(state.get("backups", []), name))
    return name


def listing(epic: Epic, agent: str, known: Sequence[str] = ()) -> list[str]:
    """All backups of an agent, the newest first. `known` are the last ones in the order of writing, which
    holds also when a clock was wrong. Others are ordered by the time inside, then by name; those without
    a time come last (AMB-FLEET-08)."""
    return [name for name, _, _ in _read_all(epic, agent, known)]


def prune(epic: Epic, agent: str, known: Sequence[str] = ()) -> None:
    """Keep an agent's newest ten backups, and remove its others; FLEET-79."""
    own = set(_own_names(epic, agent))
    if len(own) > BACKUPS_KEPT:
        order = [f"{BACKUPS}/{name}" for name in reversed(known) if name in own]
        if len(order) < len(own):
            order = listing(epic, agent, known)
        for name in order[BACKUPS_KEPT:]:
            epic.tree_file(name).remove_if_any()


def newest_valid(
    epic: Epic, agent: str, known: Sequence[str] = ()
) -> tuple[str, dict[str, Any]] | None:
    """The newest backup that can be restored: its name and its fields. AMB-FLEET-10"""
    found = _read_all(epic, agent, known)
    return next(((name, saved) for name, _, saved in found if saved is not None), None)


def work_began(epic: Epic, agent: str, current: int) -> int:
    """When the work began whose last checkpoint is of the time `current`: the earliest known time.
    AMB-FLEET-12"""
    return min([current, *(time for _, time, _ in _read_all(epic, agent) if time is not None)])


def _numbers_in(name: str, agent: str) -> tuple[str, str, int]:
    """Day, second and copy. As a number: the tenth copy of a second comes after its ninth."""
    day, second, *copy = name[len(stem_of(agent)) + 1 : -len(".json")].split("_")
    return day, second, int(copy[0]) if copy else 1


def _read_all(epic: Epic, agent: str, known: Sequence[str] = ()) -> list[Backup]:
    """All backups of an agent, the newest first."""
    found = []
    for file in _own_names(epic, agent):
        name = f"{BACKUPS}/{file}"
        try:
            checkpoint = _parse(read_file(epic.tree_file(name))[1])
        except FileNotFoundError:
            continue
        except (Unreadable, OSError):
            checkpoint = None
        time = instant_of((checkpoint or {}).get("last_checkpoint"))
        rank = (checkpoint is not None, time is not None, time or 0, *_numbers_in(file, agent))
        found.append((rank, file, (name, time, checkpoint)))
    found.sort(key=lambda ranked: ranked[0], reverse=True)
    positions = {name: position for position, name in enumerate(known)}
    written = [each for each in found if each[1] in positions]
    written.sort(key=lambda ranked: positions[ranked[1]], reverse=True)
    latest = max((time or 0 for _, _, (_, time, _) in written), default=0)
    # A backup of another program that is newer than all of ours is the newest.
    others = [each for each in found if each[1] not in positions]
    newer = [each for each in others if (each[2][1] or 0) > latest]
    older = [each for each in others if each not in newer]
    return [backup for _, _, backup in (*newer, *written, *older)]


def _parse(content: bytes) -> dict[str, Any] | None:
    try:
        value = canonical_json.loads(text_of(content))
    except (ValueError, Unreadable):
        return None
    return value if isinstance(value, dict) else None


def _own_names(epic: Epic, agent: str) -> list[str]:
    """The file names of an agent's backups."""
    prefix = f"{stem_of(agent)}_"
    return [
        name
        for name in epic.tree_file(BACKUPS).names_if_any()
        if name.startswith(prefix) and is_backup(name, agent)
    ]


def list_archives(epic: Epic, agent: str) -> list[str]:
    """The archives of an agent's checkpoint, by whichever program, the newest first; none while its file is there."""
    if epic.tree_file(checkpoint_path(agent)).status():
        return []
    kinds = [f"{stem_of(agent)}_{how}" for how in ("crashed", "aborted")]
    names = filter(is_archive, epic.tree_file(CHECKPOINTS).names_if_any())
    dated = [(kind, at) for kind, _, at in (name[:-5].rpartition("_") for name in names)]
    newest = sorted(dated, key=lambda one: int(one[1]), reverse=True)
    return [f"{CHECKPOINTS}/{kind}_{at}.json" for kind, at in newest if kind in kinds]


def list_archived(epic: Epic) -> list[tuple[str, str, str]]:
    """Return the crashed agents whose checkpoints are in an archive only: each with the newest archive, and the
    feature that it names."""
    found = []
    names = (name.partition("_crashed_") for name in epic.tree_file(CHECKPOINTS).names_if_any())
    for stem in sorted({stem for stem, crashed, _ in names if crashed}):
        path = next(iter(list_archives(epic, agent_of(stem))), "")
        saved = _read(epic, path) if "_crashed_" in path else None
        if saved and saved.get("status") != "COMPLETE":
            found.append((agent_of(stem), path, str(saved.get("feature", ""))))
    return found


def _read(epic: Epic, path: str) -> dict[str, Any] | None:
    """Return the fields of a checkpoint, None where it cannot be read."""
    try:
        return _parse(read_file(epic.tree_file(path))[1])
    except (HoldfastError, OSError, Unreadable):
        return None


def put_away(copy: Epic | None, agent: str, archive: str) -> None:
    """Rename the copy of a checkpoint in its agent's worktree, as the file itself was."""
    if copy is not None:
        with suppress(HoldfastError, OSError):
            if copy.tree_file(archive).status() is None:
                copy.tree_file(checkpoint_path(agent)).rename(copy.tree_file(archive))


def is_copy_of_archive(home: Epic, other: Epic, agent: str) -> bool:
    """Whether an agent's checkpoint in another worktree is of a session that was archived at the Epic Path."""
    saved = _read(other, checkpoint_path(agent)) or {}
    return bool(find_archive(home, agent, str(saved.get("session_id", ""))))


def find_archive(epic: Epic, agent: str, session: str) -> str:
    """The archive of a session whose checkpoint was renamed by hand; empty when there is none."""
    sessions = ((path, _read(epic, path)) for path in list_archives(epic, agent))
    return next(
        (path for path, saved in sessions if saved and saved.get("session_id") == session), ""
    )
