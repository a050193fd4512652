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

from holdfast import registry
from holdfast.journal import upkeep
from holdfast.journal.interface import ATTESTED, find_record
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import canonical_json, clock, failures
from holdfast.kernel.commit import REPAIR, Order, commit, take_in
from holdfast.kernel.crash import reached
from holdfast.kernel.erased_text import MARK, is_in_file, list_bytes, list_forms, list_spelled
from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.places import PlaceFinder
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import PURGED, fold, load
from holdfast.kernel.streams import is_known, open_writer, rules_of
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.asides import Asides, list_asides
from holdfast.kernel.views.edits import is_quiet
from holdfast.kernel.views.files import file_at
from holdfast.kernel.workspace import user_folder, worktrees
from holdfast.maintenance import purge_snapshots
from holdfast.maintenance.history import read_journal, require_person
from holdfast.maintenance.status import PURGE_FILE
from holdfast.observe.mentions import names_in
from holdfast.observe.story import pieces_of
from holdfast.session import observation
from holdfast.session.rules.session import stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from holdfast.journal.interface import Journal, Record
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.parts import Copies

    Cleaner = Callable[[str, list[bytes]], bytes | None]


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


PURPOSE = "purge what people decided"
SESSIONS = stream_of("")
SHORTEST_TEXT = 4
SURE_TEXT = 12
# Fields that say what happened, and not what was said.
ACTS = frozenset(
    ["do", "kind", "verdict", "answer", "status", "state", "at", "id", "by", "name", "channel", "digest", "stream", "worktree", "session", "agent", "gate", "plan", "phase", "step", "task", "key", "version", "path", "level", "metric", "action", "how", "type"]
)  # fmt: skip
LARGEST_READ = 1 << 26


def find(workspace: Workspace, *, id: str = "", text: str = "", now: int) -> Purged:
    """Return what would be erased. Outside edits and queued commands are recorded first, so that they are
    found."""
    if not id and len(text) < SHORTEST_TEXT:
        raise Usage(f"The text to erase needs at least {SHORTEST_TEXT} characters.")
    take_in(open_writer(workspace), worktrees(workspace))
    for place in list_places(workspace):
        writer = open_writer(place)
        rows = place.journal.views(worktree=place.root)
        for stream in dict.fromkeys(row["stream"] for row in rows if is_known(row["stream"])):
            commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
    return _look(workspace, id=id, text=text)


def _look(workspace: Workspace, *, id: str, text: str) -> Purged:
    journal = workspace.journal
    records = [find_record(journal, id)] if id else _records_with(workspace, text)
    held = _states_with(journal, text) | (_named(journal, text) if text else set())
    found = {record["stream"] for record in records} | held
    streams = sorted(filter(is_known, found))
    files = _copies(workspace) if records else []
    for copies in _all_copies():
        files += copies.find(workspace, streams, text)
    files += [*_files_with(workspace, text), *_mixed_with(workspace, text)] if text else []
    return {
        "records": [record["id"] for record in records if is_known(record["stream"])],
        "streams": streams,
        "waiting": 0,
        "files": list(dict.fromkeys(files)),
        "snapshots": purge_snapshots.find(workspace, text) if text else [],
        "left": [
            _leave(one, f"a stream of {one.partition(':')[0]}, which this holdfast does not know")
            for one in sorted(found.difference(streams))
        ],
    }


def _leave(path: str, why: str, *, ours: bool = True) -> Left:
    return {"path": path, "why": why, "ours": ours}


def _all_copies() -> Iterator[Copies]:
    return registry.parts("copies", registry.all_features)


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
    objects = purge_snapshots.objects_of(workspace, found["snapshots"])
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
    """Finish a purge that was killed. Return whether there was one."""
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
    objects = [
        *intent.get("objects", []),
        *purge_snapshots.objects_of(workspace, found["snapshots"]),
    ]
    _carry_out(workspace, found, text=text, objects=objects, actor=intent["actor"], now=now)
    os.unlink(os.path.join(workspace.home, PURGE_FILE))
    return True


def read_intent(workspace: Workspace) -> dict[str, Any] | None:
    """Return what a purge that was killed was about to erase."""
    try:
        path = os.path.join(workspace.home, PURGE_FILE)
        intent: dict[str, Any] = json.loads(read_plain(path, LARGEST_READ))
    except (OSError, ValueError):
        return None
    return intent


def _carry_out(
    workspace: Workspace, found: Purged, *, text: str, objects: Sequence[str], actor: str, now: int
) -> None:
    journal = workspace.journal
    began = time.time()
    with workspace.lock():
        # The states first: once a body is gone, a state can no longer be made from it.
        states = {
            stream: _state_without(journal, stream, found["records"], text)
            for stream in found["streams"]
        }
        forms = list_forms(text)
        found["waiting"] += sum(journal.scrub(form, MARK) for form in forms)
        found["waiting"] += observation.scrub(workspace, forms, MARK) if text else 0
        for session in _observed(journal, [] if text else found["records"]):
            observation.forget(workspace, session)
    for stream, state in states.items():
        erased = sum(journal.find(id)[0]["stream"] == stream for id in found["records"])
        record_state(workspace, stream, state, erased, actor=_clean(actor, text), now=now)
    reached("after a purge is recorded")
    with workspace.lock():
        erase_bodies(journal, found["records"], states)
    reached("after bodies are erased")
    if text:
        _rename(workspace, text)
    for place in list_places(workspace):
        show_again(place, [_clean(stream, text) for stream in found["streams"]], text, now)
    with workspace.lock():
        _erase_files(workspace, found["files"], text)
        reached("after files are erased")
        if text:
            again = [*_files_with(workspace, text), *_mixed_with(workspace, text)]
            _erase_files(workspace, again, text)
        purge_snapshots.erase(workspace, found["snapshots"], objects, began=began)
        # Rewrites the file, so that the freed pages hold nothing any more.
        journal.compact(always=True)
        if workspace.url and os.path.exists(workspace.journal_path):
            _clean_spool(workspace, text)
    if text:
        found["left"] = _what_is_left(workspace, text, objects)


# The journal


def record_state(
    workspace: Workspace, stream: str, state: Any, erased: int, *, actor: str, now: int
) -> None:
    """Record the state as it is from now on in the chain: no later reader makes another one of the rest."""
    order = Order(stream, Decision([(PURGED, {"records": erased, "state": state})]))
    try:
        commit(open_writer(workspace), [order], actor=actor, now=now)
    except Conflict:  # an ended stream takes no record
        _keep_state(workspace.journal, stream, state)


def erase_bodies(journal: Journal, ids: Iterable[str], states: Mapping[str, Any]) -> None:
    """Erase what records say, with the digests of earlier states: who guesses an erased text could try it on
    them. The states of the streams become these."""
    attested = [
        record["id"]
        for stream in states
        for record in journal.read(stream)
        if record["kind"] == ATTESTED
    ]
    journal.erase([*ids, *attested])
    for stream, state in states.items():
        _keep_state(journal, stream, state)


def _keep_state(journal: Journal, stream: str, state: Any) -> None:
    head = journal.head(stream)
    journal.snapshot(stream, head["version"] if head else 0, state)


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
    """Return the streams with the text in their name, or in the id or the actor of a record."""
    found = {head["stream"] for head in journal.heads() if text in head["stream"]}
    records = read_journal(journal)
    return found | {one["stream"] for one in records if text in one["actor"] or text in one["id"]}


def _clean_spool(workspace: Workspace, text: str) -> None:
    """Erase the text from the spool of this machine, too, and give its space back."""
    file = workspace.file()
    try:
        for form in list_forms(text):
            file.scrub(form, MARK)
        file.compact(always=True)
    finally:
        file.close()


def _observed(journal: Journal, records: list[str]) -> set[str]:
    """Return the clients' sessions of those records that say what was observed in a transcript."""
    found = [record for id in records if (record := journal.find(id)[0])["kind"] == "observed"]
    return {
        str((record["body"] or {}).get("session") or record["stream"].partition(":")[2])
        for record in found
    }


def _clean(name: str, text: str) -> str:
    return name.replace(text, MARK) if text else name


def _is_in(value: Any, spelled: list[str]) -> bool:
    written = canonical_json.dumps(value)
    return any(form in written for form in spelled)


def _parts(text: str) -> list[str]:
    """Return what an observation keeps of a text in its table of names and its story, as JSON."""
    names = [f"{canonical_json.dumps(name)}:[" for name in names_in(text)]
    return [*names, *(canonical_json.dumps(piece)[1:-1] for piece in pieces_of(text))]


def _records_with(workspace: Workspace, text: str) -> list[Record]:
    journal = workspace.journal
    spelled, parts = list_spelled(text), _parts(text)
    packed = {id for copies in _all_copies() for id in copies.find_records(workspace, text)}
    return [
        record
        for record in read_journal(journal)
        if record["id"] in packed
        or _is_in(record["body"], spelled)
        or (record["kind"] == "observed" and _is_in(record["body"], parts))
    ]


def _states_with(journal: Journal, text: str) -> set[str]:
    if not text:
        return set()
    spelled, parts = list_spelled(text), _parts(text)
    found = set()
    for head in journal.heads():
        looked_for = [*spelled, *parts] if head["stream"].startswith(SESSIONS) else spelled
        if _is_in(journal.load(head["stream"])["snapshot"], looked_for):
            found.add(head["stream"])
    return found


def _state_without(journal: Journal, stream: str, erased: list[str], text: str) -> Any:
    """Return the state without the text, or without what the erased records say."""
    subject = rules_of(stream)
    state, head = load(journal, subject, stream)
    if text:
        written = canonical_json.dumps(state)
        for form in list_spelled(text):
            written = written.replace(form, MARK)
        clean = canonical_json.loads(written)
        if stream.startswith(SESSIONS) and clean.get("observed"):
            observation.drop_parts(clean["observed"]["seen"], text)
        return clean
    is_whole = head is None or head["anchor_version"] == 0
    kind = registry.kind_of(stream)
    if is_whole and kind is not None and kind.is_said:
        others = [record for record in journal.read(stream) if record["id"] not in erased]
        return fold(subject, subject.initial(stream), others)
    said = {leaf for id in erased for leaf in _texts_in(journal.find(id)[0]["body"])}
    return _unsaid(state, said)


def _texts_in(value: Any) -> Iterator[str]:
    """Return what a body says in words; its acts are left out."""
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
    """Return a state without what was said. A short word is replaced only where it stands alone."""
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
    """Return this workspace, seen from each of its worktrees."""
    others = [root for root in worktrees(workspace) if root != workspace.root]
    return [workspace, *(workspace.at(root) for root in others if os.access(root, os.W_OK))]


def show_again(place: Workspace, streams: Sequence[str], text: str, now: int) -> None:
    """Write the views of these streams as they are now, and remove those whose path holds the text."""
    journal, writer = place.journal, open_writer(place)
    rows = journal.views(worktree=place.root)
    named = [file_at(place, row["path"]) for row in rows if text and text in row["path"]]
    for target in named:
        if target.status() is not None:
            target.remove()
        _remove_empty(target)
    for target in named:
        _rename_folder(target, text)
    if text and isinstance(journal, SqliteJournal):
        upkeep.forget_views(journal, text)
    elif text:
        journal.forget_views(text)  # type: ignore[attr-defined]
    for stream in dict.fromkeys(row["stream"] for row in journal.views(worktree=place.root)):
        if stream in streams:
            commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
    for row in journal.views(worktree=place.root):
        if row["stream"] in streams and row["placed"]:
            # What the last write displaced holds what is purged. An editor that has it open may still write to it.
            displaced = Asides(place, row["path"]).displaced(row["placed"])
            if displaced is not None and is_quiet(displaced):
                displaced.remove_if_any()
    if place.root != writer.workspace.root:
        place.close()


def _remove_empty(file: TreeFile) -> None:
    """Remove the folders that a removed file leaves empty."""
    parts = file.path.split("/")[:-1]
    while parts:
        TreeFile(file.root, "/".join(parts)).remove_folder()
        parts.pop()


def _rename_folder(file: TreeFile, text: str) -> None:
    """Take the text out of the name of a removed view's folder that other files keep, such as the folder of an RFC."""
    parts = file.path.split("/")[:-1]
    for depth, name in enumerate(parts):
        if text in name:
            folder = TreeFile(file.root, "/".join(parts[: depth + 1]))
            renamed = folder.beside(name.replace(text, MARK))
            with contextlib.suppress(OSError):
                if renamed.status() is None:
                    folder.rename(renamed)
                    return
                for one in folder.names():  # the views stand in the new folder already
                    if renamed.below(one).status() is None:
                        folder.below(one).rename(renamed.below(one))
                folder.remove_folder()
            return


def _files_with(workspace: Workspace, text: str) -> list[str]:
    """Return every file of Holdfast that holds the text: in the journal's home, in the folders of the worktrees,
    among the archives, and in the user's own folder. Views are not among them."""
    wanted = list_bytes(text)
    return [
        path
        for path in list_our_files(workspace)
        if any(form in os.fsencode(os.path.basename(path)) for form in wanted)
        or is_in_file(path, wanted)
        or (os.path.basename(path) == failures.NAME and _clean_failures(path, text) is not None)
    ]


def _mixed_with(workspace: Workspace, text: str) -> list[str]:
    """Return the files beside views that their author may have changed, where Holdfast's part holds the text."""
    wanted, cleaners = list_bytes(text), _list_cleaners()
    return [
        path
        for path in _files_beside_views(workspace)
        if (clean := cleaners.get(os.path.basename(path))) is not None
        and is_in_file(path, wanted)
        and clean(path, wanted) is not None
    ]


def _list_cleaners() -> dict[str, Cleaner]:
    return {name: clean for copies in _all_copies() for name, clean in copies.clean.items()}


def _clean_failures(path: str, text: str) -> bytes | None:
    """Return the failures of hooks without those that speak of the text, or nothing if none does.

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
    archives = {name for copies in _all_copies() for name in copies.archives}
    folders = [workspace.home, user_folder()]
    for root in worktrees(workspace):
        tree = workspace.at(root)
        folders += [tree.private, tree.tool_folder]
        folders += [top for top, names, _ in _walk(root) if os.path.basename(top) in archives]
    seen = set()
    for root in worktrees(workspace):
        for file in list_asides(workspace, root):
            if file.root == root and file.is_file():
                seen.add(str(file))
                yield str(file)
    views = set(_list_views(workspace))
    places = PlaceFinder(workspace)
    for folder in folders:
        for top, _, names in _walk(folder):
            for path in (os.path.join(top, name) for name in names):
                place = places.find(path)
                is_journals = place is not None and place.erasure == "journal"
                if path not in seen and path not in views and not is_journals:
                    seen.add(path)
                    yield path


def _walk(folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk through a folder, but neither into a repository's own files nor through links."""
    for top, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in (".git", "node_modules", ".venv")]
        yield top, names, files


def _erase_files(workspace: Workspace, paths: Sequence[str], text: str) -> None:
    """Remove what is a copy as a whole; in every other file of Holdfast, replace the text."""
    wanted, cleaners, places = list_bytes(text), _list_cleaners(), PlaceFinder(workspace)
    for path in paths:
        name = os.path.basename(path)
        if not os.path.lexists(path):
            continue
        clean = None
        if text and name == failures.NAME:
            clean = _clean_failures(path, text)
        elif text and name in cleaners:
            clean = cleaners[name](path, wanted)
        if clean is not None:
            write_synced(path, clean, os.stat(path).st_mode & 0o777)
            continue
        is_named = bool(text) and text in name
        place = places.find(path)
        is_copy = place is not None and place.erasure == "file"
        if is_copy or is_named or not (text and is_in_file(path, wanted)):
            os.unlink(path)
            continue
        content = read_plain(path, os.stat(path).st_size + LARGEST_READ)
        for form in wanted:
            content = content.replace(form, MARK.encode())
        write_synced(path, content, os.stat(path).st_mode & 0o777)


def _what_is_left(workspace: Workspace, text: str, objects: Sequence[str]) -> list[Left]:
    """Look again, at everything, and return what is left."""
    again = _look(workspace, id="", text=text)
    left = again["left"]
    again_written = "another process wrote it again while it was erased"
    left += [_leave(stream, again_written) for stream in again["streams"]]
    left += [_leave(path, "it was written again while it was erased") for path in again["files"]]
    wanted = list_bytes(text)
    mixed = "the file could not be written, or holds it in a part that is yours"
    views = [path for path in _list_views(workspace) if is_in_file(path, wanted)]
    beside = [path for path in _files_beside_views(workspace) if is_in_file(path, wanted)]
    objects_left = purge_snapshots.find_left(workspace, objects, wanted)
    left += [_leave(path, mixed) for path in views]
    left += [_leave(path, "it is a file of yours", ours=False) for path in beside]
    return [*left, *(_leave(name, why, ours=False) for name, why in objects_left)]


def _list_views(workspace: Workspace) -> list[str]:
    rows = workspace.journal.views()
    return [os.path.join(row["worktree"], row["path"]) for row in rows]


def _files_beside_views(workspace: Workspace) -> list[str]:
    """Return the other files in the folders of the views, such as an RFC beside its reasoning."""
    views = _list_views(workspace)
    ours = {*views, *list_our_files(workspace)}
    folders = dict.fromkeys(map(os.path.dirname, views))
    found = []
    for folder in folders:
        with contextlib.suppress(OSError):
            paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
            found += [path for path in paths if path not in ours and os.path.isfile(path)]
    return found


def _copies(workspace: Workspace) -> list[str]:
    """Return the copies of the journal that `backup --restore` and a salvage made."""
    return [
        os.path.join(workspace.home, name)
        for name in sorted(os.listdir(workspace.home))
        if name.startswith(upkeep.COPY_PREFIXES)
    ]
