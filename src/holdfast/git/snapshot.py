"""Snapshots: the whole work tree, untracked files too, as commits under refs of our own. What a snapshot
knows of itself stands in the trailers of its commit."""

from __future__ import annotations

import json
import os
from typing import NamedTuple, TypedDict

from holdfast.git.capture import LIMIT, Skipped, TreeCapture, capture
from holdfast.git.repository import Place, head_of, locate
from holdfast.git.run import git
from holdfast.git.shadow_index import SETTINGS, Shadow, write_commit
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import NotFound, Usage

AUTHOR = "holdfast <snapshot@holdfast.invalid>"
PREFIX = "Holdfast-"
# For `git for-each-ref`: what `parse` takes apart.
FIELDS = "%(refname)%00%(objectname)%00%(tree)%00%(parent)%00%(contents)%00"
COUNT = 5
RAW = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
REFS = "refs/holdfast/snapshots"
# What the row of another machine begins with.
MACHINE = "machine-"
ID_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Snapshot(TypedDict):
    """One snapshot. Paths are seen from the top of the work tree."""

    id: str
    commit: str
    tree: str
    at: str
    branch: str | None
    parent: str | None
    worktree: str
    session: str
    number: int
    """Its place in the row of its worktree: clocks step back."""
    changed: int
    """How many paths were brought up to date since the snapshot before it."""
    skipped: list[Skipped]
    submodules: list[str]
    """Submodules with changes of their own, of which only the commit is held."""
    duplicate: bool
    """Nothing had changed: this is the snapshot that was there already."""


def compose(snapshot: Snapshot) -> bytes:
    """The commit of a snapshot, as git stores it."""
    second = clock.parse(snapshot["at"]) // 1000
    lines = [f"tree {snapshot['tree']}"]
    if snapshot["parent"]:
        lines.append(f"parent {snapshot['parent']}")
    lines += [f"author {AUTHOR} {second} +0000", f"committer {AUTHOR} {second} +0000"]
    lines += ["", "Snapshot of the work tree", ""]
    known = {
        "Snapshot": snapshot["id"],
        "Worktree": snapshot["worktree"],
        "At": snapshot["at"],
        "Number": snapshot["number"],
        "Changed": snapshot["changed"],
        "Session": " ".join(snapshot["session"].split()),
        "Branch": snapshot["branch"] or "",
    }
    lines += [f"{PREFIX}{name}: {value}" for name, value in known.items() if value != ""]
    # As JSON, since a name may hold a newline.
    lines += [f"{PREFIX}Skipped: {json.dumps(skipped)}" for skipped in snapshot["skipped"]]
    lines += [f"{PREFIX}Submodule: {json.dumps(path)}" for path in snapshot["submodules"]]
    return os.fsencode("\n".join(lines) + "\n").replace(b"\0", b"")


def parse(output: bytes, refs: str) -> list[Snapshot]:
    """The snapshots in the answer of `git for-each-ref`; what is not one is passed over."""
    fields = os.fsdecode(output).split("\0")
    found = []
    for start in range(0, len(fields) - COUNT, COUNT):
        name, commit, tree, parents, text = fields[start : start + COUNT]
        worktree, _, id = name.strip().removeprefix(f"{refs}/").rpartition("/")
        trailers: dict[str, list[str]] = {}
        for line in text.split("\n"):
            key, separator, value = line.partition(": ")
            if separator and key.startswith(PREFIX):
                trailers.setdefault(key.removeprefix(PREFIX), []).append(value)
        if "Snapshot" not in trailers:
            continue
        try:
            found.append(_snapshot(id, worktree, commit, tree, parents, trailers))
        except (ValueError, RecursionError):
            continue  # another program's, from a remote
    return found


def _snapshot(
    id: str, worktree: str, commit: str, tree: str, parents: str, trailers: dict[str, list[str]]
) -> Snapshot:
    def one(name: str, otherwise: str = "") -> str:
        return trailers.get(name, [otherwise])[0]

    return {
        "id": id,
        "commit": commit,
        "tree": tree,
        "at": clock.precise(clock.parse(one("At"))),
        "branch": one("Branch") or None,
        "parent": parents or None,
        "worktree": worktree,
        "session": one("Session"),
        "number": int(one("Number", "0")),
        "changed": int(one("Changed", "0")),
        "skipped": [_parse_skipped(value) for value in trailers.get("Skipped", [])],
        "submodules": [str(json.loads(value)) for value in trailers.get("Submodule", [])],
        "duplicate": False,
    }


def _parse_skipped(text: str) -> Skipped:
    value = json.loads(text)
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        raise ValueError(text)
    return {"path": value["path"], "reason": str(value.get("reason", ""))}


class Difference(TypedDict):
    """One path that differs: A added, M modified, D deleted, T of another type."""

    status: str
    path: str


class TreeEntry(NamedTuple):
    """One path that differs, with what the second tree has there; `old` is what the first one has."""

    status: str
    path: str
    old_mode: str
    mode: str
    object: str
    old: str


def entries(top: str, old: str, new: str) -> list[TreeEntry]:
    """From one tree to another, in full."""
    return parse_entries(git(top, *RAW, old, new))


def _differences(top: str, *words: str) -> list[Difference]:
    output = git(top, *RAW, *words)
    return [{"status": entry.status, "path": entry.path} for entry in parse_entries(output)]


def count_against_parents(top: str, commits: list[str]) -> dict[str, int]:
    """How many paths each commit changed, asked of one git process."""
    if not commits:
        return {}
    lines = "".join(f"{commit}\n" for commit in commits)
    output = git(top, *RAW, "--root", "--stdin", input=lines.encode())
    counts, current = dict.fromkeys(commits, 0), ""
    fields = iter(os.fsdecode(output).split("\0"))
    for field in fields:
        if field.startswith(":"):
            counts[current] += 1
            next(fields)  # its path
        elif field:
            current = field
    return counts


def names(top: str, tree: str) -> list[str]:
    """Every path of a tree."""
    output = git(top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
    return [name for name in os.fsdecode(output).split("\0") if name]


def parse_entries(output: bytes) -> list[TreeEntry]:
    """Return what `git diff-tree` printed with the options `RAW`."""
    fields = os.fsdecode(output).split("\0")
    found = []
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, mode, old, name, status = facts.removeprefix(":").split(" ")
        found.append(TreeEntry(status[0], path, old_mode, mode, name, old))
    return found


class Shown(TypedDict):
    """What a snapshot changed, and what has changed since."""

    snapshot: Snapshot
    changes: list[Difference]
    """Against the commit that it stands on."""
    present: list[Difference]
    """From the snapshot to the work tree as it is now."""


class CountedSnapshot(Snapshot):
    """A snapshot of the list."""

    holds: int
    """How many paths differ from the commit that it stands on."""


def create(
    root: str, *, session: str = "", id: str = "", limit: int = LIMIT, now: int | None = None
) -> Snapshot:
    """Take a snapshot. Files above the limit are left out and named."""
    if not ID_LETTERS.issuperset(id):
        raise Usage(f"{id!r} cannot be the id of a snapshot.", hint="Use letters, digits, - and _.")
    with Shadow(locate(root)) as shadow:
        return record(shadow, capture(shadow, limit), session=session, id=id, now=now)


def record(
    shadow: Shadow,
    present: TreeCapture,
    *,
    session: str = "",
    id: str = "",
    now: int | None = None,
) -> Snapshot:
    """Put what was captured under a ref, unless the newest snapshot holds the same."""
    place = shadow.place
    newest: Snapshot | None = shadow.facts["newest"] or _newest(place)
    if newest and newest["tree"] == present["tree"] and newest["skipped"] == present["skipped"]:
        # What we remember may have been pruned or removed by hand.
        newest = _newest(place)
        if newest and newest["tree"] == present["tree"]:
            shadow.facts["newest"] = newest
            return {**newest, "submodules": present["submodules"], "duplicate": True}
    head = head_of(place)
    snapshot: Snapshot = {
        "id": id or new_id(),
        "commit": "",
        "tree": present["tree"],
        "at": clock.precise(clock.now() if now is None else now),
        "branch": head["branch"] if head["known"] else _ask(place, "symbolic-ref", "--short"),
        "parent": head["commit"] if head["known"] else _ask(place, "rev-parse", "--verify"),
        "worktree": place.key,
        "session": " ".join(session.split()),
        "number": newest["number"] + 1 if newest else 1,
        "changed": present["changed"],
        "skipped": present["skipped"],
        "submodules": present["submodules"],
        "duplicate": False,
    }
    ref = f"{REFS}/{place.key}/{snapshot['id']}"
    snapshot["commit"] = write_commit(place, compose(snapshot), ref)
    shadow.facts["newest"] = snapshot
    return snapshot


def list_snapshots(root: str, *, everywhere: bool = False) -> list[Snapshot]:
    """The snapshots of this worktree, or of all, newest first."""
    place = locate(root)
    found = _read(place, REFS if everywhere else f"{REFS}/{place.key}")
    if everywhere:
        return sorted(found, key=lambda snapshot: snapshot["at"], reverse=True)
    return sorted(found, key=lambda snapshot: snapshot["number"], reverse=True)


def list_with_counts(root: str, *, everywhere: bool = False) -> list[CountedSnapshot]:
    """The same, then those that were fetched, each with the number of paths that `show` lists."""
    found = list_snapshots(root, everywhere=everywhere)
    if not everywhere:
        found += filter(is_fetched, list_snapshots(root, everywhere=True))
    counts = count_against_parents(locate(root).top, [one["commit"] for one in found])
    return [{**one, "holds": counts[one["commit"]]} for one in found]


def is_fetched(snapshot: Snapshot) -> bool:
    """Whether another machine took it."""
    return snapshot["worktree"].startswith(MACHINE)


def find(root: str, prefix: str) -> Snapshot:
    """The one snapshot, of any worktree, whose id begins like this."""
    found = [
        snapshot
        for snapshot in list_snapshots(root, everywhere=True)
        if snapshot["id"].startswith(prefix) and prefix
    ]
    exact = [snapshot for snapshot in found if snapshot["id"] == prefix]
    if len(found) == 1 or exact:
        return (exact or found)[0]
    hint = "`holdfast snapshot list` names them all."
    if found:
        raise Usage(f"{len(found)} snapshots begin with {prefix}.", hint=hint, kind="ambiguous")
    raise NotFound(f"There is no snapshot {prefix!r}.", hint=hint)


def show(root: str, prefix: str) -> Shown:
    """A snapshot with its changes against its parent and against the present."""
    place = locate(root)
    snapshot = find(root, prefix)
    with Shadow(place) as shadow:
        present = capture(shadow)["tree"]
    return {
        "snapshot": snapshot,
        # Without a parent, everything is a change.
        "changes": _differences(place.top, "--root", "--no-commit-id", snapshot["commit"]),
        "present": _differences(place.top, snapshot["tree"], present),
    }


def split_changes(root: str, prefix: str) -> tuple[list[str], list[str]]:
    """Return the files that a snapshot changed since its commit: those that can be brought here without a loss,
    because they are as in that commit or not here, and those that were changed here, too."""
    place, snapshot = locate(root), find(root, prefix)
    with Shadow(place) as shadow:
        present = capture(shadow)["tree"]
    changed = _differences(place.top, "--root", "--no-commit-id", snapshot["commit"])
    differs = {each["path"] for each in _differences(place.top, snapshot["tree"], present)}
    here = differs
    if snapshot["parent"]:
        here = differs & {
            each["path"] for each in _differences(place.top, snapshot["parent"], present)
        }
    paths = [each["path"] for each in changed if each["status"] != "D" and each["path"] in differs]
    mixed = [path for path in paths if path in here and os.path.lexists(f"{place.top}/{path}")]
    return [path for path in paths if path not in mixed], mixed


def prune(root: str, keep: int) -> list[str]:
    """Remove all but the newest `keep` of each worktree, and say which; one always stays."""
    place = locate(root)
    rows: dict[str, list[Snapshot]] = {}
    for snapshot in _read(place, REFS):
        rows.setdefault(snapshot["worktree"], []).append(snapshot)
    surplus: list[Snapshot] = []
    for row in rows.values():
        row.sort(key=lambda snapshot: snapshot["number"], reverse=True)
        surplus += row[max(1, keep) :]
    if surplus:
        lines = b"".join(
            f"delete {REFS}/{snapshot['worktree']}/{snapshot['id']}\0{snapshot['commit']}\0".encode()
            for snapshot in surplus
        )
        git(place.top, *SETTINGS, "update-ref", "--no-deref", "--stdin", "-z", input=lines)
    return [snapshot["id"] for snapshot in surplus]


def _newest(place: Place) -> Snapshot | None:
    return max(
        _read(place, f"{REFS}/{place.key}"), key=lambda snapshot: snapshot["number"], default=None
    )


def _ask(place: Place, *words: str) -> str | None:
    """HEAD where the files do not say, as with reftables."""
    answer = git(place.top, *words, "--quiet", "HEAD", check=False)
    return answer.decode("utf-8", "surrogateescape").strip() or None


def _read(place: Place, below: str) -> list[Snapshot]:
    return parse(git(place.top, "for-each-ref", f"--format={FIELDS}", f"{below}/"), REFS)
