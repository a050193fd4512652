"""Kept states of a work tree: its files as a tree of git, and beside it what such a tree cannot hold.

A state is a commit under `refs/holdfast/undo/`, with the folder `files` and the file `extras`: modes other than the usual
ones, empty folders, and what was left out. Its parent is HEAD, so that no commit of the time is lost. A folder without
git gets a repository of Holdfast's own, in the journal's home, that nothing else uses.
"""

from __future__ import annotations

import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.git.capture import TreeCapture, capture
from holdfast.git.repository import GitError, Place, head_of, locate
from holdfast.git.run import git, run
from holdfast.git.shadow_index import Shadow, join_names
from holdfast.kernel import clock, config
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import open_plain, read_plain, write_aside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.git.capture import Skipped
    from holdfast.git.snapshot import TreeEntry
    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.rules.prompts import TreeState

REFS = "refs/holdfast/undo"
AUTHOR = "holdfast <undo@holdfast.invalid>"
PLAIN_STORE = "undo.git"
TABLE = "extras.json"
# A folder without git is kept up to so many files and bytes.
MOST_PLAIN_FILES, MOST_PLAIN_BYTES = 20_000, 1_000_000_000
LARGEST_INDEX = 1 << 28
RECENT_SECONDS = 2.0
FILE, PROGRAM = "100644", "100755"

DIRTY = ("diff-files", "-z", "--name-only", "--ignore-submodules=dirty")
OTHERS = ("ls-files", "-z", "-o", "--directory", "--exclude-standard")
OTHER_FILES = ("ls-files", "-z", "-t", "-o", "--exclude-standard")
RAW = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")


class Extras(TypedDict):
    """What a tree does not hold. `usual` are the modes of a file and a program; `modes` those of files that differ."""

    usual: list[int]
    modes: dict[str, int]
    empty: list[str]
    skipped: list[Skipped]
    submodules: list[str]


class Present(TypedDict):
    """The work tree as it is: its tree in git, and its extras."""

    tree: str
    extras: Extras


class Store:
    """The states of one worktree."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.is_plain = False
        self.environment: dict[str, str] = {}
        try:
            self.place = locate(workspace.root)
        except GitError:
            self.is_plain = True
            folder = os.path.join(workspace.home, PLAIN_STORE)
            self.place = Place(os.path.realpath(workspace.root), folder, folder, "")
            self.environment = {"GIT_DIR": folder, "GIT_WORK_TREE": self.place.top}
        settings = config.load(
            workspace, workspace.journal if not workspace.url and workspace.exists() else None
        )
        self.limit = int(settings["snapshot.largest_mb"]) * 1_000_000
        self.include = str(settings["undo.include"]).split()

    @property
    def refs(self) -> str:
        return f"{REFS}/{self.place.key}"

    @property
    def folder(self) -> str:
        """Return where the index of the states is, and what is known beside it."""
        base = self.place.common_dir if self.is_plain else f"{self.place.common_dir}/holdfast"
        return os.path.join(base, f"index-undo-{self.place.key}")

    def shadow(self) -> Shadow:
        """Return the index that follows the work tree from state to state, to be held."""
        if self.is_plain and not os.path.isdir(self.place.git_dir):
            _refuse_large(self.place.top)
            words = ("init", "--quiet", "--bare", "--template=", self.place.git_dir)
            os.makedirs(self.place.git_dir, 0o700, exist_ok=True)
            git(self.place.git_dir, *words)
        return Shadow(self.place, self.folder, self.environment, is_exact=True)

    def git(self, *words: str, input: bytes | None = None) -> bytes:
        """Return what git says in the repository of the states."""
        environment = {**self.environment, "GIT_LITERAL_PATHSPECS": "1"}
        return git(self.place.top, *words, input=input, environment=environment, seconds=600.0)

    def code(self, *words: str) -> int:
        """Return the exit code of git in the repository of the states."""
        return run(self.place.top, *words, environment=self.environment).code

    def compare(self, old: str, new: str) -> dict[str, TreeEntry]:
        """Return what differs between two trees, by path."""
        from holdfast.git.snapshot import parse_entries

        if old == new:
            return {}
        return {entry.path: entry for entry in parse_entries(self.git(*RAW, old, new))}

    def extras(self, state: TreeState) -> Extras:
        """Return the extras of a state."""
        extras: Extras = json.loads(self.git("cat-file", "blob", state["extras"]))
        return extras

    def holds(self, state: TreeState) -> bool:
        """Return whether a state is still kept."""
        return self.code("cat-file", "-e", f"{state['commit']}^{{commit}}") == 0

    def look(self, shadow: Shadow) -> Present:
        """Bring the index up to the work tree. Return what is there."""
        newest = _read_table(shadow).get("newest")
        if isinstance(newest, dict) and self._has_ref(str(newest.get("id"))):
            shadow.kept = str(newest.get("files"))
        listing = _Listing(shadow)
        captured = capture(shadow, self.limit, listing.read)
        included = self._included(shadow)
        tree = self._with_included(shadow, captured, included) if included else captured["tree"]
        return {"tree": tree, "extras": listing.extras(captured, included)}

    def take(self, shadow: Shadow, now: int) -> TreeState:
        """Keep the work tree as it is. The newest state is returned again while nothing has changed."""
        present = self.look(shadow)
        return self.keep(shadow, present["tree"], present["extras"], now)

    def keep(
        self, shadow: Shadow, tree: str, extras: Extras, now: int, *, is_new: bool = False
    ) -> TreeState:
        """Put a tree and its extras under a ref, unless the newest state holds the same."""
        table = _read_table(shadow)
        text = json.dumps(extras, sort_keys=True)
        known: Any = table.get("newest") or {}
        head, branch = self._head()
        index = self._index_tree(shadow, table)
        same = {"files": tree, "head": head, "branch": branch, "index": index}
        if (
            not is_new
            and table.get("text") == text
            and same.items() <= known.items()
            and self._has_ref(known["id"])
        ):
            newest: TreeState = known
            return newest
        blob = self.git("hash-object", "-w", "--stdin", input=text.encode()).decode().strip()
        both = f"100644 blob {blob}\textras\x00040000 tree {tree}\tfiles\0"
        whole = self.git("mktree", "-z", input=both.encode()).decode().strip()
        state: TreeState = {
            "id": new_id(),
            "commit": "",
            "files": tree,
            "extras": blob,
            "head": head,
            "branch": branch,
            "index": index,
            "at": clock.precise(now),
        }
        state["commit"] = self._commit(state, whole)
        if not is_new:
            _write_table(shadow, {**table, "text": text, "newest": state})
        return state

    def _has_ref(self, id: str) -> bool:
        """Return whether a state is kept, by a file alone; after a `git pack-refs` the next state is a new one."""
        return os.path.exists(f"{self.place.common_dir}/{self.refs}/{id}")

    def _commit(self, state: TreeState, whole: str) -> str:
        second = clock.parse(state["at"]) // 1000
        lines = [f"tree {whole}", *([f"parent {state['head']}"] if state["head"] else [])]
        lines += [f"author {AUTHOR} {second} +0000", f"committer {AUTHOR} {second} +0000"]
        lines += ["", "State of the work tree", "", f"Holdfast-Undo: {state['id']}", ""]
        options = ("-c", "core.fsync=committed,reference", "-c", "core.logAllRefUpdates=false")
        words = ("hash-object", "-t", "commit", "-w", "--stdin")
        commit = self.git(*options, *words, input="\n".join(lines).encode()).decode().strip()
        ref = f"create {self.refs}/{state['id']}\0{commit}\0".encode()
        # The tree of the index is reachable, too: `--commits` reads it.
        if state["index"]:
            ref += f"create {self.refs}/{state['id']}.index\0{state['index']}\0".encode()
        self.git(*options, "update-ref", "--no-deref", "--stdin", "-z", input=ref)
        return commit

    def _head(self) -> tuple[str, str]:
        if self.is_plain:
            return "", ""
        head = head_of(self.place)
        if head["known"]:
            return head["commit"] or "", head["branch"] or ""
        commit = self.git("rev-parse", "--verify", "--quiet", "HEAD").decode().strip()
        branch = run(self.place.top, "symbolic-ref", "--short", "--quiet", "HEAD").output.decode()
        return commit, branch.strip()

    def _index_tree(self, shadow: Shadow, table: dict[str, Any]) -> str:
        """Return the tree of the user's index, made from a copy: git may write to an index that it reads."""
        if self.is_plain:
            return ""
        try:
            facts = os.stat(shadow.theirs)
            seen = [facts.st_ino, facts.st_mtime_ns, facts.st_size]
            if table.get("index_seen") == seen:
                return str(table["index_tree"])
            with os.fdopen(open_plain(shadow.theirs, follow=True), "rb") as file:
                content = file.read(LARGEST_INDEX)
            scratch = os.path.join(shadow.folder, "users")
            write_aside(scratch, content)
            tree = shadow.git("write-tree", index=scratch).decode().strip()
            os.unlink(scratch)
        except (OSError, GitError):  # no index yet, or a merge under way
            return ""
        table.update({"index_seen": seen, "index_tree": tree})
        return tree

    def _included(self, shadow: Shadow) -> list[str]:
        """Return the ignored files that the setting wants to be kept."""
        if not self.include:
            return []
        words = ("-z", "-o", "-i", "--exclude-standard", "--")
        patterns = [f":(glob){one}" for one in self.include]
        patterns += [f":(glob){one.rstrip('/')}/**" for one in self.include]
        environment = {**shadow.surroundings(), "GIT_LITERAL_PATHSPECS": "0"}
        output = git(self.place.top, "ls-files", *words, *patterns, environment=environment)
        found = [name for name in os.fsdecode(output).split("\0") if name]
        return [one for one in found if _is_small(f"{self.place.top}/{one}", self.limit)]

    def _with_included(self, shadow: Shadow, captured: TreeCapture, included: list[str]) -> str:
        scratch = shadow.copy("included")
        try:
            shadow.git(
                "update-index", "-z", "--add", "--stdin", input=join_names(included), index=scratch
            )
            return shadow.git("write-tree", index=scratch).decode().strip()
        finally:
            os.unlink(scratch)

    def list_ignored(self) -> list[str]:
        """Return what git ignores, whole folders with a slash: it is not part of any state."""
        words = ("ls-files", "-z", "-o", "-i", "--directory", "--exclude-standard")
        found = [name for name in os.fsdecode(self.git(*words)).split("\0") if name]
        return [one for one in found if one != ".holdfast/"]

    def list_states(self) -> list[tuple[str, int]]:
        """Return the ids of the kept states and their times in seconds, oldest first."""
        form = "--format=%(refname) %(committerdate:unix)"
        lines = self.git("for-each-ref", form, f"{self.refs}/").decode().splitlines()
        found = [line.rsplit(" ", 1) for line in lines if not line.split(" ")[0].endswith(".index")]
        pairs = [(ref.rpartition("/")[2], int(at or 0)) for ref, at in found]
        return sorted(pairs, key=lambda pair: pair[1])

    def drop(self, ids: Iterable[str]) -> None:
        """Remove kept states."""
        refs = self.git("for-each-ref", "--format=%(refname)", f"{self.refs}/").decode().split()
        wanted = {f"{self.refs}/{id}" for id in ids}
        lines = "".join(f"delete {ref}\n" for ref in refs if ref.removesuffix(".index") in wanted)
        if lines:
            self.git("update-ref", "--no-deref", "--stdin", input=lines.encode())


class _Listing:
    """What may have changed since the last state: two git processes at once, and what they say beyond names."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self._empty: list[str] = []
        self._dirty: list[str] = []
        self._began = 0.0

    def read(self) -> bytes:
        """Return the names as `git ls-files -t` would."""
        self._began = time.time()
        table = self._distrust()
        with self._shadow.start(*DIRTY) as dirty, self._shadow.start(*OTHERS) as others:
            self._dirty = _split(dirty.answer(seconds=600.0))
            found = _split(others.answer(seconds=600.0))
        folders = [name for name in found if name.endswith("/")]
        lines = [f"C {name}" for name in self._dirty]
        lines += [f"? {name}" for name in found if not name.endswith("/")]
        lines += self._look_into(folders)
        self._dirty += [line[2:] for line in lines if line[0] == "?"]
        if self._dirty and table:
            # From here on the index may know them; a kill must not make their modes forgotten.
            recent = [*table["recent"], *self._dirty]
            _write_table(self._shadow, {**table, "recent": recent})
        return b"".join(os.fsencode(line) + b"\0" for line in lines)

    def _distrust(self) -> dict[str, Any]:
        """Let git read files again that may have changed although their size and times say otherwise. Return what is
        known beside the index; nothing when the index is new.

        git compares seconds. It reads a file again whose content changed in the second of its index or later; not
        one whose content has an older time, as after `tar x`, `cp -p` or a rename, and that was written in that second.
        """
        shadow = self._shadow
        table = _read_table(shadow)
        is_known = table.get("index") == shadow.facts["index"]
        is_back = table.get("at", 0.0) > self._began  # the clock was set back
        names, least = table.get("recent", []), 0
        index = _status(shadow.index)
        if index is None:
            return {}
        if not is_known or is_back:
            names = _split(shadow.git("ls-files", "-z"))
            least = 0 if is_back else int(index.st_mtime)
        doubtful = set()
        for name in names:
            facts = _status(os.path.join(shadow.place.top, name))
            if facts is None or int(facts.st_ctime) < least:
                continue
            if is_back or int(facts.st_mtime) < int(index.st_mtime):
                doubtful.add(name)
        if doubtful:
            entries = shadow.git("ls-files", "-z", "--stage").split(b"\0")
            chosen = [one for one in entries if os.fsdecode(one.partition(b"\t")[2]) in doubtful]
            # An entry that is given without the times of its file has none.
            shadow.git("update-index", "-z", "--index-info", input=b"\0".join([*chosen, b""]))
        return table if is_known else {}

    def _look_into(self, folders: list[str]) -> list[str]:
        """Return the files in folders of which the index has none; the empty ones among them are kept apart."""
        full, inner, self._empty = [], [], []
        top = self._shadow.place.top
        for folder in folders:
            if os.path.lexists(os.path.join(top, folder, ".git")):
                full.append(folder)
                continue
            empty, has_files = _find_empty(top, folder.rstrip("/"))
            if has_files:
                full.append(folder)
                inner += empty
            else:
                self._empty += empty
        if inner:  # some of them may be ignored
            words = ("check-ignore", "-z", "--stdin")
            asked = join_names(f"{one}/" for one in inner)
            done = run(top, *words, input=asked, environment=self._shadow.surroundings())
            ignored = {name.rstrip("/") for name in _split(done.output)}
            self._empty += [one for one in inner if one not in ignored]
        return _split(self._shadow.git(*OTHER_FILES, "--", *full)) if full else []

    def extras(self, captured: TreeCapture, included: list[str]) -> Extras:
        """Return the extras, after the capture."""
        table = _read_table(self._shadow)
        top, index = self._shadow.place.top, self._shadow.facts["index"]
        if table.get("index") == index:
            modes: dict[str, int] = table["modes"]
            usual: list[int] = table["usual"]
            names = [*self._dirty, *included, *table["recent"]]
        else:
            modes = {}
            mask = os.umask(0o077)
            os.umask(mask)
            usual = [0o666 & ~mask, 0o777 & ~mask]
            names = [*_split(self._shadow.git("ls-files", "-z")), *included]
        # git compares seconds: what changed in this one is looked at again.
        recent, since = [], self._began - RECENT_SECONDS
        for name in dict.fromkeys(names):
            facts = _status(os.path.join(top, name))
            if facts is not None and facts.st_ctime > since:
                recent.append(name)
            is_file = facts is not None and stat.S_ISREG(facts.st_mode)
            mode = facts.st_mode & 0o777 if facts is not None and is_file else None
            if mode is None or mode == usual[bool(mode & stat.S_IXUSR)]:
                modes.pop(name, None)
            else:
                modes[name] = mode
        known = {"index": index, "modes": modes, "usual": usual, "recent": recent}
        _write_table(self._shadow, {**table, **known, "at": self._began})
        return {
            "usual": usual,
            "modes": modes,
            "empty": sorted({*self._empty, *_find_emptied(top, self._dirty)}),
            "skipped": captured["skipped"],
            "submodules": captured["submodules"],
        }


def _find_empty(top: str, folder: str) -> tuple[list[str], bool]:
    """Return the empty folders from a folder on, and whether there is any file."""
    empty, has_files = [], False
    for path, folders, files in os.walk(os.path.join(top, folder)):
        links = [name for name in folders if os.path.islink(os.path.join(path, name))]
        has_files = has_files or bool(files or links)
        if not folders and not files:
            empty.append(os.path.relpath(path, top))
    return empty, has_files


def _find_emptied(top: str, names: Iterable[str]) -> set[str]:
    """Return the folders that are empty because files went: until then git takes them for tracked ones."""
    found: set[str] = set()
    for name in names:
        if os.path.lexists(os.path.join(top, name)):
            continue
        folder = os.path.dirname(name)
        while folder and not os.path.lexists(os.path.join(top, folder)):
            folder = os.path.dirname(folder)
        whole = os.path.join(top, folder)
        if folder and os.path.isdir(whole) and not os.path.islink(whole) and not os.listdir(whole):
            found.add(folder)
    return found


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_small(path: str, limit: int) -> bool:
    facts = _status(path)
    if facts is None:
        return False
    return stat.S_ISLNK(facts.st_mode) or (stat.S_ISREG(facts.st_mode) and facts.st_size <= limit)


def _split(output: bytes) -> list[str]:
    return [name for name in os.fsdecode(output).split("\0") if name]


def _read_table(shadow: Shadow) -> dict[str, Any]:
    try:
        table = json.loads(read_plain(os.path.join(shadow.folder, TABLE), LARGEST_INDEX))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def _write_table(shadow: Shadow, table: dict[str, Any]) -> None:
    """Keep what is known. Not synced: when it is lost, every file is looked at once."""
    write_aside(os.path.join(shadow.folder, TABLE), json.dumps(table).encode())


def _refuse_large(top: str) -> None:
    count = size = 0
    for path, _, files in os.walk(top):
        count += len(files)
        if count <= MOST_PLAIN_FILES:
            size += sum(os.lstat(os.path.join(path, name)).st_size for name in files)
        if count > MOST_PLAIN_FILES or size > MOST_PLAIN_BYTES:
            raise HoldfastError(
                f"{top} is in no git repository, and too large to be kept without one: more than "
                f"{MOST_PLAIN_FILES:,} files or {MOST_PLAIN_BYTES // 1_000_000:,} MB.",
                hint="Run `git init` where the project begins.",
                kind="too_large",
            )
