"""Snapshots to a git remote and from it, so that another machine can go on with what is not committed.

On the remote a snapshot is `refs/holdfast/snapshots/machine-<machine>/<worktree>/<id>`. A fetched one has
that name here too, so that the snapshots of two machines never stand in one row. No branch, no tag and no
remote-tracking ref is touched, and no snapshot ever takes the place of a different one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypedDict

from holdfast.git.repository import GitError, Place, locate
from holdfast.git.run import Finished, git, run
from holdfast.git.snapshot import FIELDS, MACHINE, REFS, Snapshot, parse
from holdfast.kernel import crash
from holdfast.kernel.errors import Conflict, HoldfastError, NotAllowed, NotFound, StoreAway, Usage
from holdfast.kernel.text import quote, split_words

# Names that we give. Whatever else a remote has there is no snapshot.
_OURS = re.compile(
    rf"{REFS}/{MACHINE}([0-9a-f]{{1,64}})/([A-Za-z0-9_-]{{1,100}})/([A-Za-z0-9_-]{{1,128}})"
)
# Seconds for a question to a remote, and for the work that follows.
ASK_SECONDS = 30.0
SEND_SECONDS = 300.0
# So many refs are named in one call, and so many snapshots fetched at once.
BATCH = 50
MOST = 500
_PUSH = ("push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no")
_FETCH = split_words(
    "-c fetch.fsckObjects=true fetch --no-tags --no-write-fetch-head --refmap= "
    "--no-recurse-submodules --no-prune --no-auto-maintenance --quiet"
)
_AWAY = re.compile(
    "Could not resolve|unable to connect|Connection refused|Connection timed out|"
    "Network is unreachable|No route to host|Connection reset|Failed to connect|"
    "Operation timed out|early EOF|the remote end hung up|Temporary failure"
)
_RIGHTS = re.compile(
    "Permission denied|ermission to|Authentication failed|could not read (?:Username|Password)|"
    "returned error: 40[13]|access denied|insufficient permission|"
    "Host key verification failed|[rR]ead-only"
)
_NOWHERE = re.compile("does not appear to be a git repository|not found|does not exist")


class Shared(TypedDict):
    """One snapshot, and what became of it: pushed, fetched, there (already), differs (another one has
    its name), refused or removed; for a dry run, would push, would fetch or would remove."""

    id: str
    commit: str
    machine: str
    worktree: str
    status: str
    reason: str


class Exchange(TypedDict):
    remote: str
    snapshots: list[Shared]
    ignored: int
    """Refs of the remote that other programs named."""
    dry_run: bool


def ref_of(one: Shared) -> str:
    """The name that a snapshot has on the remote."""
    return f"{REFS}/{MACHINE}{one['machine']}/{one['worktree']}/{one['id']}"


def remote_of(root: str, named: str = "") -> str:
    """A remote of this repository: the one that is named, `origin`, or the only one."""
    names = git(locate(root).top, "remote").decode("utf-8", "replace").split()
    if named:
        if named in names:
            return named
        raise NotFound(
            f"This repository has no remote {named!r}.",
            hint=f"It has {', '.join(names)}." if names else "git remote add NAME URL",
            kind="no_remote",
        )
    if "origin" in names or len(names) == 1:
        return "origin" if "origin" in names else names[0]
    if not names:
        raise NotFound(
            "This repository has no remote.", hint="git remote add origin URL", kind="no_remote"
        )
    raise Usage(f"Which remote: {', '.join(names)}?", hint="Name one.", kind="no_remote")


def push(
    root: str, snapshots: Sequence[Snapshot], machine: str, remote: str, *, dry_run: bool = False
) -> Exchange:
    """Send snapshots of this clone, under this machine's name. Of those that it had sent before, the
    remote keeps what this clone keeps: what `gc` or `purge` removed here goes there too."""
    place = locate(root)
    present, _ = _ask_remote(place, remote, f"{REFS}/{MACHINE}{machine}/*")
    shared = [
        _shared("would push", one["commit"], machine, one["worktree"], one["id"])
        for one in snapshots
    ]
    missing = []
    for one in shared:
        there = present.get(ref_of(one))
        if there is None:
            missing.append(one)
        else:
            _compare(one, there)
    if not dry_run:
        crash.reached("before pushing")
        for start in range(0, len(missing), BATCH):
            _send(place, remote, missing[start : start + BATCH])
    shared += _drop(place, remote, machine, present, dry_run=dry_run)
    return {"remote": remote, "snapshots": shared, "ignored": 0, "dry_run": dry_run}


def _send(place: Place, remote: str, batch: list[Shared]) -> None:
    # A lease on nothing: the ref that was there first stays, also when ours would only go on from it.
    leases = [f"--force-with-lease={ref_of(one)}:" for one in batch]
    wanted = [f"{one['commit']}:{ref_of(one)}" for one in batch]
    done = _talk(place, *_PUSH, *leases, "--", remote, *wanted)
    said: dict[str, tuple[str, str]] = {}
    for line in done.output.decode("utf-8", "replace").splitlines():
        flag, tab, rest = line.partition("\t")
        if tab and len(flag) == 1:
            pair, _, summary = rest.partition("\t")
            said[pair.partition(":")[2]] = (flag, summary)
    for one in batch:
        flag, summary = said.get(ref_of(one), ("", ""))
        if flag and flag in "*=":
            one["status"] = "pushed"
        elif flag == "!" and "stale info" in summary:
            one["status"], one["reason"] = "differs", "another push came first"
        elif flag == "!":
            one["status"], one["reason"] = "refused", without_credentials(summary)
        else:
            raise trouble(remote, done)


def _drop(
    place: Place, remote: str, machine: str, present: dict[str, str], *, dry_run: bool
) -> list[Shared]:
    """Remove what this clone had sent and has not got any more. A remote that refuses every removal
    keeps it."""
    known, row = _local(place), f"{REFS}/{MACHINE}{machine}/"
    gone = [name for name in present if f"{REFS}/{name.removeprefix(row)}" not in known]
    if not gone:
        return []
    if not dry_run:
        leases = [f"--force-with-lease={name}:{present[name]}" for name in gone[:BATCH]]
        wanted = [f":{name}" for name in gone[:BATCH]]
        done = _talk(place, *_PUSH, *leases, "--", remote, *wanted)
        said = done.output.decode("utf-8", "replace")
        gone = [name for name in gone if f"-\t:{name}\t" in said]
    status = "would remove" if dry_run else "removed"
    return [
        _shared(status, present[name], machine, *name.removeprefix(row).split("/")) for name in gone
    ]


def fetch(root: str, machine: str, remote: str, *, dry_run: bool = False) -> Exchange:
    """Get the snapshots of all other machines that this clone has not got."""
    place = locate(root)
    present, ignored = _ask_remote(place, remote, f"{REFS}/{MACHINE}*")
    known = _local(place)
    shared: list[Shared] = []
    missing: list[str] = []
    for name, commit in sorted(present.items()):
        found = _OURS.fullmatch(name)
        if found is None or found[1] == machine:
            continue
        one = _shared("would fetch", commit, *found.groups())
        shared.append(one)
        if name in known:
            _compare(one, known[name])
        elif len(missing) < MOST:
            missing.append(name)
        else:
            one["reason"] = f"no more than {MOST} at once"
    if not dry_run and missing:
        for start in range(0, len(missing), BATCH):
            batch = [f"{name}:{name}" for name in missing[start : start + BATCH]]
            done = _talk(place, *_FETCH, "--", remote, *batch)
            if done.code:
                raise trouble(remote, done)
        _settle(place, shared, missing)
    return {"remote": remote, "snapshots": shared, "ignored": ignored, "dry_run": dry_run}


def _settle(place: Place, shared: list[Shared], missing: Iterable[str]) -> None:
    """What came that is no snapshot is let go again: its name alone does not make it one."""
    found = parse(git(place.top, "for-each-ref", f"--format={FIELDS}", f"{REFS}/"), REFS)
    good = {f"{REFS}/{one['worktree']}/{one['id']}": one["commit"] for one in found}
    known = _local(place)
    for one in shared:
        name = ref_of(one)
        if name not in missing or name not in known:
            continue
        if name in good:
            one["status"], one["commit"] = "fetched", good[name]
        else:
            git(place.top, "update-ref", "-d", name, known[name])
            one["status"], one["reason"] = "refused", "it is no snapshot"


def _talk(place: Place, *words: str, seconds: float = SEND_SECONDS) -> Finished:
    return run(place.top, *words, seconds=seconds, as_the_user=True)


def _ask_remote(place: Place, remote: str, pattern: str) -> tuple[dict[str, str], int]:
    """The snapshots that a remote has, by ref; and how many refs are none."""
    done = _talk(place, "ls-remote", "--refs", "--", remote, pattern, seconds=ASK_SECONDS)
    if done.code:
        raise trouble(remote, done)
    found, ignored = {}, 0
    for line in done.output.decode("utf-8", "replace").splitlines():
        commit, _, name = line.partition("\t")
        if _OURS.fullmatch(name):
            found[name] = commit
        else:
            ignored += 1
    return found, ignored


def _local(place: Place) -> dict[str, str]:
    lines = git(place.top, "for-each-ref", "--format=%(objectname) %(refname)", f"{REFS}/")
    pairs = (line.partition(" ") for line in lines.decode("utf-8", "replace").splitlines())
    return {name: commit for commit, _, name in pairs}


def _shared(status: str, commit: str, machine: str, worktree: str, id: str) -> Shared:
    return {
        "id": id,
        "commit": commit,
        "machine": machine,
        "worktree": worktree,
        "status": status,
        "reason": "",
    }


def _compare(one: Shared, there: str) -> None:
    one["status"] = "there" if there == one["commit"] else "differs"
    if one["status"] == "differs":
        one["reason"] = "another snapshot has its name; neither was changed"


def refuse_unshared(done: Exchange) -> None:
    """What did not go through is an error, once everything else has."""
    for one in done["snapshots"]:
        if one["status"] == "differs":
            raise Conflict(
                f"Snapshot {one['id'][:12]}: {one['reason']}.",
                hint=f"Look at both: git ls-remote {quote(done['remote'])} '{REFS}/*'",
                kind="snapshot_differs",
            )
        if one["status"] == "refused":
            raise NotAllowed(
                f"{done['remote']} does not take snapshot {one['id'][:12]}: {one['reason']}.",
                hint="Its owner has to allow refs below refs/holdfast.",
                kind="remote_refused",
            )


def trouble(remote: str, done: Finished) -> HoldfastError:
    """Why a remote gives or takes nothing, and who has to act."""
    said = without_credentials(_last_word(done))
    if _RIGHTS.search(done.errors):
        return NotAllowed(
            f"{remote} does not let this user in: {said}",
            hint="Look at the key or the token that git uses there; nothing was asked for here.",
            kind="remote_refused",
        )
    if _AWAY.search(done.errors):
        return StoreAway(
            f"The remote {remote} does not answer: {said}",
            hint="Try again when the network is back. Nothing was changed.",
            kind="remote_away",
        )
    if _NOWHERE.search(done.errors):
        return NotFound(
            f"There is no repository at {remote}: {said}",
            hint=f"git remote get-url {quote(remote)}",
            kind="no_remote",
        )
    return GitError(f"{remote} could not be used: {said}")


def _last_word(done: Finished) -> str:
    """What the far end said is worth more than git's own summary of it."""
    lines = [line.strip() for line in done.errors.splitlines() if line.strip()]
    far = [line.removeprefix("remote: ") for line in lines if line.startswith("remote: ")]
    return far[0] if far and far[0] else done.reason


def without_credentials(text: str) -> str:
    """Git's words without what a URL may hold of a user's secrets."""
    return re.sub(r"(\w+://)[^\s/@']*@", r"\1", text)
