"""Erase a secret that was found too late, wherever holdfast keeps it.

A purge is one intent. It finds every copy first, writes down what it is about to erase, erases, looks
again, and names what is left and why. A purge that was killed is finished by the next one, or by
`holdfast doctor --fix`.

Copies are in records, states, the rows beside them, the tally of the transcripts, views, our folders
in the journal's home and in each worktree, files that protocols keep beside their views, and snapshots
of the work tree. Git history, backups, exports and the clients' own transcripts belong to the user.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, TypedDict

from holdfast.budgets.side_files import find_waypoints
from holdfast.fleet.backups import copies_holding
from holdfast.gates import pictures
from holdfast.git.repository import GitError, locate
from holdfast.git.run import git, run
from holdfast.git.shadow_index import LOCK, LOCK_SECONDS
from holdfast.git.snapshot import REFS
from holdfast.git.unreachable import find_objects, list_objects, remove_objects
from holdfast.journal import upkeep
from holdfast.journal.interface import ATTESTED, find_record
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import canonical_json, clock, failures
from holdfast.kernel.commit import REPAIR, Order, commit, take_in
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.plain_file import open_plain, read_plain, write_synced
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import PURGED, fold, load
from holdfast.kernel.text import quote
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.asides import DISPLACED, Asides, list_asides
from holdfast.kernel.views.asides import MARK as MARK_ASIDE
from holdfast.kernel.views.edits import is_quiet
from holdfast.kernel.views.files import file_at
from holdfast.kernel.workspace import TOOL_FOLDER, user_folder, worktrees
from holdfast.loop import history as loop_history
from holdfast.maintenance.backup import COMPLETE, UNFINISHED
from holdfast.maintenance.history import read_journal, require_person
from holdfast.maintenance.status import PURGE_FILE
from holdfast.rfc.init import is_title
from holdfast.rfc.rules.model import RFC_FILE
from holdfast.session import observation
from holdfast.session.mentions import names_in
from holdfast.session.rules.session import stream_of
from holdfast.streams import open_writer, rules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from holdfast.journal.interface import Journal, Record
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace


class Left(TypedDict):
    """A copy that a purge cannot erase, and why. `ours` says whether holdfast wrote it."""

    path: str
    why: str
    ours: bool


class Purged(TypedDict):
    """What holds, or held, the secret. `waiting` counts the rows beside the records: effects, refused
    writes, and what the tally kept of transcripts."""

    records: list[str]
    streams: list[str]
    waiting: int
    files: list[str]
    snapshots: list[str]
    left: list[Left]


MARK = "[purged]"
PURPOSE = "purge what people decided"
SHORTEST_TEXT = 4
SURE_TEXT = 12
SESSIONS = stream_of("")
# SQLite's own files: they are read and changed through SQLite alone.
DATABASES = ("journal.db", "usage.db")
LOST_MARK = "-mark.lost-"
# Copies of no other use: they go as a whole. Every other file of ours keeps the rest of its text.
WORTHLESS = (".refused", ".unfinished", ".edited")
# Files that protocols keep in the work tree and that holdfast wrote.
ARCHIVES = "agent_comms"
# Streams whose records are acts. An act stays when its text is erased: a gate without its answer
# would wait for ever.
SAYINGS = ("note:", SESSIONS)
# Fields that say what happened, and not what was said.
ACTS = frozenset(
    ["do", "kind", "verdict", "answer", "status", "state", "at", "id", "by", "name", "channel", "digest", "stream", "worktree", "session", "agent", "gate", "plan", "phase", "step", "task", "key", "version", "path", "level", "metric", "action", "how", "type"]
)  # fmt: skip
LARGEST_READ = 1 << 26


def find(workspace: Workspace, *, id: str = "", text: str = "", now: int) -> Purged:
    """What would be erased. Outside edits and queued commands are recorded first, so that they are
    found."""
    if not id and len(text) < SHORTEST_TEXT:
        raise Usage(f"The text to erase needs at least {SHORTEST_TEXT} characters.")
    take_in(open_writer(workspace), worktrees(workspace))
    for place in list_places(workspace):
        writer = open_writer(place)
        rows = place.journal.views(worktree=place.root)
        for stream in dict.fromkeys(row["stream"] for row in rows):
            commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
    return _look(workspace, id=id, text=text)


def _look(workspace: Workspace, *, id: str, text: str) -> Purged:
    journal = workspace.journal
    records = [find_record(journal, id)] if id else _records_with(journal, text)
    held = _states_with(journal, text) | (_named(journal, text) if text else set())
    streams = sorted({record["stream"] for record in records} | held)
    files = [
        *(_copies(workspace) if records else []),
        *loop_history.holding(workspace, streams, text),
        *pictures.holding(workspace, streams),
        *copies_holding(workspace, [head["stream"] for head in journal.heads("agent:")], text),
        *find_waypoints(workspace, streams, text),
        *(_files_with(workspace, text) if text else []),
        *(_titles_with(workspace, text) if text else []),
    ]
    return {
        "records": [record["id"] for record in records],
        "streams": streams,
        "waiting": 0,
        "files": list(dict.fromkeys(files)),
        "snapshots": _snapshots_with(workspace, text) if text else [],
        "left": [],
    }


def erase(
    workspace: Workspace,
    found: Purged,
    *,
    text: str = "",
    actor: str,
    now: int,
    person: Person | None = None,
) -> Purged:
    """Erase what `find` found, look again, and leave a record of it. Where it touches what people
    decided, only a person can."""
    require_person(workspace, PURPOSE, found["streams"], now=now, person=person)
    finish(workspace, now=now)
    objects = _objects_of(workspace, found["snapshots"])
    intent = {
        "text": text,
        "records": found["records"],
        "objects": objects,
        "actor": actor,
        "at": clock.stamp(now),
    }
    path = os.path.join(workspace.home, PURGE_FILE)
    write_synced(path, json.dumps(intent).encode())
    _carry_out(workspace, found, text=text, objects=objects, actor=actor, now=now)
    reached("before a purge is settled")
    os.unlink(path)
    return found


def finish(workspace: Workspace, *, now: int) -> bool:
    """Finish a purge that was killed; whether there was one."""
    intent = read_intent(workspace)
    if intent is None:
        return False
    text = intent["text"]
    if text:
        found = find(workspace, text=text, now=now)
    else:
        found = _look(workspace, id=intent["records"][0], text="")
    # A program could have written the file of the intent.
    require_person(workspace, PURPOSE, found["streams"], now=now)
    # Refs that were removed already no longer name what they held.
    objects = [*intent.get("objects", []), *_objects_of(workspace, found["snapshots"])]
    _carry_out(workspace, found, text=text, objects=objects, actor=intent["actor"], now=now)
    os.unlink(os.path.join(workspace.home, PURGE_FILE))
    return True


def read_intent(workspace: Workspace) -> dict[str, Any] | None:
    """What a purge that was killed was about to erase."""
    try:
        path = os.path.join(workspace.home, PURGE_FILE)
        intent: dict[str, Any] = json.loads(read_plain(path, LARGEST_READ))
    except (OSError, ValueError):
        return None
    return intent


def _carry_out(
    workspace: Workspace,
    found: Purged,
    *,
    text: str,
    objects: Sequence[str],
    actor: str,
    now: int,
) -> None:
    journal = workspace.journal
    began = time.time()
    with workspace.lock():
        # The states first: once a body is gone, a state can no longer be made from it.
        states = {
            stream: _state_without(journal, stream, found["records"], text)
            for stream in found["streams"]
        }
        found["waiting"] += _scrub_rows(workspace, text)
        for session in _observed(journal, [] if text else found["records"]):
            observation.forget(workspace, session)
    # The state as it is from now on, in the chain: no later reader makes another one of the rest.
    writer = open_writer(workspace)
    for stream, state in states.items():
        erased = sum(journal.find(id)[0]["stream"] == stream for id in found["records"])
        body = {"records": erased, "state": state}
        try:
            commit(
                writer,
                [Order(stream, Decision([(PURGED, body)]))],
                actor=_clean(actor, text),
                now=now,
            )
        except Conflict:  # an ended stream takes no record
            head = journal.head(stream)
            journal.snapshot(stream, head["version"] if head else 0, state)
    reached("after a purge is recorded")
    with workspace.lock():
        journal.erase([*found["records"], *list_attestations(journal, states)])
        for stream, state in states.items():
            head = journal.head(stream)
            if head is not None:
                journal.snapshot(stream, head["version"], state)
    reached("after bodies are erased")
    if text:
        _rename(workspace, text)
    for place in list_places(workspace):
        show_again(place, [_clean(stream, text) for stream in found["streams"]], text, now)
    with workspace.lock():
        _erase_files(workspace, found["files"], text)
        reached("after files are erased")
        if text:
            _erase_files(workspace, _files_with(workspace, text), text)
        for ref in found["snapshots"]:
            git(workspace.root, "update-ref", "-d", ref)
        reached("after snapshots are removed")
        if objects:
            _forget_indexes(workspace)
            with contextlib.suppress(GitError):
                remove_objects(locate(workspace.root), objects, before=began)
        # Rewrites the file, so that the freed pages hold nothing any more.
        journal.compact(always=True)
        if workspace.url and os.path.exists(workspace.journal_path):
            _clean_spool(workspace, text)
    if text:
        found["left"] += _what_is_left(workspace, text, objects)


# The journal


def list_attestations(journal: Journal, streams: Iterable[str]) -> list[str]:
    """The records with digests of earlier states: who guesses an erased text could try it on them."""
    return [
        record["id"]
        for stream in streams
        for record in journal.read(stream)
        if record["kind"] == ATTESTED
    ]


def _scrub_rows(workspace: Workspace, text: str) -> int:
    changed = sum(workspace.journal.scrub(form, MARK) for form in _forms(text))
    return changed + (observation.scrub(workspace, _forms(text), MARK) if text else 0)


def _rename(workspace: Workspace, text: str) -> None:
    """Take the text out of the names of streams, the actors and the ids: the parts of a record that
    the chain itself holds. Such a stream gets a new chain."""
    journal: Any = workspace.journal
    for stream in _named(journal, text):
        with workspace.lock():
            if isinstance(journal, SqliteJournal):
                upkeep.rename(journal, stream, text, MARK)
            else:
                journal.rename(stream, text, MARK)


def _named(journal: Journal, text: str) -> set[str]:
    """The streams with the text in their name, or in the id or the actor of a record."""
    found = {head["stream"] for head in journal.heads() if text in head["stream"]}
    records = read_journal(journal)
    return found | {one["stream"] for one in records if text in one["actor"] or text in one["id"]}


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
    """The clients' sessions of those records that say what was observed in a transcript."""
    found = [record for id in records if (record := journal.find(id)[0])["kind"] == "observed"]
    return {
        str((record["body"] or {}).get("session") or record["stream"].partition(":")[2])
        for record in found
    }


def _forms(text: str) -> list[str]:
    """A text as it is, and on one line, as many parts of a session are kept."""
    return list(dict.fromkeys((text, " ".join(text.split())))) if text else []


def _spelled(text: str) -> list[str]:
    """The forms of a text as they stand inside a JSON string."""
    return [canonical_json.dumps(form)[1:-1] for form in _forms(text)]


def _bytes_of(text: str) -> list[bytes]:
    """The forms of a text as they stand in files; those of a JSON string come first."""
    return [form.encode() for form in dict.fromkeys([*_spelled(text), *_forms(text)])]


def _clean(name: str, text: str) -> str:
    return name.replace(text, MARK) if text else name


def _stands_in(value: Any, spelled: list[str]) -> bool:
    written = canonical_json.dumps(value)
    return any(form in written for form in spelled)


def _parts(text: str) -> list[str]:
    """What an observation keeps of a text in its table of names, as it stands in JSON."""
    return [f"{canonical_json.dumps(name)}:[" for name in names_in(text)]


def _records_with(journal: Journal, text: str) -> list[Record]:
    spelled, parts = _spelled(text), _parts(text)
    return [
        record
        for record in read_journal(journal)
        if _stands_in(record["body"], spelled)
        or (record["kind"] == "observed" and _stands_in(record["body"], parts))
    ]


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


def _state_without(journal: Journal, stream: str, erased: list[str], text: str) -> Any:
    """The state as it is without the text, or without what the erased records say."""
    subject = rules_of(stream)
    state, head = load(journal, subject, stream)
    if text:
        written = canonical_json.dumps(state)
        for form in _spelled(text):
            written = written.replace(form, MARK)
        clean = canonical_json.loads(written)
        if stream.startswith(SESSIONS) and clean.get("observed"):
            observation.drop_names(clean["observed"]["seen"], text)
        return clean
    is_whole = head is None or head["anchor_version"] == 0
    if is_whole and stream.startswith(SAYINGS):
        others = [record for record in journal.read(stream) if record["id"] not in erased]
        return fold(subject, subject.initial(stream), others)
    said = {leaf for id in erased for leaf in _texts_in(journal.find(id)[0]["body"])}
    return _unsaid(state, said)


def _texts_in(value: Any) -> Iterator[str]:
    """What a body says in words; its acts are left out."""
    if isinstance(value, str) and len(value) >= SHORTEST_TEXT:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not (name in ACTS and isinstance(item, str)):
                yield from _texts_in(item)


def _unsaid(value: Any, said: set[str]) -> Any:
    """A state without what was said. A short word is replaced only where it stands alone."""
    if isinstance(value, str):
        for one in said:
            if value == one or len(one) >= SURE_TEXT:
                value = value.replace(one, MARK)
        return value
    if isinstance(value, list):
        return [_unsaid(item, said) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name in ACTS and isinstance(item, str) else _unsaid(item, said)
            for name, item in value.items()
        }
    return value


# Files


def list_places(workspace: Workspace) -> list[Workspace]:
    """This workspace, seen from each of its worktrees."""
    others = [root for root in worktrees(workspace) if root != workspace.root]
    return [workspace, *(workspace.at(root) for root in others if os.access(root, os.W_OK))]


def show_again(place: Workspace, streams: Sequence[str], text: str, now: int) -> None:
    """Write the views of these streams as they are now, and remove those whose path holds the text."""
    journal, writer = place.journal, open_writer(place)
    rows = journal.views(worktree=place.root)
    for row in rows:
        if text and text in row["path"]:
            target = file_at(place, row["path"])
            if target.status() is not None:
                target.remove()
            _remove_empty(target)
    if text and isinstance(journal, SqliteJournal):
        upkeep.forget_views(journal, text)
    elif text:
        journal.forget_views(text)  # type: ignore[attr-defined]
    for stream in dict.fromkeys(row["stream"] for row in journal.views(worktree=place.root)):
        if stream in streams:
            commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
    for row in journal.views(worktree=place.root):
        if row["stream"] in streams and row["placed"]:
            _remove_displaced(Asides(place, row["path"]), row["placed"])
    if place.root != writer.workspace.root:
        place.close()


def _remove_displaced(asides: Asides, placed: str) -> None:
    """Remove what the last write of a view displaced: it holds what is purged. An editor that has it open may
    still write to it, and keeps it."""
    displaced = asides.displaced(placed)
    if displaced is not None and is_quiet(displaced):
        displaced.remove_if_any()


def _remove_empty(file: TreeFile) -> None:
    """Remove the folders that a removed file leaves empty."""
    parts = file.path.split("/")[:-1]
    while parts:
        TreeFile(file.root, "/".join(parts)).remove_folder()
        parts.pop()


def _files_with(workspace: Workspace, text: str) -> list[str]:
    """Every file of ours that holds the text: in the journal's home, in the folders of the worktrees,
    among the archives, and in the user's own folder. Views are not among them."""
    wanted = _bytes_of(text)
    return [
        path
        for path in list_our_files(workspace)
        if any(form in os.fsencode(os.path.basename(path)) for form in wanted)
        or _holds(path, wanted)
        or (os.path.basename(path) == failures.NAME and _clean_failures(path, text) is not None)
    ]


def _titles_with(workspace: Workspace, text: str) -> list[str]:
    """The RFCs whose title, which `rfc init` wrote, holds the text."""
    wanted = _bytes_of(text)
    return [
        path
        for path in _files_beside_views(workspace)
        if os.path.basename(path) == RFC_FILE
        and _holds(path, wanted)
        and _clean_title(path, wanted) is not None
    ]


def _clean_title(path: str, wanted: list[bytes]) -> bytes | None:
    """An RFC with the text taken out of its title, or nothing if the title does not hold it. The rest of
    the file is its author's."""
    lines = read_plain(path, LARGEST_READ).splitlines(keepends=True)
    for number, line in enumerate(lines):
        if is_title(line.decode(errors="replace")) and any(form in line for form in wanted):
            for form in wanted:
                lines[number] = lines[number].replace(form, MARK.encode())
            return b"".join(lines)
    return None


def _clean_failures(path: str, text: str) -> bytes | None:
    """The failures of hooks without those that speak of the text, or nothing if none does.

    A failure quotes what it met, spelled and cut by others, so letters and digits alone are compared, and
    the end of a long reason with the beginning of the text.
    """
    said = _letters(text)
    try:
        lines = read_plain(path, LARGEST_READ).splitlines(keepends=True)
    except OSError:
        return None
    kept = []
    for line in lines:
        try:
            reason = str(json.loads(line)["reason"])
        except (ValueError, KeyError, TypeError):
            reason = line.decode(errors="replace")
        is_cut = len(reason) >= failures.LONGEST_REASON
        letters = _letters(reason)
        starts = [said[:length] for length in range(SHORTEST_TEXT, len(said))]
        if said not in letters and not (is_cut and letters.endswith(tuple(starts))):
            kept.append(line)
    return b"".join(kept) if len(kept) < len(lines) else None


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum()) or text


def list_our_files(workspace: Workspace) -> Iterator[str]:
    folders = [workspace.home, user_folder()]
    for root in worktrees(workspace):
        tree = workspace.at(root)
        folders += [tree.private, tree.tool_folder]
        folders += [top for top, names, _ in _walk(root) if os.path.basename(top) == ARCHIVES]
    seen = set()
    for root in worktrees(workspace):
        for file in list_asides(workspace, root):
            if file.root == root and file.is_file():
                seen.add(str(file))
                yield str(file)
    views = {os.path.join(row["worktree"], row["path"]) for row in workspace.journal.views()}
    for folder in folders:
        for top, _, names in _walk(folder):
            for name in names:
                path = os.path.join(top, name)
                is_database = name.startswith(DATABASES) and top == workspace.home
                # The list of lost records is a file of lines, which no database holds.
                is_database = is_database and LOST_MARK not in name
                if (
                    path not in seen
                    and path not in views
                    and not is_database
                    and name != PURGE_FILE
                ):
                    seen.add(path)
                    yield path


def _walk(folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Through a folder, but neither into a repository's own files nor through links."""
    for top, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in (".git", "node_modules", ".venv")]
        yield top, names, files


def _holds(path: str, wanted: list[bytes]) -> bool:
    """Whether a regular file holds one of the texts, also across the borders of what is read."""
    longest = max(map(len, wanted))
    try:
        descriptor = open_plain(path)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        tail = b""
        while chunk := file.read(1 << 20):
            if any(form in tail + chunk for form in wanted):
                return True
            tail = chunk[-longest:]
    return False


def _erase_files(workspace: Workspace, paths: Sequence[str], text: str) -> None:
    """Remove what is a copy as a whole; in every other file of ours, replace the text."""
    wanted = _bytes_of(text)
    for path in paths:
        if not os.path.lexists(path):
            continue
        clean = None
        if text and os.path.basename(path) == failures.NAME:
            clean = _clean_failures(path, text)
        elif text and os.path.basename(path) == RFC_FILE:
            clean = _clean_title(path, wanted)
        if clean is not None:
            write_synced(path, clean, os.stat(path).st_mode & 0o777)
            continue
        is_named = bool(text) and text in os.path.basename(path)
        if _is_copy(workspace, path) or is_named or not (text and _holds(path, wanted)):
            os.unlink(path)
            continue
        content = read_plain(path, os.stat(path).st_size + LARGEST_READ)
        for form in wanted:
            content = content.replace(form, MARK.encode())
        write_synced(path, content, os.stat(path).st_mode & 0o777)


def _is_copy(workspace: Workspace, path: str) -> bool:
    """Whether a file is of no use without the text: what was set aside, staged, refused or copied."""
    name, folder = os.path.basename(path), os.path.dirname(path)
    if name.endswith(WORTHLESS) or name.startswith((*upkeep.COPY_PREFIXES, UNFINISHED, COMPLETE)):
        return True
    tool_folder, last = os.path.split(folder)
    is_aside = os.path.basename(tool_folder) == TOOL_FOLDER and last in ("views", "inbox")
    is_aside = is_aside or MARK_ASIDE in name
    is_displaced = os.path.dirname(folder) == os.path.join(workspace.home, DISPLACED)
    # An index of snapshots has a digest of its own, and is made again without it.
    is_copy = is_aside or is_displaced or folder == workspace.quarantine
    return is_copy or last.startswith("index-")


def _what_is_left(workspace: Workspace, text: str, objects: Sequence[str]) -> list[Left]:
    """Look again, at everything."""
    again = _look(workspace, id="", text=text)
    left: list[Left] = [
        {
            "path": stream,
            "why": "another process wrote it again while it was erased",
            "ours": True,
        }
        for stream in again["streams"]
    ]
    for path in again["files"]:
        left.append({"path": path, "why": "it was written again while it was erased", "ours": True})
    wanted = _bytes_of(text)
    for row in workspace.journal.views():
        path = os.path.join(row["worktree"], row["path"])
        if _holds(path, wanted):
            why = "the file could not be written, or holds it in a part that is yours"
            left.append({"path": path, "why": why, "ours": True})
    for path in _files_beside_views(workspace):
        if _holds(path, wanted):
            left.append({"path": path, "why": "it is a file of yours", "ours": False})
    return [*left, *_objects_left(workspace, objects, wanted)]


def _files_beside_views(workspace: Workspace) -> list[str]:
    """The other files in the folders of the views, such as an RFC beside its reasoning."""
    views = [os.path.join(row["worktree"], row["path"]) for row in workspace.journal.views()]
    ours = {*views, *list_our_files(workspace)}
    folders = dict.fromkeys(os.path.dirname(path) for path in views)
    found = []
    for folder in folders:
        with contextlib.suppress(OSError):
            paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
            found += [path for path in paths if path not in ours and os.path.isfile(path)]
    return found


# Snapshots of the work tree


def _snapshots_with(workspace: Workspace, text: str) -> list[str]:
    """The refs of the snapshots that hold the text."""
    if not workspace.git_dir:
        return []
    try:
        top = locate(workspace.root).top
        refs = git(top, "for-each-ref", "--format=%(refname)", REFS).decode().split()
    except GitError:
        return []
    return [ref for ref in refs if _commit_holds(top, ref, text)]


def _commit_holds(top: str, ref: str, text: str) -> bool:
    """Whether a commit holds the text, in a file, in the name of one, or in what it says of itself. Git
    searches single lines, so it gets the longest line, and the files that it names are read. The text goes
    to standard input: other programs can see the command line."""
    wanted = _bytes_of(text)
    named = git(top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", ref)
    said = git(top, "cat-file", "commit", ref)
    if any(form in named or form in said for form in wanted):
        return True
    for form in wanted:
        longest = max(form.splitlines(), key=len, default=b"")
        words = ["grep", "-z", "--files-with-matches", "--fixed-strings", "-f", "-", ref]
        for name in run(top, *words, input=longest).output.split(b"\0"):
            if name and form in git(top, "cat-file", "blob", os.fsdecode(name)):
                return True
    return False


def _objects_of(workspace: Workspace, refs: Sequence[str]) -> list[str]:
    """The objects of git that these snapshots hold."""
    return sorted(list_objects(locate(workspace.root), refs)) if refs else []


def _forget_indexes(workspace: Workspace) -> None:
    """Remove the indexes from which snapshots go on: they name objects that are about to go."""
    for name in sorted(os.listdir(workspace.home)):
        folder = os.path.join(workspace.home, name)
        if not name.startswith("index-") or not os.path.isdir(folder):
            continue
        with WorkspaceLock(folder, LOCK_SECONDS):
            for file in os.listdir(folder):
                if file != LOCK:
                    os.unlink(os.path.join(folder, file))


def _objects_left(workspace: Workspace, objects: Sequence[str], wanted: list[bytes]) -> list[Left]:
    """The objects of git that hold the text and that nothing reaches any more."""
    if not workspace.git_dir:
        return []
    try:
        place = locate(workspace.root)
        found = find_objects(place, objects, wanted)
    except GitError:
        return []
    why = {
        True: "a packed object of a removed snapshot; git removes it two weeks after it packs again",
        False: "an object of git that no commit or snapshot reaches; git removes it after two weeks",
    }
    return [
        {"path": f"git object {quote(name)}", "why": why[name in objects], "ours": False}
        for name in found
    ]


def _copies(workspace: Workspace) -> list[str]:
    """The copies of the journal that `backup --restore` and a salvage made."""
    return [
        os.path.join(workspace.home, name)
        for name in sorted(os.listdir(workspace.home))
        if name.startswith(upkeep.COPY_PREFIXES)
    ]
