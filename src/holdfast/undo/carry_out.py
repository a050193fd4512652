"""Carry out an undo: all of it, or after a kill the rest of it.

Three parts. The new content of each file is written beside it, which may fail and changes nothing. The undo is recorded.
Then only names change: what stood there is swapped for the new content, and looked at before it goes. The intent, a
file in the journal's home, says from the first part on what is to be done; each step can be done again.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from typing import TYPE_CHECKING, TypedDict

from holdfast.git.repository import GitError, is_object_name
from holdfast.git.shadow_index import join_names
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import id_of, new_id
from holdfast.kernel.errors import NotAllowed, from_os_error
from holdfast.kernel.plain_file import open_plain, read_plain, write_all, write_synced
from holdfast.kernel.tree_file import UNFINISHED, TreeFile, exchange, place_new, refuse_name
from holdfast.kernel.views.files import identity
from holdfast.undo.merge import read_object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.git.shadow_index import Shadow
    from holdfast.undo.plan import Plan
    from holdfast.undo.store import Store

LARGEST_INTENT = 1 << 28
# More new files than this are synced all at once.
MOST_SYNCED = 200
LINK = "120000"
# The identity of no file.
CHANGED = "changed"


class Step(TypedDict):
    """One file. `found` is the identity of what stands there, `new` that of the new content in `aside`."""

    path: str
    do: str
    aside: str
    found: str | None
    new: str | None
    bits: int


class Commits(TypedDict):
    """Where HEAD and the index go: a branch, its commit and the tree of the index."""

    branch: str
    head: str
    index: str


class Intent(TypedDict):
    """An undo under way. Until `is_ready`, nothing has changed."""

    id: str
    at: str
    is_ready: bool
    steps: list[Step]
    make: list[str]
    remove: list[str]
    keep: list[str]
    commits: Commits | None


def path_of(store: Store) -> str:
    """Return where the intent of a worktree is kept."""
    return os.path.join(store.workspace.home, f"undo-{store.place.key}.json")


def read_intent(store: Store) -> Intent | None:
    """Return the undo that was cut off; None where none was."""
    try:
        intent: Intent = json.loads(read_plain(path_of(store), LARGEST_INTENT, follow=False))
        is_sound = _is_sound(intent)
    except (OSError, NotAllowed, ValueError, TypeError, KeyError, AttributeError):
        return None
    return intent if is_sound else None


def _is_sound(intent: Intent) -> bool:
    """Return whether what is under way can be done: an archive of a repository can bring such a file."""
    for step in intent["steps"]:
        refuse_name("", step["path"])
        refuse_name("", step["aside"])
    for folder in (*intent["make"], *intent["remove"], *intent["keep"]):
        refuse_name("", folder)
    commits = intent["commits"]
    names = (commits["head"], commits["index"]) if commits else ()
    return all(is_object_name(name) for name in names if name)


def forget_intent(store: Store) -> None:
    """Remove the intent: nothing is under way any more."""
    try:
        os.unlink(path_of(store))
    except FileNotFoundError:
        return


def carry_out(
    store: Store,
    shadow: Shadow,
    plan: Plan,
    target: str,
    intent_id: str,
    *,
    at: str,
    commits: Commits | None,
    record: Callable[[], None],
) -> list[str]:
    """Make the work tree as planned. `record` is called once nothing can fail for lack of space. Return what was left,
    because it changed in the last instant."""
    top = store.place.top
    intent: Intent = {
        "id": intent_id,
        "at": at,
        "is_ready": False,
        "steps": [_step(top, path, plan) for path in sorted(plan.cells)],
        "make": plan.make,
        "remove": plan.remove,
        "keep": [*plan.make, *plan.present["extras"]["empty"]],
        "commits": commits,
    }
    try:
        _leave_changed(store, shadow, plan, intent["steps"])
        _write_intent(store, intent)
        reached("before the files of an undo are prepared")
        _prepare(store, shadow, target, intent["steps"])
        intent["is_ready"] = True
        _write_intent(store, intent)
        reached("before an undo is recorded")
        record()
    except BaseException as error:
        take_back(store, intent)
        if isinstance(error, OSError):
            raise from_os_error(error, "taking back what a prompt changed") from error
        raise
    reached("after an undo is recorded")
    return finish(store, intent)


def take_back(store: Store, intent: Intent) -> None:
    """Remove what was prepared; nothing else has changed."""
    for step in intent["steps"]:
        if step["do"] == "write":
            TreeFile(store.place.top, step["aside"], is_strict=True).remove_if_any()
    forget_intent(store)


def finish(store: Store, intent: Intent) -> list[str]:
    """Do what is left of an undo that is ready. Return the files that changed meanwhile, which stay as they are."""
    top, left = store.place.top, []
    order = {"remove": 0, "write": 1, "mode": 2}
    for step in sorted(intent["steps"], key=lambda one: (order[one["do"]], one["path"])):
        reached("before a file is taken back")
        try:
            _do(top, step, intent["keep"])
        except (OSError, _Changed) as problem:
            left.append(f"{step['path']} ({getattr(problem, 'strerror', None) or problem})")
    for folder in sorted(intent["remove"], reverse=True):
        TreeFile(top, folder, is_strict=True).remove_folder()
        _remove_parents(top, folder, intent["keep"])
    for folder in intent["make"]:
        try:
            TreeFile(top, folder, is_strict=True).make_folder()
        except OSError as problem:
            left.append(f"{folder} ({problem.strerror})")
    if intent["commits"]:
        _move_head(store, intent["commits"])
    reached("before an undo is settled")
    forget_intent(store)
    return left


def _step(top: str, path: str, plan: Plan) -> Step:
    how = plan.how(path)
    target = plan.cells[path][1]
    return {
        "path": path,
        "do": {"delete": "remove", "mode": "mode"}.get(how, "write"),
        "aside": _aside(top, path),
        "found": _identity(TreeFile(top, path, is_strict=True)),
        "new": None,
        "bits": target.bits if target is not None else 0,
    }


def _leave_changed(store: Store, shadow: Shadow, plan: Plan, steps: Sequence[Step]) -> None:
    """Let the files stay that changed since they were looked at, whatever their times say: no state holds what they
    are now."""
    regular = []
    for step in steps:
        present = plan.cells[step["path"]][0]
        file = TreeFile(store.place.top, step["path"], is_strict=True)
        if step["found"] is None or present is None:
            is_same = step["found"] is None and present is None
        elif present.mode == LINK:
            is_same = _read_link(file) == read_object(store, present.object)
        else:
            status = file.status()
            is_same = status is not None and stat.S_IMODE(status.st_mode) == present.bits
            regular.append((step, present.object))
        if not is_same:
            step["found"] = CHANGED
    for start in range(0, len(regular), 500):
        some = regular[start : start + 500]
        words = ("hash-object", "--", *(step["path"] for step, _ in some))
        try:
            names = shadow.git(*words).decode().split()
        except GitError:
            names = [_hash(shadow, step["path"]) for step, _ in some]
        for (step, object), name in zip(some, names, strict=True):
            if name != object:
                step["found"] = CHANGED


def _hash(shadow: Shadow, path: str) -> str:
    try:
        return shadow.git("hash-object", "--", path).decode().strip()
    except GitError:
        return ""


def _read_link(file: TreeFile) -> bytes:
    try:
        return os.fsencode(file.link())
    except OSError:
        return b""


def _aside(top: str, path: str) -> str:
    """Return a name for the new content: in the nearest folder on the way that is there."""
    folder = os.path.dirname(path)
    while folder:
        whole = os.path.join(top, folder)
        if os.path.isdir(whole) and not os.path.islink(whole):
            break
        folder = os.path.dirname(folder)
    name = f"{UNFINISHED}{id_of(os.fsencode(path).hex())[:16]}.unfinished"
    return f"{folder}/{name}" if folder else name


def _write_intent(store: Store, intent: Intent) -> None:
    write_synced(path_of(store), json.dumps(intent).encode())


def _prepare(store: Store, shadow: Shadow, target: str, steps: Sequence[Step]) -> None:
    """Write the new content of each file beside its place, with its mode, synced."""
    wanted = [step for step in steps if step["do"] == "write"]
    folder = os.path.join(shadow.folder, f"undone-{new_id()[:8]}")
    index = f"{folder}.index"
    os.mkdir(folder, 0o700)
    try:
        shadow.git("read-tree", "--no-sparse-checkout", target, index=index)
        words = (f"--work-tree={folder}", "checkout-index", "-q", "-z", "--stdin")
        names = join_names(step["path"] for step in wanted)
        shadow.git(*words, input=names, index=index)
        for step in wanted:
            source = os.path.join(folder, step["path"])
            aside = TreeFile(store.place.top, step["aside"], is_strict=True)
            aside.remove_if_any()
            _copy(source, aside, step["bits"], synced=len(wanted) <= MOST_SYNCED)
            step["new"] = _identity(aside)
        if len(wanted) > MOST_SYNCED:
            os.sync()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.exists(index):
            os.unlink(index)


def _copy(source: str, aside: TreeFile, bits: int, *, synced: bool) -> None:
    facts = os.lstat(source)
    if stat.S_ISLNK(facts.st_mode):
        aside.write_link(os.readlink(os.fsencode(source)))
        return
    descriptor = aside.create(0o600)
    try:
        with os.fdopen(open_plain(source), "rb") as file:
            while chunk := file.read(1 << 20):
                write_all(descriptor, chunk)
        os.fchmod(descriptor, bits)
        if synced:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Changed(Exception):
    """A file changed in the last instant."""

    def __init__(self) -> None:
        super().__init__("it changed just now")


def _do(top: str, step: Step, keep: Sequence[str]) -> None:
    file = TreeFile(top, step["path"], is_strict=True)
    aside = TreeFile(top, step["aside"], is_strict=True)
    if step["do"] == "mode":
        if _identity(file) != step["found"]:
            raise _Changed
        _set_mode(file, step["bits"])
    elif step["do"] == "remove":
        _remove(file, aside, step["found"])
        _remove_parents(top, step["path"], keep)
    else:
        _place(file, aside, step["found"], step["new"])


def _set_mode(file: TreeFile, bits: int) -> None:
    descriptor = file.open()
    try:
        os.fchmod(descriptor, bits)
    finally:
        os.close(descriptor)


def _remove(file: TreeFile, aside: TreeFile, found: str | None) -> None:
    """Move a file aside, look at it, and remove it. After a kill, it may be aside already."""
    if _identity(aside) is None:
        if _identity(file) is None:
            return
        place_new(file, aside)
    if _identity(aside) != found:
        place_new(aside, file)
        raise _Changed
    aside.remove()


def _place(file: TreeFile, aside: TreeFile, found: str | None, new: str | None) -> None:
    """Swap a file for its new content, look at what was there, and remove that."""
    if _identity(file) == new:  # before a kill
        if _identity(aside) not in (None, found):
            exchange(aside, file)
            aside.remove_if_any()
            raise _Changed
        aside.remove_if_any()
        return
    try:
        if _identity(aside) != new:
            raise OSError(errno.ENOENT, "its new content is gone")
        if _identity(file) != found:
            raise _Changed
        if found is None:
            file.remove_folder()  # an empty one
            try:
                place_new(aside, file, folder_mode=0o777)
            except FileExistsError:
                raise _Changed from None
            return
        if exchange(aside, file) and _identity(aside) != found:
            exchange(aside, file)
            raise _Changed
    finally:
        if _identity(aside) in (new, found):
            aside.remove_if_any()


def _remove_parents(top: str, path: str, keep: Sequence[str]) -> None:
    """Remove the folders on the way to a path that are empty then."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in keep:
        TreeFile(top, "/".join(parts), is_strict=True).remove_folder()
        parts.pop()


def _identity(file: TreeFile) -> str | None:
    """Return what stands there; None when nothing does, or a folder whose files go first."""
    try:
        status = file.status()
    except OSError:
        return None
    return None if status is None or stat.S_ISDIR(status.st_mode) else identity(status)


def _move_head(store: Store, commits: Commits) -> None:
    """Move HEAD, its branch and the index to where they were. The reflog has the commits that go."""
    said = ("-m", "holdfast undo --commits")
    if commits["branch"]:
        ref = f"refs/heads/{commits['branch']}"
        store.git("symbolic-ref", *said, "HEAD", ref)
        store.git("update-ref", *said, ref, commits["head"])
    elif commits["head"]:
        store.git("update-ref", "--no-deref", *said, "HEAD", commits["head"])
    if commits["index"]:
        store.git("read-tree", commits["index"])
