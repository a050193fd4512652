"""Changes of a document, small enough to be records: members put, items added, a key cut; and those that
each event of a step makes to its checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.kernel import canonical_json, clock, conflicts
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import split_words, without_nul
from holdfast.loop.rules.checkpoint import (
    checkpoint_of,
    checkpoints_of,
    current_step,
    loop_of,
    step_named,
)
from holdfast.loop.rules.model import (
    ACTIVE,
    BLOCKED,
    BLOCKED_PREFIX,
    COUNTERS,
    DONE_TASKS,
    ERROR_PREFIX,
    FAILED,
    IN_PROGRESS,
    LONGEST_TEXT,
    MAX_FIX_CYCLES,
    MIRRORED,
    NOT_STARTED,
    PLAN,
    RESOLVED,
    LoopState,
    Path,
)

if TYPE_CHECKING:
    from holdfast.kernel.conflicts import EditConflict


# ["put", path, members], ["set", path, value], ["add", path, items] or ["cut", path]
Change = list[Any]


PUT, SET, ADD, CUT = "put", "set", "add", "cut"
# Each update moves them: of two, the later one is right.
TIMES = ("last_updated", "updated_at")
# Lists that would take longer than this to compare are replaced as a whole.
MOST_COMPARISONS = 1_000_000
# What belongs to one attempt at a step, and not to the next one.
OF_ONE_ATTEMPT = split_words(
    f"progress {' '.join(COUNTERS)} {DONE_TASKS} last_task last_commit commits current_issue fixes_applied "
    "fixes_remaining cycle"
)

# What `loop_state` holds in a new track.
FIRST_LOOP: Mapping[str, Any] = {
    "current_step": PLAN,
    "step_status": NOT_STARTED,
    "fix_cycle_count": 0,
    "max_fix_cycles": MAX_FIX_CYCLES,
    "checkpoints": {},
}


def apply(document: Any, changes: Iterable[Change]) -> Any:
    """Return the document after the changes; the given one stays as it is."""
    for kind, path, *given in changes:
        document = _changed(document, path, kind, given)
    return document


def _changed(value: Any, path: Sequence[str | int], kind: str, given: Sequence[Any]) -> Any:
    """Return a value after one change at a path. Cutting what is not there changes nothing, and neither does a
    change of an item that no list has."""
    if not path:
        if kind == SET:
            return given[0]
        if kind == ADD:
            return _added(value, given[0])
        return {**(value if isinstance(value, dict) else {}), **given[0]}
    key, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(key, int):
        if key >= len(value):
            return value
    elif kind == CUT and not (isinstance(value, dict) and key in value):
        return value
    elif not isinstance(value, dict):
        value = {}
    changed = value.copy()
    if kind == CUT and not rest:
        del changed[key]
    else:
        held = changed[key] if isinstance(key, int) else changed.get(key)
        changed[key] = _changed(held, rest, kind, given)
    return changed


def _added(value: Any, items: Sequence[Any]) -> list[Any]:
    known = value if isinstance(value, list) else []
    return [*known, *(item for item in items if item not in known)]


def difference(before: Any, after: Any, path: Path | None = None) -> list[Change]:
    """What makes the one into the other, key by key, so that changes of two writers can be joined."""
    place = path or []
    if before == after and type(before) is type(after) and not isinstance(after, (dict, list)):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        changes: list[Change] = []
        for key, value in after.items():
            if key in before:
                changes += difference(before[key], value, [*place, key])
            else:
                changes.append([SET, [*place, key], value])
        return changes + [[CUT, [*place, key]] for key in before if key not in after]
    if isinstance(before, list) and isinstance(after, list):
        return _of_lists(before, after, place)
    return [[SET, place, after]]


def _of_lists(before: list[Any], after: list[Any], place: Path) -> list[Change]:
    if len(after) == len(before):
        changes: list[Change] = []
        for position, (old, new) in enumerate(zip(before, after, strict=True)):
            changes += difference(old, new, [*place, position])
        return changes
    more = after[len(before) :]
    few = len(more) * len(before) <= MOST_COMPARISONS
    if few and after[: len(before)] == before and not any(item in before for item in more):
        return [[ADD, place, more]]
    return [[SET, place, after]]


def join_changes(ours: Any, base: Any, theirs: Any) -> list[Change]:
    """What an editor changed in the text it saw, as far as it is not so already."""
    return [change for change in difference(base, theirs) if not _holds(ours, change)]


def met(ours: Any, base: Any, changes: Iterable[Change]) -> tuple[list[Change], list[Change]]:
    """An editor's changes in two parts: those that count, and those of values that we changed, too."""
    clean: list[Change] = []
    conflicting: list[Change] = []
    for change in changes:
        before, present = _value_at(base, change[1]), _value_at(ours, change[1])
        if change[0] == ADD or _same(before, present):
            clean.append(change)
        elif change[0] == SET and change[1][-1] in TIMES:
            clean += [change] if str(change[2]) > str(present) else []
        elif change[0] == SET and all(
            isinstance(one, list) for one in (before, present, change[2])
        ):
            clean.append([SET, change[1], conflicts.merge_lists(before, present, change[2])])
        else:
            conflicting.append(change)
    return clean, conflicting


def _value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return what stands at a path; MISSING when nothing does."""
    for key in path:
        in_list = isinstance(value, list) and isinstance(key, int) and key < len(value)
        if not in_list and not (isinstance(value, dict) and key in value):
            return conflicts.MISSING
        value = value[key]
    return value


def _same(one: Any, other: Any) -> bool:
    if one is conflicts.MISSING or other is conflicts.MISSING:
        return one is other
    # As texts: 1, 1.0 and True are equal in Python, and not in JSON.
    return canonical_json.dumps(one) == canonical_json.dumps(other)


def conflicts_of(path: str, ours: Any, changes: Iterable[Change]) -> list[EditConflict]:
    """An editor's changes of values that we changed, too, to be shown: one for each value, though a
    value may stand in a checkpoint and in its progress; AMB-LOOP-03."""
    found: dict[str, EditConflict] = {}
    for change in changes:
        places = [change[1]]
        if change[1][:2] == ["loop_state", "checkpoints"] and change[1][-1] in MIRRORED:
            own = [*change[1][:3], change[1][-1]]
            mirror = [*change[1][:3], "progress", change[1][-1]]
            places = [
                place for place in (own, mirror) if _value_at(ours, place) is not conflicts.MISSING
            ] or places
        edit = {
            "path": path,
            "changes": [[change[0], place, *change[2:]] for place in places],
            "order": {},
        }
        theirs = conflicts.MISSING if change[0] == CUT else change[2]
        name = place_name(places[0])
        found[name] = conflicts.find(path, name, _value_at(ours, places[0]), theirs, edit)
    return list(found.values())


def place_name(path: Sequence[str | int]) -> str:
    return "/".join(map(str, path))


def _holds(value: Any, change: Change) -> bool:
    """Whether a change would change nothing."""
    held = _value_at(value, change[1])
    if change[0] == CUT:
        return held is conflicts.MISSING
    if change[0] == ADD:
        return isinstance(held, list) and all(item in held for item in change[2])
    return _same(held, change[2])


def joined_unseen(ours: Any, theirs: Any, *, theirs_is_newer: bool) -> list[Change]:
    """The same for a file that we never wrote: nothing in it counts as cut, and where the two
    disagree, the newer one is right."""
    changes = [change for change in difference(ours, theirs) if change[0] != CUT]
    if theirs_is_newer:
        return changes
    return [
        change
        for change in changes
        if change[0] == SET and _value_at(ours, change[1]) is conflicts.MISSING
    ]


class Pen:
    """Collects the changes to one checkpoint of a track: what is cut, then what is put and added."""

    def __init__(self, state: LoopState, step: str, now: int) -> None:
        self.state = state
        self.step = step
        self.checkpoint = checkpoint_of(state, step)
        self.now = clock.stamp(now)
        self._first: list[Change] = skeleton(state, now)
        self._root: dict[str, Any] = {}
        self._loop: dict[str, Any] = {}
        self._checkpoint: dict[str, Any] = {}
        self._progress: dict[str, Any] = {}
        self._last: list[Change] = []

    def set(self, name: str, value: Any) -> None:
        if name not in self.checkpoint or self.checkpoint[name] != value:
            self._checkpoint[name] = value

    def cut(self, name: str) -> None:
        if name in self.checkpoint:
            self._first.append([CUT, [*self._place, name]])

    def add(self, name: str, items: Sequence[Any]) -> None:
        if items:
            self._last.append([ADD, [*self._place, name], list(items)])

    def count(self, name: str, value: int) -> None:
        """A counter, at the checkpoint's level and in its progress; AMB-LOOP-03."""
        self.set(name, value)
        self.progress(name, value)
        known = self.checkpoint.get("progress") or {}
        for other in COUNTERS:  # a file with counters at one level gets all of them at the other
            if other in self.checkpoint and other not in (*known, *self._progress):
                self._progress[other] = self.checkpoint[other]

    def set_mirrored(self, name: str, value: str) -> None:
        """A text at the checkpoint's level, and in its progress where another program wrote it there."""
        self.set(name, value)
        if name in (self.checkpoint.get("progress") or {}):
            self.progress(name, value)

    def progress(self, name: str, value: Any) -> None:
        known = self.checkpoint.get("progress") or {}
        if name not in known or known[name] != value:
            self._progress[name] = value

    def loop(self, name: str, value: Any) -> None:
        if loop_of(self.state).get(name) != value:
            self._loop[name] = value

    def root(self, name: str, value: Any) -> None:
        if self.state["document"].get(name) != value:
            self._root[name] = value

    def status(self, status: str) -> None:
        self.set("status", status)
        if current_step(self.state) == self.step or status == IN_PROGRESS:
            self.loop("current_step", self.step)
            self.loop("step_status", status)

    def block(self, description: str) -> dict[str, Any]:
        """A blocker for a person to resolve."""
        known = self.state["document"].get("blockers") or []
        blocker = {
            "id": f"blocker-{len(known) + 1}",
            "description": description,
            "blocked_at": self.now,
            "blocked_step": self.step,
            "status": ACTIVE,
        }
        self._last.append([ADD, ["blockers"], [blocker]])
        return blocker

    def resolve(self, position: int) -> None:
        """The blocker at this position stands no more."""
        resolved = {"status": RESOLVED, "resolved_at": self.now}
        self._last.append([PUT, ["blockers", position], resolved])

    def end(self, status: str, notes: str = "") -> None:
        """PASSED, FAILED and BLOCKED are completions alike."""
        self.status(status)
        self.set("completed_at", self.updated())
        if notes:
            self.set("notes", notes)

    def updated(self) -> str:
        """The time of this update; never before the last, though a clock may step back."""
        past = [
            stamp
            for stamp in (self.checkpoint.get("last_updated"), self.checkpoint.get("started_at"))
            if isinstance(stamp, str) and len(stamp) == len(self.now) and stamp.endswith("Z")
        ]
        return max(self.now, *past) if past else self.now

    def done(self, *, begun: bool = False) -> list[Change]:
        """All changes of an update, with its time."""
        self.set("last_updated", self.now if begun else self.updated())
        return self.changes()

    def changes(self) -> list[Change]:
        if "updated_at" in self.state["document"]:
            self.root("updated_at", self.now)
        puts: tuple[tuple[list[str | int], dict[str, Any]], ...] = (
            ([], self._root),
            (["loop_state"], self._loop),
            (self._place, self._checkpoint),
            ([*self._place, "progress"], self._progress),
        )
        return [*self._first, *([PUT, place, each] for place, each in puts if each), *self._last]

    @property
    def _place(self) -> list[str | int]:
        return ["loop_state", "checkpoints", self.step]


def skeleton(state: LoopState, now: int) -> list[Change]:
    """What a track's file needs to begin with, as far as it is not there."""
    document, loop = state["document"], loop_of(state)
    changes: list[Change] = []
    if not document:
        first = {
            "version": 2,
            "track_id": state["track"],
            "status": "in_progress",
            "created_at": clock.stamp(now),
        }
        changes.append([PUT, [], first])
    lacking = {name: value for name, value in FIRST_LOOP.items() if loop.get(name) is None}
    if lacking:
        changes.append([PUT, ["loop_state"], lacking])
    empty = [step for step, found in checkpoints_of(state).items() if not found]
    return changes + [
        [PUT, ["loop_state", "checkpoints", step], {"status": NOT_STARTED}] for step in empty
    ]


def note_of(status: str, text: str) -> str:
    """`ERROR: what` and `BLOCKED: why`, as the protocol writes them."""
    prefix = {FAILED: ERROR_PREFIX, BLOCKED: BLOCKED_PREFIX}.get(status, "")
    text = trimmed(text)
    return text if text.startswith(prefix) else f"{prefix}{text}"


def trimmed(text: object) -> str:
    return without_nul(str(text)).strip()[:LONGEST_TEXT]


def one_line(text: object) -> str:
    return " ".join(trimmed(text).split())


def whole(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# What a command says
def step_of(state: LoopState, command: Any) -> str:
    return step_named(command["step"]) if command.get("step") else current_step(state)


def body_of(pen: Pen, command: Any, **facts: Any) -> dict[str, Any]:
    body = {"step": pen.step, **facts}
    if command.get("attempt"):
        body["attempt"] = command["attempt"]
    return {**body, "changes": pen.done()}


def whole_of(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Usage(f"{name} must be a whole number that is not negative, not {value!r}.")
    return value


def refuse_too_many(name: str, done: int, total: int) -> None:
    if done > total:
        noun = "issues" if name == "issues_fixed" else "tasks"
        raise Usage(
            f"{done} {noun} done of {total} are more than there are.",
            hint=f"If the plan grew, say so: holdfast loop progress --{noun}-total {done}",
        )


def files_of(command: Any) -> list[str]:
    return [file for file in (one_line(file) for file in command.get("output_files") or []) if file]
