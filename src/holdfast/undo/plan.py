"""What an undo would do: each file's way back, merged with what came later, and what is left alone.

A prompt is taken back by what differs between its states `before` and `after`, so a person's edits in between prompts
are no part of it. Several prompts are taken back one after the other, the newest first, on a picture of the work tree;
the files themselves are written once, at the end.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.git.restore import list_obstacles
from holdfast.git.shadow_index import GITLINK
from holdfast.git.status import is_covered
from holdfast.kernel.tree_file import TreeFile
from holdfast.undo.merge import merge_contents
from holdfast.undo.store import FILE, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holdfast.git.shadow_index import Shadow
    from holdfast.undo.rules.prompts import TreeState
    from holdfast.undo.store import Extras, Present, Store

    How = Literal["create", "write", "delete", "merge", "mode"]

NOTHING = "000000"


class Cell(NamedTuple):
    """What a tree has under a path. `bits` are the permissions of a file."""

    mode: str
    object: str
    bits: int


Pair = tuple[Cell | None, Cell | None]


@dataclass(frozen=True)
class Span:
    """What is taken back: the work tree was as `before`, and became as `after`. `is_mine` says of a path whether this
    span changed it: yes, no, or mixed with another session's work."""

    before: TreeState
    after: TreeState
    owner: Callable[[str], Literal["mine", "other", "mixed"]] = lambda _: "mine"


@dataclass
class Clash:
    """A file that was changed since on the same lines, or that something stands in the way of."""

    path: str
    why: str
    text: str = ""


@dataclass
class Plan:
    """What an undo does. `cells` are the files that it changes, each as it is and as it will be. `make` are the folders
    that must be there in the end, also empty; those `missing` are not there now."""

    present: Present
    cells: dict[str, Pair] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)
    clashes: list[Clash] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    submodules: list[str] = field(default_factory=list)
    unheld: list[str] = field(default_factory=list)
    make: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)

    def how(self, path: str) -> How:
        """Return what happens to a file."""
        present, target = self.cells[path]
        if target is None:
            return "delete"
        if path in self.merged:
            return "merge"
        if present is None:
            return "create"
        is_mode = present.object == target.object and {present.mode, target.mode} <= {FILE, PROGRAM}
        return "mode" if is_mode else "write"

    @property
    def is_empty(self) -> bool:
        return not self.cells and not self.missing and not self.remove


class _View:
    """A tree with its extras."""

    def __init__(self, tree: str, extras: Extras) -> None:
        self.tree = tree
        self.extras = extras

    def cell(self, path: str, mode: str, object: str) -> Cell | None:
        if mode == NOTHING:
            return None
        bits = 0
        if mode in (FILE, PROGRAM):
            bits = self.extras["modes"].get(path, self.extras["usual"][mode == PROGRAM])
        return Cell(mode, object, bits)


def make_plan(
    store: Store,
    shadow: Shadow,
    present: Present,
    spans: Sequence[Span],
    *,
    paths: Sequence[str],
    spared: Iterable[str],
) -> Plan:
    """Return what takes back the spans, the newest of which is the first. `paths` limits it to these files and folders,
    and says that they are meant even where another session changed them, too. `spared` are never touched."""
    plan, now = Plan(present), _View(present["tree"], present["extras"])
    picture: dict[str, Cell | None] = {}
    left: set[str] = set(spared)
    for span in spans:
        before = _View(span.before["files"], store.extras(span.before))
        after = _View(span.after["files"], store.extras(span.after))
        since = store.compare(after.tree, now.tree)
        _plan_folders(plan, before.extras, after.extras, paths)
        inside = before.extras["submodules"] + after.extras["submodules"]  # changed or not
        plan.submodules += [one for one in inside if not paths or is_covered(one, paths)]
        unheld = {one["path"] for one in (*before.extras["skipped"], *after.extras["skipped"])}
        plan.unheld += [one for one in sorted(unheld) if not paths or is_covered(one, paths)]
        for path, (base, wanted) in sorted(_differences(store, after, before).items()):
            if path in left or (paths and not is_covered(path, paths)) or path in unheld:
                continue
            whose = "mine" if paths else span.owner(path)
            if whose != "mine":
                (plan.mixed if whose == "mixed" else plan.others).append(path)
                left.add(path)
                picture.pop(path, None)
                continue
            if GITLINK in {one.mode for one in (base, wanted) if one is not None}:
                plan.submodules.append(path)
                left.add(path)
                continue
            if path not in picture:
                picture[path] = _present_cell(now, path, base, since)
            ours = picture[path]
            result = _merge(store, shadow, base, ours, wanted)
            if isinstance(result, str):
                text = _show_sides(store, base, ours, wanted)
                plan.clashes.append(Clash(path, result, text))
                left.add(path)
                picture.pop(path)
                continue
            if ours not in (base, wanted) and result not in (ours, wanted):
                plan.merged.add(path)
            picture[path] = result
    originals = _originals(store, now, picture)
    plan.cells = {
        path: (originals[path], cell) for path, cell in picture.items() if originals[path] != cell
    }
    plan.merged &= plan.cells.keys()
    _find_obstacles(store.place.top, plan)
    for name in ("mixed", "others", "submodules", "unheld", "make", "remove"):
        setattr(plan, name, sorted(set(getattr(plan, name))))
    # Where a file stands that stays, there is no folder.
    plan.make = [
        one
        for one in plan.make
        if one in plan.cells
        or not os.path.lexists(whole := f"{store.place.top}/{one}")
        or os.path.isdir(whole)
    ]
    plan.missing = [one for one in plan.make if not os.path.lexists(f"{store.place.top}/{one}")]
    plan.remove = [one for one in plan.remove if one in present["extras"]["empty"]]
    return plan


def _differences(store: Store, old: _View, new: _View) -> dict[str, Pair]:
    """Return what differs between two trees with their extras, by path."""
    found: dict[str, Pair] = {
        path: (
            old.cell(path, entry.old_mode, entry.old),
            new.cell(path, entry.mode, entry.object),
        )
        for path, entry in store.compare(old.tree, new.tree).items()
    }
    ours, theirs = old.extras["modes"], new.extras["modes"]
    names = [
        path
        for path in sorted({*ours, *theirs})
        if path not in found and ours.get(path) != theirs.get(path)
    ]
    for path, (mode, object) in list_cells(store, old.tree, names).items():
        pair = (old.cell(path, mode, object), new.cell(path, mode, object))
        if pair[0] != pair[1]:
            found[path] = pair
    return found


def list_cells(store: Store, tree: str, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return mode and object of files of a tree."""
    found = {}
    for start in range(0, len(names), 500):
        words = ("ls-tree", "-z", "--full-tree", tree, "--", *names[start : start + 500])
        for line in os.fsdecode(store.git(*words)).split("\0"):
            if line:
                facts, path = line.split("\t", 1)
                mode, _, object = facts.split(" ")
                found[path] = (mode, object)
    return found


def _present_cell(now: _View, path: str, base: Cell | None, since: dict[str, Any]) -> Cell | None:
    """Return what is there now, from what differs since a tree that had `base` there."""
    if path in since:
        return now.cell(path, since[path].mode, since[path].object)
    return None if base is None else now.cell(path, base.mode, base.object)


def _originals(store: Store, now: _View, picture: dict[str, Cell | None]) -> dict[str, Cell | None]:
    """Return what is there now under the paths of a picture."""
    found = list_cells(store, now.tree, sorted(picture))
    return {path: now.cell(path, *found.get(path, (NOTHING, ""))) for path in picture}


def _merge(
    store: Store, shadow: Shadow, base: Cell | None, ours: Cell | None, wanted: Cell | None
) -> Cell | str | None:
    """Return what becomes of a file that was `base`, is `ours` now, and is to be `wanted`; or why that cannot be said."""
    if ours in (base, wanted):
        return wanted
    if base is None or ours is None or wanted is None:
        if base is not None and ours is None:
            return "it was removed since"
        if wanted is None:
            return "the prompt made it, and it was changed since"
        return "it was made again since, with other content"
    bits = wanted.bits if ours.bits == base.bits else ours.bits
    same = (ours.mode, ours.object) == (base.mode, base.object)
    if same or (ours.mode, ours.object) == (wanted.mode, wanted.object):
        return Cell(wanted.mode, wanted.object, bits if wanted.bits else 0)
    if (wanted.mode, wanted.object) == (base.mode, base.object):
        return Cell(ours.mode, ours.object, bits if ours.bits else 0)
    if not {base.mode, ours.mode, wanted.mode} <= {FILE, PROGRAM}:
        return "it was changed since, and is no text"
    if ours.object in (base.object, wanted.object) or wanted.object == base.object:
        object = wanted.object if ours.object == base.object else ours.object
    else:
        merged = merge_contents(store, shadow, base.object, ours.object, wanted.object)
        if not merged:
            return "the same lines were changed since"
        object = merged
    mode = PROGRAM if bits & 0o100 else FILE
    return Cell(mode, object, bits)


def _show_sides(store: Store, base: Cell | None, ours: Cell | None, wanted: Cell | None) -> str:
    """Return both sides of a conflict as diffs from what the prompt left."""
    from holdfast.undo.merge import diff_contents

    parts = []
    for title, cell in (("now", ours), ("before the prompt", wanted)):
        parts.append(diff_contents(store, base, cell, "after the prompt", title))
    return "\n".join(parts)


def _plan_folders(plan: Plan, before: Extras, after: Extras, paths: Sequence[str]) -> None:
    """Add the empty folders that come back and that go."""
    was, became = set(before["empty"]), set(after["empty"])
    for one in was - became:
        if not paths or is_covered(one, paths):
            plan.make.append(one)
            plan.remove = [each for each in plan.remove if each != one]
    for one in became - was:
        if not paths or is_covered(one, paths):
            plan.remove.append(one)
            plan.make = [each for each in plan.make if each != one]


def _find_obstacles(top: str, plan: Plan) -> None:
    """Move to the clashes what cannot be written: a folder or a link is in the way, or what no state holds."""
    held = {path for path, (present, _) in plan.cells.items() if present is not None}
    for path, (present, target) in list(plan.cells.items()):
        why = ""
        try:
            TreeFile(top, path, is_strict=True).status()
        except OSError as error:
            # A folder on the way that is a file now is in the plan, or an obstacle.
            why = error.strerror or str(error)
        if target is not None:
            obstacles = list_obstacles(top, path, held)
            parents = [path.rsplit("/", count)[0] for count in range(1, path.count("/") + 1)]
            kept = [one for one in parents if plan.cells.get(one, (None, None))[1] is not None]
            if obstacles or kept:
                why = f"{(obstacles or kept)[0]} stands there, which is not to go"
            elif why and any(one in held for one in parents):
                why = ""  # the file on the way goes first
        elif present is not None and present.mode == GITLINK:
            why = "it is a repository now"
        if why:
            plan.clashes.append(Clash(path, why))
            del plan.cells[path]
