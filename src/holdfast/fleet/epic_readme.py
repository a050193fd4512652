"""Edit EPIC_README.md under its lock, and lose no edit of another program.

Programs that use the lock wait for each other; scripts take it as well: a JSON file with an expiry. Edits of
other programs are found as well: the new file is exchanged with the present one, and the displaced file is
compared with what had been read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import Epic
from holdfast.fleet.rules import epic_readme
from holdfast.fleet.rules.model import EPIC_README, LOCK_EXPIRES, PRIMARY, README
from holdfast.kernel import canonical_json, clock, outbox
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.merge import merge_lines
from holdfast.kernel.tree_file import TreeFile, exchange, place_new
from holdfast.kernel.views import edits, quarantine
from holdfast.kernel.views.asides import Asides
from holdfast.kernel.views.files import Unreadable, identity_of, read_file
from holdfast.kernel.views.projection import stage
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer

if TYPE_CHECKING:
    from holdfast.journal.interface import Effect


# After so many seconds the lock is read again: a shell may have written over it.
SETTLE_SECONDS = 0.1
LOCK = ".epic_locks/epic_readme.lock"
# How many seconds an edit waits for the lock before it is put off.
PATIENCE_SECONDS = 2.0
# How many seconds to wait for a program that has the file open, once another program's edit is displaced.
OWING_SECONDS = 10.0
# How many seconds to watch for a program that had read the file while an edit was displaced.
WATCH_SECONDS = 0.2
# How many edits in between are merged before this edit is put off.
TRIES = 50


class EpicLock:
    """A context manager. The file names its holder for the other agents."""

    def __init__(
        self, file: TreeFile, holder: str, session: str, operation: str, now: int, patience: float
    ) -> None:
        self._file = file
        self._now = now
        self._patience = patience
        fields = {
            "holder": holder,
            "holder_id": session,
            "acquired_at": clock.stamp(now),
            "operation": operation,
            "expires_at": clock.stamp(now + LOCK_EXPIRES),
            "auto_release": True,
        }
        lines = [f'  "{name}": {canonical_json.dumps(value)}' for name, value in fields.items()]
        self._content = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
        self._identity = ""

    def __enter__(self) -> None:
        deadline = time.monotonic() + self._patience
        while not self._try():
            held = self._look()
            if held is None:
                continue
            if time.monotonic() >= deadline:
                raise self._refusal(held)
            time.sleep(SETTLE_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._remove(self._identity)

    def _try(self) -> bool:
        """Whether it is ours now. The file is never seen without its content."""
        unborn = self._file.beside(f"{self._file.name}.{new_id()[:8]}")
        unborn.write(self._content, 0o644, is_new=True)
        identity = identity_of(unborn) or ""
        try:
            place_new(unborn, self._file)
        except FileExistsError:
            unborn.remove()
            return False
        time.sleep(SETTLE_SECONDS)
        if self._read() != (identity, self._content):
            return False
        self._identity = identity
        return True

    def _look(self) -> dict[str, Any] | None:
        """The fields of a lock that is held; None when it is free, has expired, or is not readable. An
        unreadable lock is read twice, because a shell empties a file before it writes."""
        for _ in range(2):
            found = self._read()
            if found is None:
                return None
            identity, content = found
            held = _fields_of(content)
            if held is not None:
                if clock.parse(held["expires_at"]) >= self._now:
                    return held
                break
            time.sleep(SETTLE_SECONDS)
        self._remove(identity)
        return None

    def _read(self) -> tuple[str, bytes] | None:
        try:
            return read_file(self._file)
        except FileNotFoundError:
            return None
        except Unreadable:
            return identity_of(self._file) or "", b""

    def _remove(self, identity: str) -> None:
        """Remove the lock that was read, and not another one that replaced it meanwhile."""
        moved = self._file.beside(f"{self._file.name}.{new_id()[:8]}")
        try:
            self._file.rename(moved)
        except FileNotFoundError:
            return
        if identity_of(moved) != identity:
            try:
                place_new(moved, self._file)
            except FileExistsError:
                moved.remove()
            return
        moved.remove()

    def _refusal(self, held: dict[str, Any]) -> StoreAway:
        seconds = (clock.parse(held["expires_at"]) - self._now) // 1000
        since = held.get("acquired_at", "")
        operation = f" ({held['operation']})" if held.get("operation") else ""
        return StoreAway(
            f"epic_readme is locked by {held.get('holder') or 'another process'}"
            f"{operation} since {since or 'an unknown time'}; the lock expires in {seconds} s.",
            hint=f"Wait, or remove {self._file} when its holder is gone.",
            kind="epic_locked",
        )


def _fields_of(content: bytes) -> dict[str, Any] | None:
    try:
        fields = dict(canonical_json.loads(content.decode()))
        fields["expires_at"] = fields["expires_at"].replace("+00:00", "Z")
        clock.parse(fields["expires_at"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return fields


def edit(
    epic: Epic,
    change: Callable[[str], str],
    *,
    holder: str,
    session: str,
    operation: str,
    now: int,
    patience: float = PATIENCE_SECONDS,
) -> bool:
    """Change the file; False when there is none. `change` is called again on what other programs wrote
    meanwhile, so it must be idempotent."""
    path = epic.path(README)
    asides = Asides(epic.workspace, path)
    if identity_of(asides.target) is None:
        return False
    with EpicLock(epic.tree_file(LOCK), holder, session, operation, now, patience):
        return _Edit(epic, asides, now).run(change)


class _Edit:
    """One edit, from reading the file until no unread edit is displaced."""

    def __init__(self, epic: Epic, asides: Asides, now: int) -> None:
        self.workspace = epic.workspace
        self.asides = asides
        self.target = asides.target
        self.now = now
        # Displaced files whose edits are not in the file yet.
        self.owed: list[TreeFile] = []

    def run(self, change: Callable[[str], str]) -> bool:
        self._keep_leftovers()
        found = _read(self.target)
        if found is None:
            return False
        seen, base = found
        wanted = change(base)
        try:
            for _ in range(TRIES):
                if wanted == base:
                    return self._done()
                if not self._is_quiet(self.target):
                    break
                aside = self._stage(wanted)
                placed = identity_of(aside)
                if identity_of(self.target) != seen and (found := _read(self.target)):
                    aside.remove()  # another program was faster; nothing is displaced yet
                    seen, theirs = found
                    base, wanted = theirs, change(self._both(base, wanted, theirs))
                    continue
                try:
                    if not exchange(aside, self.target):
                        return self._done()  # this file system cannot tell what was displaced
                except FileNotFoundError:
                    if not self._place_anew(aside):
                        return False
                    continue
                if not self._is_quiet(aside):
                    wanted = self._swap_back(aside, placed, wanted)
                    continue
                displaced = _read(aside)
                theirs = displaced[1] if displaced else base
                both = self._both(base, wanted, theirs)
                is_late = bool(self.owed)
                self.owed.append(aside)
                if theirs != base:
                    seen, base, wanted = placed or "", wanted, change(both)
                    continue
                found = self._watch(placed) if is_late else None
                if found is None:
                    return self._done()
                # Read before our last exchange, written after it: it lacks what we had brought back.
                seen, theirs = found
                base, wanted = theirs, change(merge_lines(base, wanted, theirs))
        except BaseException:
            self._keep_owed()
            raise
        raise self._keep_owed() or _busy()

    def _both(self, base: str, ours: str, theirs: str) -> str:
        """Their text with the edits that are owed; our own change is made again on top of it."""
        return merge_lines(base, ours, theirs) if self.owed else theirs

    def _watch(self, placed: str | None) -> tuple[str, str] | None:
        """What another program writes over our file right after an edit was displaced for a moment."""
        deadline = time.monotonic() + WATCH_SECONDS
        while time.monotonic() < deadline:
            if identity_of(self.target) != placed:
                edits.wait_until_quiet(self.target)
                return _read(self.target)
            time.sleep(0.001)
        return None

    def _is_quiet(self, place: TreeFile) -> bool:
        """Whether, after a while, no program has the file open for writing."""
        deadline = time.monotonic() + (OWING_SECONDS if self.owed else 0.0)
        edits.wait_until_quiet(place)
        while not edits.is_quiet(place):
            if time.monotonic() > deadline:
                return False
            edits.wait_until_quiet(place)
        return True

    def _stage(self, text: str) -> TreeFile:
        """Write the new content to a file aside, with the mode of the file that it will replace."""
        content = text.encode("utf-8", "surrogateescape")
        return self.asides.staged(stage(self.asides, content, identity_of(self.target)))

    def _place_anew(self, aside: TreeFile) -> bool:
        """The file was deleted meanwhile. It stays deleted, unless an owed edit would be lost."""
        if self.owed:
            try:
                place_new(aside, self.target)
            except FileExistsError:
                aside.remove()
            return True
        aside.remove()
        return False

    def _swap_back(self, aside: TreeFile, placed: str | None, wanted: str) -> str:
        """Exchange the files back, because a program has the displaced file open and will write to it. The
        text wanted now, with what was written into our file meanwhile."""
        exchange(aside, self.target)
        if identity_of(aside) == placed:
            aside.remove()
            return wanted
        self.owed.append(aside)
        found = _read(aside)
        return found[1] if found else wanted

    def _done(self) -> bool:
        for aside in self.owed:
            aside.remove()
        self.owed = []
        return True

    def _keep_owed(self) -> HoldfastError | None:
        if not self.owed:
            return None
        kept = [quarantine.keep(self.workspace, aside, self.now) for aside in self.owed]
        self._done()
        return HoldfastError(
            f"{README} changes faster than it can be edited.",
            hint=f"What others wrote into it is kept: {', '.join(kept)}",
            kind="epic_readme_busy",
        )

    def _keep_leftovers(self) -> None:
        """Keep files that a killed process had displaced: their base is unknown, so they are not merged."""
        self.asides.take_over()
        for left in self.asides.left():
            quarantine.keep(self.workspace, left, self.now)
            left.remove()


def _read(place: TreeFile) -> tuple[str, str] | None:
    """Identity and text of a file."""
    try:
        seen, content = read_file(place)
    except FileNotFoundError:
        return None
    except Unreadable as problem:
        raise HoldfastError(
            f"{place} cannot be edited: {problem}.", kind="epic_readme_unreadable"
        ) from None
    return seen, content.decode("utf-8", "surrogateescape")


def _busy() -> StoreAway:
    return StoreAway(
        f"{README} is being written by another program.",
        hint="Close it there; the edit is tried again by itself.",
        kind="epic_readme_busy",
    )


def carry_out(epic: Epic, effect: Effect) -> bool:
    """Make the edit that an effect asks for; False when there is no file."""
    body = effect["body"]
    return edit(
        epic,
        lambda text: _apply(text, body),
        holder=body.get("holder") or PRIMARY,
        session=body.get("session") or effect["id"],
        operation=f"{body['change']}: {body['agent']}",
        now=clock.now(),
    )


def _apply(text: str, body: Any) -> str:
    what, agent = body["change"], body["agent"]
    if what == "progress":
        return epic_readme.write_progress(text, agent, body["lines"])
    if what == "deferred":
        return epic_readme.mark_deferred(text, agent, body["feature"])
    return epic_readme.mark_stale(text, agent, gone=what == "recovered")


def deliver(context: FleetContext, writer: Writer) -> list[str]:
    """Try every edit that waits for an EPIC_README.md of this workspace, and tell each agent's checkpoint
    when its own was written; the errors of those that were not."""
    workspace = context.epic.workspace
    written: set[tuple[str, str]] = set()

    def write(effect: Effect) -> None:
        epic = _epic_of(workspace, effect)
        if carry_out(epic, effect) and effect["stream"].startswith("agent:"):
            written.add((epic.folder, effect["body"]["agent"]))

    tried = outbox.deliver(
        workspace.journal, {EPIC_README: write}, context.now, redactor=writer.redactor, seconds=5.0
    )
    update = {"last_epic_readme_update": clock.stamp(context.now)}
    for folder, agent in sorted(written):
        if folder == context.epic.folder:
            context.agent(agent).execute({"do": "coordinate", "set": update})
    return [delivery["error"] for delivery in tried if not delivery["delivered"]]


def _epic_of(workspace: Workspace, effect: Effect) -> Epic:
    folder = effect["stream"].partition(":")[2].rpartition("/")[0]
    worktree = effect["body"].get("worktree") or workspace.root
    # A life that ended here may have had its worktree on another machine.
    return Epic(workspace, folder).in_worktree(worktree)
