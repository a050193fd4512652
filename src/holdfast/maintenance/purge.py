"""Erase a secret that was found too late, wherever holdfast keeps it.

Bodies, states, what waits and what was refused, what the tally keeps of transcripts, views, displaced
files, quarantine, a gate's pictures, and the copies that a restore made. Snapshots of the work tree
that hold it are dropped; git removes what they held at its next gc. Git history, backups, exports and
the clients' own transcripts belong to the user.
"""

from __future__ import annotations

import os

from holdfast.budgets.side_files import find_waypoints
from holdfast.fleet.backups import copies_holding
from holdfast.gates import pictures
from holdfast.journal import upkeep
from holdfast.journal.interface import find_record
from holdfast.kernel import canonical_json
from holdfast.kernel.commit import REPAIR, Order, commit, take_in
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import fold, load
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.files import target_of
from holdfast.kernel.views.projection import aside_of, stem_of
from holdfast.kernel.workspace import worktrees
from holdfast.loop import history as loop_history
from holdfast.session import observation
from holdfast.session.observe import names_in
from holdfast.session.rules.session import stream_of
from holdfast.streams import open_writer, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.journal.interface import Journal, Record
    from holdfast.kernel.workspace import Workspace

    class Purged(TypedDict):
        """What holds, or held, the secret."""

        records: list[str]
        streams: list[str]
        waiting: int
        files: list[str]
        snapshots: list[str]
        elsewhere: list[str]


MARK = "[purged]"
SHORTEST_TEXT = 4
SESSIONS = stream_of("")
SNAPSHOTS = "refs/holdfast/snapshots"


def find(workspace: Workspace, *, id: str = "", text: str = "", now: int) -> Purged:
    """What would be erased. Outside edits and queued commands are recorded first, so that they are
    found."""
    if not id and len(text) < SHORTEST_TEXT:
        raise Usage(f"The text to erase needs at least {SHORTEST_TEXT} characters.")
    writer = open_writer(workspace)
    take_in(writer, worktrees(workspace))
    journal = workspace.journal
    for stream in dict.fromkeys(row["stream"] for row in journal.views(worktree=workspace.root)):
        commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
    records = [find_record(journal, id)] if id else _records_with(journal, text)
    streams = {record["stream"] for record in records} | _states_with(journal, text)
    return {
        "records": [record["id"] for record in records],
        "streams": sorted(streams),
        "waiting": 0,
        "files": [
            *([*_quarantined_with(workspace, text), *_copies(workspace)] if records else []),
            *loop_history.holding(workspace, sorted(streams), text),
            *pictures.holding(workspace, sorted(streams)),
            *copies_holding(workspace, sorted(streams), text),
            *find_waypoints(workspace, sorted(streams), text),
        ],
        "snapshots": _snapshots_with(workspace, text) if text else [],
        "elsewhere": sorted(
            os.path.join(row["worktree"], row["path"])
            for row in journal.views()
            if row["stream"] in streams and row["worktree"] != workspace.root
        ),
    }


def erase(workspace: Workspace, found: Purged, *, text: str = "", actor: str, now: int) -> Purged:
    """Erase what `find` found, and leave a record of it."""
    journal = workspace.journal
    with workspace.lock():
        # The states first: once a body is gone, a state can no longer be made from it.
        states = {
            stream: _state_without(journal, stream, found["records"], text)
            for stream in found["streams"]
        }
        found["waiting"] = sum(journal.scrub(form, MARK) for form in _forms(text))
        found["waiting"] += observation.scrub(workspace, _forms(text), MARK)
        for session in _observed(journal, [] if text else found["records"]):
            observation.forget(workspace, session)
        journal.erase(found["records"])
        for stream, (version, state) in states.items():
            journal.snapshot(stream, version, state)
    writer = open_writer(workspace)
    for stream in found["streams"]:
        erased = sum(journal.find(id)[0]["stream"] == stream for id in found["records"])
        purged = Decision([("purged", {"records": erased})])
        commit(writer, [Order(stream, purged)], actor=actor, now=now)
    with workspace.lock():
        for path in [*found["files"], *_displaced(workspace, found["streams"])]:
            if os.path.lexists(path):
                os.unlink(path)
        _drop_snapshots(workspace, found["snapshots"])
        # Rewrites the file, so that the freed pages hold nothing any more.
        journal.compact(always=True)
        if workspace.url and os.path.exists(workspace.journal_path):
            _clean_spool(workspace, text)
    return found


def _clean_spool(workspace: Workspace, text: str) -> None:
    """Erase the text from the spool of this machine, too, and give its space back."""
    file = workspace.file()
    try:
        for form in _forms(text):
            file.scrub(form, MARK)
        file.compact(always=True)
    finally:
        file.close()


def _observed(journal: Journal, records: list[str]) -> set[str]:
    """The sessions of those records that say what was observed in a transcript."""
    found = [journal.find(id)[0] for id in records]
    return {record["stream"].partition(":")[2] for record in found if record["kind"] == "observed"}


def _forms(text: str) -> list[str]:
    """A text as it is, and on one line, as many parts of a session are kept."""
    return list(dict.fromkeys((text, " ".join(text.split())))) if text else []


def _spelled(text: str) -> list[str]:
    """The forms of a text as they stand inside a JSON string."""
    return [canonical_json.dumps(form)[1:-1] for form in _forms(text)]


def _stands_in(value: Any, spelled: list[str]) -> bool:
    written = canonical_json.dumps(value)
    return any(form in written for form in spelled)


def _parts(text: str) -> list[str]:
    """What an observation keeps of a text in its table of names, as it stands in JSON."""
    return [f"{canonical_json.dumps(name)}:[" for name in names_in(text)]


def _records_with(journal: Journal, text: str) -> list[Record]:
    found, last, spelled, parts = [], 0, _spelled(text), _parts(text)
    while batch := journal.since(last):
        found += [
            record
            for record in batch
            if _stands_in(record["body"], spelled)
            or (record["kind"] == "observed" and _stands_in(record["body"], parts))
        ]
        last = batch[-1]["seq"]
    return found


def _states_with(journal: Journal, text: str) -> set[str]:
    if not text:
        return set()
    spelled, parts = _spelled(text), _parts(text)
    found = set()
    for head in journal.heads():
        looked_for = [*spelled, *parts] if head["stream"].startswith(SESSIONS) else spelled
        if _stands_in(journal.load(head["stream"])["snapshot"], looked_for):
            found.add(head["stream"])
    return found


def _state_without(journal: Journal, stream: str, erased: list[str], text: str) -> tuple[int, Any]:
    subject = rules_of(stream)
    state, head = load(journal, subject, stream)
    version = head["version"] if head else 0
    if text:
        written = canonical_json.dumps(state)
        for form in _spelled(text):
            written = written.replace(form, MARK)
        clean = canonical_json.loads(written)
        if stream.startswith(SESSIONS) and clean.get("observed"):
            observation.drop_names(clean["observed"]["seen"], text)
        return version, clean
    if head is not None and head["anchor_version"] > 0:
        raise HoldfastError(
            f"{stream} cannot be made anew without that record: earlier ones were removed by `gc`.",
            hint="Erase the text itself instead: `holdfast purge --matching`.",
            kind="collected",
        )
    others = [record for record in journal.read(stream) if record["id"] not in erased]
    return version, fold(subject, subject.initial(stream), others)


def _quarantined_with(workspace: Workspace, text: str) -> list[str]:
    if not text:
        return []
    wanted, found = text.encode(), []
    for path in quarantine.listing(workspace):
        with open(path, "rb") as file:
            tail = b""
            while chunk := file.read(1 << 20):
                if wanted in tail + chunk:
                    found.append(path)
                    break
                tail = chunk[-len(wanted) :]
    return found


def _snapshots_with(workspace: Workspace, text: str) -> list[str]:
    """The refs of the snapshots that hold the text."""
    if not workspace.git_dir:
        return []
    from holdfast.git.errors import GitError
    from holdfast.git.repository import locate
    from holdfast.git.run import git

    try:
        top = locate(workspace.root).top
        refs = git(top, "for-each-ref", "--format=%(refname)", SNAPSHOTS).decode().split()
    except GitError:
        return []
    return [ref for ref in refs if _holds(top, ref, text)]


def _holds(top: str, ref: str, text: str) -> bool:
    """Whether a commit holds the text. Git searches single lines, so it gets the longest line, and
    the files that it names are read. The text goes to standard input: other programs can see the
    command line."""
    from holdfast.git.run import git, run

    longest = max(text.splitlines(), key=len, default="")
    words = ["grep", "-z", "--files-with-matches", "--fixed-strings", "-f", "-", ref]
    found = run(top, *words, input=longest.encode()).output
    return any(
        text.encode() in git(top, "cat-file", "blob", os.fsdecode(name))
        for name in found.split(b"\0")
        if name
    )


def _drop_snapshots(workspace: Workspace, refs: list[str]) -> None:
    from holdfast.git.run import git

    for ref in refs:
        git(workspace.root, "update-ref", "-d", ref)


def _copies(workspace: Workspace) -> list[str]:
    """The copies of the journal that `backup --restore` made."""
    return [
        os.path.join(workspace.home, name)
        for name in sorted(os.listdir(workspace.home))
        if name.startswith(upkeep.COPY_PREFIXES)
    ]


def _displaced(workspace: Workspace, streams: list[str]) -> list[str]:
    """Files that a projection displaced: old views, which still show the secret."""
    return [
        aside_of(stem_of(workspace, row["path"], target_of(workspace, row["path"])), row["placed"])
        for row in workspace.journal.views(worktree=workspace.root)
        if row["stream"] in streams and row["placed"]
    ]
