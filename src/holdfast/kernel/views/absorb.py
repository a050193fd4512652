"""Take in what an editor did to a view: an outside change becomes records.

It is loaded where there is one: most commits find their files as they left them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.journal.interface import Append
from holdfast.kernel import canonical_json, clock, conflicts
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.git_index import is_from_git
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.state import RESTORED, at_version, fold
from holdfast.kernel.stream_write import StreamWrite, draft, load, row_of
from holdfast.kernel.streams import can_settle
from holdfast.kernel.views import edits, quarantine
from holdfast.kernel.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.kernel.views.reconcile import Change, Sighting

# In the journal's home: streams that may have open conflicts, one a line. Their states are what counts;
# without this list `status` would have to load every stream.
CONFLICTS_FILE = "conflicts"
# So long an editor may keep a copy. Later, a line that is missing was removed by a person who saw it.
LONGEST_EDIT = 15 * clock.MINUTE
# How many versions back we look.
VERSIONS = 256
# Nanoseconds by which the time of a file may lag behind the clock.
FILE_CLOCK = 10**9
# The actor of the records that edits by hand become.
OUTSIDE = "outside"
# Two lines that begin alike for so much of the shorter one are one line, changed.
ALIKE = 0.7


def absorb(write: StreamWrite, sighting: Sighting, change: Change, *, is_last: bool) -> None:
    """Turn one outside change into records, in a transaction of its own.

    Their id comes from the file's identity, so that a crash before the file is put away does not
    make them twice. A file that is put back later is another edit: it is of another version.
    """
    events = events_of(write, sighting, change)
    source = [write.workspace.root, change["path"], change["identity"], change["kind"]]
    source += [] if change["file"] else [str(change["base"])]
    id = id_of(canonical_json.dumps(source))
    drafts = draft(write.writer.redactor, id, events, OUTSIDE, write.now)
    state = fold(write.rules, write.state, drafts)
    # Made on what we have, the edit is all that the next state holds: the file shows that one now.
    # Made on something older, it lacks what came since, and shows what its editor started from.
    is_newest = change["made_on"] == write.version
    shown = write.version + len(drafts) if is_newest else change["made_on"]
    if not change["file"]:
        sighting.shown = shown
    row = row_of(write, sighting, sighting.found, version=shown, digest=sighting.digest)
    row["removed"] = change["kind"] == "removed"
    # An edit of a file that we displaced says nothing about the file that stands there now.
    rows = [row] if is_last and not change["file"] else []
    if rows:
        # The row names another file from here on, by which what we displaced would not be found.
        before = (sighting.displaced, sighting.expected, sighting.displaced_version)
        edits.put_away(sighting.asides, *before, write.displaced)
        sighting.displaced = None
    if any(each["body"].get("conflicts") for each in drafts if isinstance(each["body"], dict)):
        announce_conflict(write.workspace, write.stream)
    reached("before append")
    if drafts or rows:
        appends = [Append(write.stream, drafts, expected=write.version, state=state)]
        write.journal.commit(appends if drafts else [], views=rows)
    reached("after append")
    if change["file"]:
        edits.settle(change["file"], change["identity"], change["text"])
    load(write)


def announce_conflict(workspace: Workspace, stream: str) -> None:
    """Write down that a stream is about to have a conflict: before its record, so that none is missed."""
    if stream in streams_in_conflict(workspace):
        return
    path = os.path.join(workspace.home, CONFLICTS_FILE)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError:
        return  # `doctor` looks at the states themselves
    try:
        os.write(descriptor, f"{stream}\n".encode())
    finally:
        os.close(descriptor)


def streams_in_conflict(workspace: Workspace) -> list[str]:
    """The streams that may have open conflicts."""
    try:
        content = read_plain(os.path.join(workspace.home, CONFLICTS_FILE))
    except OSError:
        return []
    return list(dict.fromkeys(content.decode("utf-8", "replace").splitlines()))


def events_of(write: StreamWrite, sighting: Sighting, change: Change) -> list[tuple[str, Any]]:
    """The records of one outside change. A file that does not parse goes to quarantine."""
    shown = base = state_at(write, change["base"])
    if change["kind"] == "edited":
        base = base_of(write, change, shown)
    try:
        events = write.rules.absorb(write.state, base, change, write.now)
        if change["is_older"]:
            events = [*events, *_keep_removal(write, shown, change, events)]
    except Unparsable as problem:
        change["kind"] = "broken"
        change["reason"] = str(problem)
        file = change["file"] or sighting.target
        change["kept"] = quarantine.keep(write.workspace, file, write.now)
        events = write.rules.absorb(write.state, base, change, write.now)
    if change["kind"] == "removed":
        return [("removed_outside", {"path": change["path"]}), *events]
    if change["kind"] == "broken":
        body = {"path": change["path"], "reason": change["reason"], "kept": change["kept"]}
        return [("quarantined", body), *events]
    return events


def _keep_removal(
    write: StreamWrite, shown: Any, change: Change, events: list[tuple[str, Any]]
) -> list[tuple[str, Any]]:
    """The save of an older copy removes nothing. If its author meant to, a person says so: the removal is kept as
    an open conflict, one for a file."""
    literal = write.rules.absorb(write.state, shown, {**change, "familiar": None}, write.now)
    if literal in ([], events) or literal[0][0] != "edited_outside":
        return []
    path = change["path"]
    gone = _lines(write.rules.render(write.state).get(path, "")) - _lines(change["text"])
    edit = {
        name: value for name, value in literal[0][1].items() if name not in ("conflicts", "settled")
    }
    removal = conflicts.find(path, "lines", "\n".join(sorted(gone)), conflicts.MISSING, edit)
    return [("settled", {"path": path, "settled": [], "take": "kept", "conflicts": [removal]})]


def base_of(write: StreamWrite, change: Change, base: Any) -> Any:
    """What the author of an edit was looking at, when the file showed `base`."""
    try:
        if not change["file"]:
            base, change["familiar"] = state_edited(write, change, base)
            return base
        if change["seen"]:
            # Taken in before, up to here; what an editor appended since is all that is new.
            seen: Change = {**change, "text": change["seen"]}
            said = write.rules.absorb(base, base, seen, write.now)
            drafts = draft(write.writer.redactor, "seen", said, OUTSIDE, write.now)
            return fold(write.rules, base, drafts)
    except Unparsable:
        pass
    return base


def state_at(write: StreamWrite, version: int) -> Any:
    """What a file of that version showed. An unknown file never showed anything, so that nothing
    counts as removed by its author."""
    if version == write.version:
        return write.state
    try:
        return at_version(write.journal, write.rules, write.stream, max(version, 0))
    except HoldfastError:
        return write.rules.initial(write.stream)


# Which version of a view an editor started from.
#
# An editor reads a file, and saves it later. What was written in between is not in its copy, and was not
# removed by its author. The journal can render every version that the file showed, so we ask which of
# them the copy was made from: one after which nothing of ours is in it.


def state_edited(write: StreamWrite, change: Change, base: Any) -> tuple[Any, Any]:
    """The state that the author of a text was looking at: `base`, which the file showed, or an earlier
    one. And the state that they have seen at least: the one before the longest edit began; None if it is
    not known or of no use."""
    path = change["path"]
    shown = _lines(write.rules.render(base).get(path, ""))
    edited = _lines(change["text"])
    best, fewest = base, len(shown ^ edited)
    if shown <= edited or (edited <= shown and len(edited) < 2):
        return base, None  # nothing is missing, or a person emptied the file
    if is_put_back(write, path, change["identity"]):
        return base, None
    can_wait = can_settle(write.stream)
    earlier, seen = _earlier(write)
    for state, version, has_ours in earlier:
        before = _lines(write.rules.render(state).get(path, ""))
        later, added = shown - before, edited - before - shown
        taken_out = before - shown
        # A trace of what came after: a line of ours, the lack of those that we took out, or a line of
        # ours that was changed. Where some of those that we took out are still there, the editor
        # changed the others, as we did. And who adds nothing has removed what edits by hand did alone, or what
        # no person could be asked about.
        if (
            not before
            or not (added or (has_ours and can_wait))
            or later & edited
            or (taken_out and not taken_out & edited)
        ):
            continue
        if any(_is_changed(line, later, before - edited) for line in added):
            continue
        if len(before ^ edited) < fewest:
            best, fewest = state, len(before ^ edited)
            change["is_older"], change["made_on"] = not added, version
    return best, seen


def is_put_back(write: StreamWrite, path: str, found: str) -> bool:
    """Return whether an older file was put there on purpose: by git, or by a program that kept its time. An editor
    that saves its older copy makes a file of now."""
    row = write.rows.get(path)
    if row is None or row["placed"] is None:
        return False
    made, ours = (int(each.split(":")[2]) for each in (found, row["placed"]))
    is_older = found == row["found"] or made < ours - FILE_CLOCK
    return is_older or is_from_git(write.workspace.root, path)


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()} - {""}


def _is_changed(line: str, later: set[str], gone: set[str]) -> bool:
    """Whether a line looks like one of the later ones with its end changed, and not like one of those
    that are gone."""
    likeness = max((_likeness(line, other) for other in later), default=0)
    return likeness >= ALIKE and likeness > max(
        (_likeness(line, other) for other in gone), default=0
    )


def _likeness(line: str, other: str) -> float:
    """How much of the shorter line both begin with."""
    shorter = min(len(line), len(other))
    pairs = enumerate(zip(line, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), shorter) / shorter


def _earlier(write: StreamWrite) -> tuple[list[tuple[Any, int, bool]], Any]:
    """The states that the stream had within the longest edit, the newest first, each with its version and whether
    anything but edits by hand came after it; and the one at its beginning."""
    since = clock.precise(max(0, write.now - LONGEST_EDIT))
    try:
        records = write.journal.read(write.stream, limit=write.version)
    except HoldfastError:
        return [], None
    if not records or (records[0]["version"] != 1 and records[0]["kind"] != RESTORED):
        return [], None
    ours = max((one["version"] for one in records if one["actor"] != OUTSIDE), default=0)
    state, states = write.rules.initial(write.stream), []
    for record in records:
        if record["at"] >= since:
            states.append((state, record["version"] - 1, record["version"] <= ours))
        state = fold(write.rules, state, [record])
    return states[: -VERSIONS - 1 : -1], states[0][0] if states else state
