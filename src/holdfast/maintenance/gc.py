"""Retention: remove old records, and what crashes left behind."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, TypedDict

from holdfast import registry
from holdfast.git.repository import GitError
from holdfast.git.snapshot import prune
from holdfast.kernel import clock, config
from holdfast.kernel.commit import ATTEST, Order, commit
from holdfast.kernel.state import is_proven, load
from holdfast.kernel.streams import DECIDED, list_exact, list_unknown, open_writer, rules_of
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.asides import EDITED, SEEN, is_ours, list_asides, remove_empty_folders
from holdfast.maintenance.history import require_person
from holdfast.runner.folder import remove_old_outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.interface import Head, Journal
    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import Workspace


class Freed(TypedDict):
    """What `gc` removed and gave back. `also` is what features removed, in words."""

    records: int
    streams: int
    quarantined: int
    leftovers: int
    snapshots: int
    bytes: int
    also: list[str]


LEFTOVER_AGE = clock.DAY
# Refused attempts to change what people decided: they never go.
REFUSALS = "people:"


def collect(
    workspace: Workspace, now: int, *, dry_run: bool = False, decisions: bool = False
) -> Freed:
    """Remove old records and give space back. States are saved first, so they outlive their
    records. Records of gates, budgets and stops go only with `decisions`, which needs a person; those
    of refused attempts never go."""
    journal = workspace.journal
    settings = config.load(workspace, journal)
    oldest = now - settings["retention.days"] * clock.DAY
    before = clock.precise(oldest)
    keep = settings["retention.keep"]
    spared = (REFUSALS,) if decisions else DECIDED
    # What a missing feature wrote is kept: without its rules no state can be saved.
    spared += tuple(f"{kind}:" for kind in list_unknown(journal))
    spared += tuple(list_exact(journal))
    if dry_run:
        records, streams = _count_old(journal, before, keep, spared)
        nothing = dict.fromkeys(("quarantined", "leftovers", "snapshots", "bytes"), 0)
        also = _free(workspace, now, dry_run=True)
        return {"records": records, "streams": streams, **nothing, "also": also}  # type: ignore[typeddict-item]
    if decisions:
        purpose = "remove old records of what people decided"
        require_person(workspace, purpose, DECIDED, now=now)
        _attest(workspace, before, keep, now)
    with workspace.lock():
        for head in _old_heads(journal, before, keep, spared):
            rules = rules_of(head["stream"])
            if not is_proven(rules):
                state, _ = load(journal, rules, head["stream"])
                journal.snapshot(head["stream"], head["version"], state)
        collected = journal.collect(before=before, keep=keep, spared=spared)
        removed = quarantine.clear(workspace, now - settings["quarantine.days"] * clock.DAY)
        leftovers = _remove_leftovers(workspace, now)
        leftovers += remove_old_outputs(workspace, oldest)
        for copies in registry.parts("copies", registry.all_features):
            leftovers += copies.remove_old(workspace, oldest, now)
        freed = journal.compact()
    return {
        "records": collected["records"],
        "streams": collected["streams"],
        "quarantined": removed,
        "leftovers": leftovers,
        "snapshots": _prune_snapshots(workspace, int(settings["snapshot.keep"])),
        "bytes": freed,
        "also": _free(workspace, now, dry_run=False),
    }


def _free(workspace: Workspace, now: int, *, dry_run: bool) -> list[str]:
    """Let the features remove what else is old. Return what that frees, in words."""
    parts = registry.parts("copies", registry.all_features)
    return [said for copies in parts if (said := copies.free(workspace, now, dry_run=dry_run))]


def _old_heads(journal: Journal, before: str, keep: int, spared: tuple[str, ...]) -> Iterator[Head]:
    """Return the streams that lose records."""
    for head in journal.heads():
        if head["stream"].startswith(spared):
            continue
        first = journal.read(head["stream"], after=head["anchor_version"], limit=1)
        is_old = bool(first) and first[0]["at"] < before
        if is_old and head["version"] - head["anchor_version"] > keep:
            yield head


def _attest(workspace: Workspace, before: str, keep: int, now: int) -> None:
    """Keep the states of what people decided, each with its digest in the chain: a reader believes
    no other snapshot, and the records that it could fold go."""
    writer = open_writer(workspace)
    for head in list(_old_heads(workspace.journal, before, keep, (REFUSALS,))):
        if is_proven(rules_of(head["stream"])):
            commit(writer, [Order(head["stream"], ATTEST)], actor="holdfast", now=now)


def _prune_snapshots(workspace: Workspace, keep: int) -> int:
    """Remove old snapshots of this worktree; none outside of git."""
    if not workspace.git_dir:
        return 0
    try:
        return len(prune(workspace.root, keep))
    except GitError:
        return 0


def _count_old(
    journal: Journal, before: str, keep: int, spared: tuple[str, ...]
) -> tuple[int, int]:
    """Return how many records of how many streams are old."""
    records = streams = 0
    for head in _old_heads(journal, before, keep, spared):
        first, most = head["anchor_version"], head["version"] - keep
        found = journal.read(head["stream"], after=first, limit=most - first)
        records += sum(1 for _ in takewhile(lambda record: record["at"] < before, found))
        streams += 1
    return records, streams


def list_leftovers(workspace: Workspace, now: int) -> list[TreeFile]:
    """Return files of interrupted writes: no view knows them, and they are older than a day."""
    known = {row["placed"].split(":")[2] for row in workspace.journal.views() if row["placed"]}
    found = []
    for file in list_asides(workspace, workspace.root):
        ending = file.name.rpartition(".")[2]
        if ending in (EDITED, SEEN) or ending in known:
            continue
        status = file.status()
        if status and status.st_mtime * 1000 < now - LEFTOVER_AGE and is_ours(file):
            found.append(file)
    return found


def _remove_leftovers(workspace: Workspace, now: int) -> int:
    old = list_leftovers(workspace, now)
    for file in old:
        file.remove_if_any()
    remove_empty_folders(workspace)
    return len(old)
