"""Which workspace is this, and where are its things.

All worktrees of one git repository are one workspace: they share the journal in the git common
dir, where `git clean -fdx` and `git stash -a` do not reach. What belongs to one worktree alone (the
inbox of sandboxed writers, a latch, files on their way into place) is in its `.holdfast/`, which
ignores itself.
"""

from __future__ import annotations

import os

from holdfast.kernel.errors import HoldfastError, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.journal.sqlite import SqliteJournal
    from holdfast.kernel.lock import WorkspaceLock

CONFIG_FILE = "holdfast.toml"
TOOL_FOLDER = ".holdfast"


class Workspace:
    """The places of one worktree of one workspace, and its journal once it is asked for."""

    __slots__ = ("_journal", "git_dir", "home", "root")

    def __init__(self, root: str, *, git_dir: str, home: str) -> None:
        self.root = root
        self.git_dir = git_dir
        self.home = home
        self._journal: SqliteJournal | None = None

    @property
    def journal_path(self) -> str:
        return os.path.join(self.home, "journal.db")

    @property
    def tool_folder(self) -> str:
        return os.path.join(self.root, TOOL_FOLDER)

    @property
    def quarantine(self) -> str:
        return os.path.join(self.home, "quarantine")

    @property
    def journal(self) -> SqliteJournal:
        """The journal, made on first use. A reader without the right to write reads all the same."""
        if self._journal is None:
            from holdfast.kernel.journal.sqlite import SqliteJournal

            if os.path.exists(self.journal_path):
                writable = os.access(self.home, os.W_OK)
                self._journal = SqliteJournal(self.journal_path, read_only=not writable)
            else:
                from holdfast.kernel.filesystem import refuse_unsafe

                os.makedirs(self.home, 0o700, exist_ok=True)
                refuse_unsafe(self.home)
                self._journal = SqliteJournal(self.journal_path)
        return self._journal

    def exists(self) -> bool:
        return self._journal is not None or os.path.exists(self.journal_path)

    def lock(self) -> WorkspaceLock:
        from holdfast.kernel.lock import WorkspaceLock

        return WorkspaceLock(self.home)

    def prepare_tool_folder(self, name: str = "") -> str:
        """`.holdfast/` (or a folder in it), there and ignored by git."""
        if not os.path.isdir(self.tool_folder):
            os.makedirs(self.tool_folder, 0o700, exist_ok=True)
        ignore = os.path.join(self.tool_folder, ".gitignore")
        # Empty is what a crash between making and writing it leaves.
        if not os.path.exists(ignore) or os.path.getsize(ignore) == 0:
            with open(ignore, "w", encoding="ascii") as file:
                file.write("*\n")
        folder = os.path.join(self.tool_folder, name) if name else self.tool_folder
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700, exist_ok=True)
        return folder

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def discover(start: str | None = None) -> Workspace:
    """The workspace of a folder: nearest config or `.holdfast/`, else the git top level."""
    try:
        start = os.path.realpath(start or os.getcwd())
    except FileNotFoundError:
        raise NotFound(
            "The current folder was removed.", hint="Change to one that exists."
        ) from None
    if not os.path.isdir(start):
        raise NotFound(f"There is no folder {start}.")
    root, git_dir = _find(start)
    if root and root == git_dir:
        raise NotFound(
            f"{root} is a bare repository.",
            hint="Go to one of its worktrees; they share one journal.",
            kind="no_workspace",
        )
    if not root:
        raise NotFound(
            f"{start} is in no workspace: no git repository, no {CONFIG_FILE} above it.",
            hint=f"Run `git init`, or make an empty {CONFIG_FILE} where the project begins.",
            kind="no_workspace",
        )
    home = os.environ.get("HOLDFAST_HOME") or (
        os.path.join(git_dir, "holdfast") if git_dir else os.path.join(root, TOOL_FOLDER)
    )
    return Workspace(root, git_dir=git_dir, home=os.path.abspath(home))


def _find(start: str) -> tuple[str, str]:
    """Root and common git dir. A mark above the repository is another workspace's."""
    root, folder = "", start
    while True:
        if not root and _is_marked(folder):
            root = folder
        git_dir = _git_dir_at(folder)
        if git_dir:
            return root or folder, git_dir
        parent = os.path.dirname(folder)
        if parent == folder:
            return root, ""
        folder = parent


def _is_marked(folder: str) -> bool:
    return (
        os.path.exists(os.path.join(folder, CONFIG_FILE))
        or os.path.isdir(os.path.join(folder, TOOL_FOLDER))
        or _has_table(folder)
    )


def _has_table(folder: str) -> bool:
    """Whether a pyproject.toml speaks of holdfast; a look at its text, the parser comes later."""
    try:
        with open(os.path.join(folder, "pyproject.toml"), "rb") as file:
            return b"[tool.holdfast" in file.read()
    except OSError:
        return False


def _git_dir_at(folder: str) -> str:
    """The common git dir of a repository whose top is this folder, read from its files.

    No git process: it costs a hook more than everything else, and may not be installed.
    """
    entry = os.path.join(folder, ".git")
    if os.path.isdir(entry):
        return entry
    if os.path.isfile(entry):
        git_dir = _pointer(entry, "gitdir: ", folder)
        common = os.path.join(git_dir, "commondir")
        return _pointer(common, "", git_dir) if os.path.isfile(common) else git_dir
    # From within a `.git` the search goes on: its work tree is above it.
    is_bare = os.path.basename(folder) != ".git" and _is_bare_repository(folder)
    return folder if is_bare else ""


def worktrees(workspace: Workspace) -> list[str]:
    """The roots of all worktrees of the workspace, this one first."""
    roots = [workspace.root]
    if workspace.git_dir:
        candidates = [os.path.dirname(workspace.git_dir)]
        registered = os.path.join(workspace.git_dir, "worktrees")
        for name in sorted(os.listdir(registered)) if os.path.isdir(registered) else []:
            try:
                entry = _pointer(os.path.join(registered, name, "gitdir"), "", "")
            except HoldfastError:
                continue
            candidates.append(os.path.dirname(entry))
        for root in candidates:
            real = os.path.realpath(root)
            if real not in roots and os.path.exists(os.path.join(real, ".git")):
                roots.append(real)
    return roots


def _pointer(file: str, prefix: str, base: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            text = opened.read().strip()
    except OSError as error:
        raise HoldfastError(
            f"{file} cannot be read: {error.strerror}.", kind="broken_git"
        ) from error
    if not text.startswith(prefix):
        raise HoldfastError(f"{file} does not point to a git dir.", kind="broken_git")
    return os.path.realpath(os.path.join(base, text[len(prefix) :]))


def _is_bare_repository(folder: str) -> bool:
    return (
        os.path.isfile(os.path.join(folder, "HEAD"))
        and os.path.isdir(os.path.join(folder, "objects"))
        and os.path.isdir(os.path.join(folder, "refs"))
    )
