"""Which workspace is this, and where are its things.

All worktrees of one git repository are one workspace: they share the journal in the git common
dir, where `git clean -fdx` and `git stash -a` do not reach. What belongs to one worktree alone is in its
private folder (`kernel.private_folder`), outside of the tree. In the tree, `.holdfast/`, which ignores itself,
has only what a sandboxed process can write nowhere else: its inbox, and a latch.
"""

from __future__ import annotations

import os

from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.plain_file import read_plain, remove_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.journal.interface import Journal, ViewRow
    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.journal.sqlite import SqliteJournal
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.lock import WorkspaceLock

CONFIG_FILE = "holdfast.toml"
TOOL_FOLDER = ".holdfast"
# Beside the journal's file once its records were moved to a server: which, and up to which record.
MOVED_FILE = "moved.json"
# Beside the journal's file: what this machine is called on a server that several share.
MACHINE_FILE = "machine"
HOOK_PATIENCE = 2.0
# A `.git` file holds one path.
LARGEST_POINTER = 65536


class Workspace:
    """The places of one worktree of one workspace, and its journal once it is asked for."""

    def __init__(
        self, root: str, *, git_dir: str, home: str, local: bool = False, own_git_dir: str = ""
    ) -> None:
        self.root = root
        self.tool_folder = os.path.join(root, TOOL_FOLDER)
        self.git_dir = git_dir
        # Of this worktree alone; the common one for the main worktree.
        self.own_git_dir = own_git_dir or git_dir
        self.home = home
        # A hook never connects: whatever the settings say, its journal is the file.
        self.local = local
        # A reader beside the page begins no new journal where the old one was moved away.
        self.begins_journal = True
        # The file is a spool: there is a server, and what is not of one life is decided there.
        self.spools = False
        # There is something here to be kept up to date, or to be delivered, by a forwarder.
        self.wants_forwarder = False
        # Settings of its file that were left out at the last look, because no person has trusted them.
        self.ignored_settings: frozenset[str] = frozenset()
        # Seconds that a hook waits for others, once and altogether; its client waits for it.
        self.patience = HOOK_PATIENCE
        self._waits_until = 0.0
        self._journal: Journal | None = None
        self._private: str | None = None
        self._spool: SqliteJournal | None = None
        self._url: str | None = None

    @property
    def private(self) -> str:
        """The folder of what hooks keep for this worktree; it may not be there yet."""
        if self._private is None:
            from holdfast.kernel.private_folder import locate

            self._private = locate(self.root, self.own_git_dir, user_folder())
        return self._private

    def prepare_private(self, name: str = "") -> str:
        """Return the private folder, or a folder in it, made if it is not there."""
        from holdfast.kernel.private_folder import prepare

        return prepare(self.private, name)

    @property
    def url(self) -> str:
        """The address of the journal's server; empty when the journal is a file."""
        if self.local:
            return ""
        if self._url is None:
            from holdfast.kernel.config import read_early

            self._url = read_early(self, "journal.url")
            if self._url:
                from holdfast.remote.address import address_of

                self._url = address_of(self)
        return self._url

    @property
    def journal_path(self) -> str:
        return os.path.join(self.home, "journal.db")

    @property
    def quarantine(self) -> str:
        return os.path.join(self.home, "quarantine")

    @property
    def journal(self) -> Journal:
        """The journal, made on first use. A reader without the right to write reads all the same."""
        if self._journal is None:
            if not self.url:
                self._journal = self._open_file()
                return self._journal
            from holdfast.remote.facts import notice_loss

            self._journal = server = self.on_server()
            notice_loss(self, server)
            self.deliver()
        return self._journal

    def deliver(self) -> None:
        """Where the journal is on a server: deliver the records that hooks left here."""
        if self.url:
            from holdfast.remote.delivery import deliver_pending

            deliver_pending(self, self.journal)

    def keep_here(self, stream: str, state: Any, outcome: Outcome, rows: list[ViewRow]) -> None:
        """Let this machine's hooks know a stream as a command has just left it on the server."""
        if self.url:
            from holdfast.remote.spool import keep_here

            self.wants_forwarder = (
                keep_here(self, stream, state, outcome, rows) or self.wants_forwarder
            )

    def offline(self) -> Workspace:
        """The same place without its server, as a hook has it: what is known here, and the spool."""
        twin = Workspace(
            self.root,
            git_dir=self.git_dir,
            home=self.home,
            local=True,
            own_git_dir=self.own_git_dir,
        )
        twin.spools = True
        return twin

    def file(self) -> SqliteJournal:
        """The journal in this machine's file, also when the workspace's own is on a server. Then it is
        the caller's to close."""
        from holdfast.journal.sqlite import SqliteJournal

        own = self._open_file() if self.url else self.journal
        assert isinstance(own, SqliteJournal)
        return own

    def spool_file(self) -> SqliteJournal:
        """The same, kept open beside the server's journal: to open it anew costs more than to look."""
        if self._spool is None:
            self._spool = self._open_file()
        return self._spool

    def _open_file(self) -> SqliteJournal:
        from holdfast.journal.sqlite import SqliteJournal

        if not self.git_dir:
            from holdfast.kernel.trust import take_over_known

            take_over_known(self)
        if os.path.exists(self.journal_path):
            writable = os.access(self.home, os.W_OK)
            if writable and not self.git_dir:
                self._note_place()
            return SqliteJournal(self.journal_path, read_only=not writable, is_new=False)
        if not self.begins_journal:
            raise NotFound(f"There is no journal at {self.journal_path}.", kind="journal_gone")
        self._make_file()
        return SqliteJournal(self.journal_path, is_new=False)

    def _note_place(self) -> None:
        """Keep which folder the home of a project without git belongs to."""
        from holdfast.kernel.project_home import FOLDER, note_place

        if os.path.dirname(self.home) == os.path.join(user_folder(), FOLDER):
            note_place(self.home, self.root)

    def _make_file(self) -> None:
        """Make the journal, with the number by which it is this user's. The number is in the user's folder
        first, and the journal appears with it: no kill leaves a journal that its user does not know."""
        from holdfast.journal.migrate import LOGS, remove_database
        from holdfast.journal.sqlite import make_journal
        from holdfast.kernel.crash import reached
        from holdfast.kernel.filesystem import refuse_unsafe
        from holdfast.kernel.lock import PATIENCE_SECONDS, wait_for_lock
        from holdfast.kernel.rename import place_new
        from holdfast.kernel.trust import number_new_journal

        path, unfinished = self.journal_path, f"{self.journal_path}.unfinished"
        os.makedirs(self.home, 0o700, exist_ok=True)
        refuse_unsafe(self.home)
        if not self.git_dir:
            self._note_place()
        # The folder itself: the caller may hold the workspace's lock.
        folder = os.open(self.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            wait_for_lock(folder, self.patience if self.local else PATIENCE_SECONDS)
            if os.path.exists(path):
                return
            rows = number_new_journal(self)
            reached("before a journal is made")
            make_journal(unfinished, rows)
            reached("before a new journal is placed")
            if not os.path.lexists(path):
                remove_database(path, LOGS)
            try:
                place_new(unfinished, path)
            except FileExistsError:
                # One that a person restored meanwhile, or a stranger's: it stays, and is looked at.
                remove_database(unfinished)
            reached("after a new journal is placed")
            os.fsync(folder)
        finally:
            os.close(folder)

    def on_server(self, url: str = "") -> PostgresJournal:
        """The journal on a server: the workspace's own, or the one at `url`."""
        from holdfast.remote.address import open_journal

        return open_journal(self, url or self.url)

    @property
    def machine(self) -> str:
        """This machine's name on a server that several share; empty while there is none."""
        if not os.path.exists(os.path.join(self.home, MACHINE_FILE)):
            return ""
        from holdfast.remote.identity import known_machine

        return known_machine(self) if self.local or self.url else ""

    @property
    def is_on_server(self) -> bool:
        """Whether a journal on a server is open."""
        return self._journal is not None and bool(self.url)

    def exists(self) -> bool:
        if self._journal is not None or self.url or os.path.exists(self.journal_path):
            return True
        if self.git_dir:
            return False
        from holdfast.kernel.project_home import tree_journal

        return bool(tree_journal(self))

    def at(self, folder: str) -> Workspace:
        """The workspace of another folder, with its journal chosen as this one's was."""
        return discover(folder, local=self.local)

    def lock(self) -> WorkspaceLock:
        from holdfast.kernel.lock import WorkspaceLock

        if not self.local:
            return WorkspaceLock(self.home)
        import time

        now = time.monotonic()
        self._waits_until = self._waits_until or now + self.patience
        return WorkspaceLock(self.home, max(0.0, self._waits_until - now))

    def prepare_tool_folder(self, name: str = "") -> str:
        """`.holdfast/` (or a folder in it), there and ignored by git. A folder in it is made last: where
        one is, the rest is there too."""
        self.refuse_links(name)
        from holdfast.kernel.tree_file import TreeFile

        folder = TreeFile(self.root, f"{TOOL_FOLDER}/{name}" if name else TOOL_FOLDER)
        ignore = TreeFile(self.root, f"{TOOL_FOLDER}/.gitignore")
        found = ignore.status()
        # Empty is what a crash between making and writing it left.
        if found is None or (found.st_size == 0 and ignore.is_file()):
            TreeFile(self.root, TOOL_FOLDER).make_folder(0o700)
            ignore.write(b"*\n")
        if name:
            folder.make_folder(0o700)
        return str(folder)

    def list_in_tree(self, name: str) -> list[str]:
        """Return the files of a folder in `.holdfast/`: those that did not come with the repository. Nothing is
        looked for behind a link."""
        folder = f"{self.tool_folder}/{name}"
        if os.path.islink(self.tool_folder) or os.path.islink(folder):
            return []
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        if not names:
            return []
        from holdfast.kernel.git_index import tracked_below

        foreign = tracked_below(self.root, f"{TOOL_FOLDER}/{name}")
        return [
            f"{folder}/{each}" for each in names if f"{TOOL_FOLDER}/{name}/{each}" not in foreign
        ]

    def refuse_links(self, name: str = "") -> None:
        """A repository can hold a link of this name: nothing is written where it leads."""
        paths = (self.tool_folder, f"{self.tool_folder}/{name}") if name else (self.tool_folder,)
        for path in paths:
            refuse_link(path)

    def close(self) -> None:
        for opened in (self._journal, self._spool):
            if opened is not None:
                opened.close()
        self._journal = self._spool = None


def refuse_link(path: str) -> None:
    """Refuse a folder of ours that is a link: nothing is read or written where it leads."""
    if os.path.islink(path):
        raise HoldfastError(
            f"{path} is a link, and nothing is written through it.",
            hint="If it came with the repository, remove it. HOLDFAST_HOME names another folder "
            "for the journal.",
            kind="linked_folder",
        )


def user_folder() -> str:
    """Where holdfast keeps what belongs to the user and not to a workspace: `$XDG_STATE_HOME/holdfast`, by default `~/.local/state/holdfast`."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # the specification: a relative one is to be ignored
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "holdfast")


def from_here(folder: str) -> str:
    """A folder as seen from the current one, which may be gone."""
    if os.path.isabs(folder):
        return folder
    try:
        return os.path.join(os.getcwd(), folder)
    except FileNotFoundError:
        raise NotFound(
            "The current folder was removed.", hint="Change to one that exists."
        ) from None


def discover(start: str | None = None, *, local: bool = False) -> Workspace:
    """The workspace of a folder: nearest config or `.holdfast/`, else the git top level."""
    start = os.path.realpath(from_here(start or ""))
    if not os.path.isdir(start):
        raise NotFound(f"There is no folder {start}.")
    root, git_dir, own_git_dir = _find(start)
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
    home = os.environ.get("HOLDFAST_HOME", "")
    if not home and git_dir:
        home = os.path.join(git_dir, "holdfast")
        refuse_link(home)
        remove_links(home, f"{home}/worktree/made")
    elif not home:
        from holdfast.kernel.project_home import find

        home = find(root, user_folder())
    home = os.path.abspath(home)
    return Workspace(root, git_dir=git_dir, home=home, local=local, own_git_dir=own_git_dir)


def _find(start: str) -> tuple[str, str, str]:
    """Root, common git dir and the worktree's own one. A mark above the repository is another workspace's."""
    root, folder, bare = "", start, ""
    while True:
        if not root and _is_marked(folder):
            root = folder
        git_dir, own_git_dir = _git_dirs_at(folder)
        if git_dir:
            return root or folder, git_dir, own_git_dir
        # A clone can hold folders of these names: whatever has a `.git` above it, or a mark, is no bare repository.
        if not bare and os.path.basename(folder) != ".git" and _is_bare_repository(folder):
            bare = folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return (root, "", "") if root or not bare else (bare, bare, bare)
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
        return b"[tool.holdfast" in read_plain(os.path.join(folder, "pyproject.toml"))
    except OSError:
        return False


def _git_dirs_at(folder: str) -> tuple[str, str]:
    """The common git dir of a repository whose top is this folder, and the worktree's own one, read from its
    files.

    No git process: it costs a hook more than everything else, and may not be installed.
    """
    entry = os.path.join(folder, ".git")
    if os.path.isdir(entry):
        return entry, entry
    if os.path.isfile(entry):
        git_dir = _pointer(entry, "gitdir: ", folder)
        common = os.path.join(git_dir, "commondir")
        # What is there and is no file is refused: git would wait for a pipe.
        is_linked = os.path.lexists(common)
        _refuse_strangers(entry, git_dir, is_linked=is_linked)
        return _pointer(common, "", git_dir) if is_linked else git_dir, git_dir
    return "", ""


def _refuse_strangers(entry: str, git_dir: str, *, is_linked: bool) -> None:
    """Refuse a `.git` file that names the git dir of another work tree: an agent could write one, and see the
    journal of another project."""
    if is_linked:
        # One whose work tree is gone was moved.
        other = _pointer(os.path.join(git_dir, "gitdir"), "", git_dir)
        is_strange = other != os.path.realpath(entry) and os.path.exists(other)
    else:
        is_strange = os.path.basename(git_dir) == ".git"
    if is_strange:
        raise HoldfastError(
            f"{entry} names a folder of another work tree: {git_dir}.",
            hint="If that is meant, `git worktree repair` puts it right.",
            kind="broken_git",
        )


def worktrees(workspace: Workspace) -> list[str]:
    """The roots of all worktrees of the workspace, this one first. Commands write and remove files in all of them,
    so a folder that only the git dir names is none: an archive could name another project."""
    roots = [workspace.root]
    if workspace.git_dir:
        top = os.path.dirname(workspace.git_dir)
        own = os.path.join(top, ".git")
        is_main = os.path.realpath(own) == os.path.realpath(workspace.git_dir)
        candidates = [top] if is_main else []
        registered = os.path.join(workspace.git_dir, "worktrees")
        for name in sorted(os.listdir(registered)) if os.path.isdir(registered) else []:
            own = os.path.join(registered, name)
            try:
                entry = _pointer(os.path.join(own, "gitdir"), "", own)
                if not os.path.isfile(entry) or os.path.basename(entry) != ".git":
                    continue
                root = os.path.dirname(entry)
                if _pointer(entry, "gitdir: ", root) == os.path.realpath(own):
                    candidates.append(root)
            except HoldfastError:
                continue
        for root in candidates:
            real = os.path.realpath(root)
            if real not in roots:
                roots.append(real)
    return roots


def _pointer(file: str, prefix: str, base: str) -> str:
    try:
        text = os.fsdecode(read_plain(file, LARGEST_POINTER)).strip()
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
