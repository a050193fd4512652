"""Snapshots: the whole work tree, untracked files too, as commits under refs of our own.

`refs/holdfast/snapshots/<worktree>/<id>`. Index, stash, branches, HEAD and reflogs stay as they are.
"""

from __future__ import annotations

from typing import TypedDict

from holdfast.git.capture import LIMIT, TreeCapture, capture
from holdfast.git.head import head_of
from holdfast.git.object_writer import Scribe
from holdfast.git.repository import Place, locate
from holdfast.git.run import git
from holdfast.git.shadow_index import SETTINGS, Shadow
from holdfast.git.trailers import FIELDS, Snapshot, compose, parse
from holdfast.git.tree_diff import (
    Difference,
    against_parent,
    count_against_parents,
    differences,
)
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import NotFound, Usage

REFS = "refs/holdfast/snapshots"
ID_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


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
    with Shadow(locate(root)) as shadow, Scribe(shadow.place) as scribe:
        present = capture(shadow, limit, meanwhile=scribe.prepare)
        return record(shadow, scribe, present, session=session, id=id, now=now)


def record(
    shadow: Shadow,
    scribe: Scribe,
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
    snapshot["commit"] = scribe.write(compose(snapshot), ref)
    shadow.facts["newest"] = snapshot
    return snapshot


def listing(root: str, *, everywhere: bool = False) -> list[Snapshot]:
    """The snapshots of this worktree, or of all, newest first."""
    place = locate(root)
    found = _read(place, REFS if everywhere else f"{REFS}/{place.key}")
    if everywhere:
        return sorted(found, key=lambda snapshot: snapshot["at"], reverse=True)
    return sorted(found, key=lambda snapshot: snapshot["number"], reverse=True)


def list_with_counts(root: str, *, everywhere: bool = False) -> list[CountedSnapshot]:
    """The same, each with the number of paths that `show` lists."""
    found = listing(root, everywhere=everywhere)
    counts = count_against_parents(locate(root).top, [one["commit"] for one in found])
    return [{**one, "holds": counts[one["commit"]]} for one in found]


def find(root: str, prefix: str) -> Snapshot:
    """The one snapshot, of any worktree, whose id begins like this."""
    found = [
        snapshot
        for snapshot in listing(root, everywhere=True)
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
        "changes": against_parent(place.top, snapshot["commit"]),
        "present": differences(place.top, snapshot["tree"], present),
    }


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
