"""Objects of git that nothing reaches any more: after a purge, no one of them shall hold the erased text.

Only what deleted snapshots held is removed: loose objects that no ref, reflog or index of any worktree
reaches, and none that was written since the purge began (git renews the time of an object that it would
write again). Other unreachable objects belong to the user and are only found.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from holdfast.git.run import git

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.git.repository import Place

REACHABLE = ("rev-list", "--objects", "--no-object-names", "--all", "--reflog", "--indexed-objects")
SECONDS = 600.0
SUBMODULE = b"160000 "
LARGEST_BATCH = 1 << 26


def list_objects(place: Place, commits: Iterable[str]) -> set[str]:
    """Return the names of the objects that these commits hold, their parents left out."""
    found = set()
    for commit in commits:
        name, tree = git(place.top, "rev-parse", commit, f"{commit}^{{tree}}").decode().split()
        found |= {name, tree}
        listed = git(place.top, "ls-tree", "-r", "-t", "-z", "--full-tree", tree, seconds=SECONDS)
        for line in listed.split(b"\0"):
            if line and not line.startswith(SUBMODULE):
                found.add(line.split(b"\t", 1)[0].split(b" ")[2].decode())
    return found


def remove_objects(place: Place, objects: Iterable[str], *, before: float) -> None:
    """Remove those of the objects that nothing reaches, unless they were written since `before`."""
    for name in sorted(set(objects) - _list_reachable(place)):
        with contextlib.suppress(OSError):
            path = _find_path(place, name)
            if os.stat(path).st_mtime < before:
                os.unlink(path)


def find_objects(place: Place, objects: Iterable[str], wanted: list[bytes]) -> list[str]:
    """Return the names of objects that nothing reaches and that hold one of the texts: of those named, and
    of all loose ones."""
    names = (set(objects) | set(_list_loose(place))) - _list_reachable(place)
    found = []
    for batch in _split(place, sorted(names)):
        output = git(place.top, "cat-file", "--batch", input=batch, seconds=SECONDS)
        start = 0
        while start < len(output):
            end = output.index(b"\n", start)
            words = output[start:end].split(b" ")
            start = end + 1
            if len(words) != 3:  # an object that is missing
                continue
            size = int(words[2])
            if any(form in output[start : start + size] for form in wanted):
                found.append(words[0].decode())
            start += size + 1
    return found


def _list_reachable(place: Place) -> set[str]:
    return set(git(place.top, *REACHABLE, seconds=SECONDS).decode().split())


def _find_path(place: Place, name: str) -> str:
    return os.path.join(place.common_dir, "objects", name[:2], name[2:])


def _list_loose(place: Place) -> Iterator[str]:
    folder = os.path.join(place.common_dir, "objects")
    for first in os.listdir(folder):
        if len(first) == 2:
            for rest in os.listdir(os.path.join(folder, first)):
                if len(rest) in (38, 62):  # SHA-1 or SHA-256
                    yield first + rest


def _split(place: Place, names: list[str]) -> Iterator[bytes]:
    """Yield the names in lines, as many at a time as fit into memory with what they hold."""
    if not names:
        return
    lines = "".join(f"{name}\n" for name in names).encode()
    sizes = git(place.top, "cat-file", "--batch-check=%(objectname) %(objectsize)", input=lines)
    batch, held = b"", 0
    for line in sizes.splitlines():
        name, size = line.split(b" ", 1)
        if not size.isdigit():
            continue
        if batch and held + int(size) > LARGEST_BATCH:
            yield batch
            batch, held = b"", 0
        batch += name + b"\n"
        held += int(size)
    if batch:
        yield batch
