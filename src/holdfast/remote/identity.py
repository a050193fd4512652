"""What a workspace is called on a server that many machines share, and which machine this is.

Two clones of one repository are one workspace there when they agree on its name: the setting
`journal.workspace`, else the address of `origin`, which clones have in common and forks have not. Where
`origin` is a folder, the name is made of its path and the first commit; a repository without `origin` is
its own. The name is written down on first use, so that a remote that moves does not leave the journal behind.
"""

from __future__ import annotations

import os

from holdfast.kernel.config import read_early
from holdfast.kernel.digest import id_of, new_id
from holdfast.kernel.errors import Usage
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.workspace import MACHINE_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

NAME_FILE = "workspace"
LONGEST_NAME = 200
LARGEST_NAME = 4096
GIT_SECONDS = 10.0
# What stands of a first commit and of a path in the name of a folder.
COMMIT_LETTERS, PATH_LETTERS = 8, 6


def name_of(workspace: Workspace) -> str:
    """The workspace's name in a database. Nothing is written down before the first record is."""
    name = name_by_now(workspace)
    if not name:
        origin = _ask_git(workspace, "config", "--get", "remote.origin.url")
        name = name_of_remote(origin) or _name_of_folder(workspace, origin)
    if not name.isprintable() or len(name) > LONGEST_NAME or name != name.strip():
        raise Usage(
            f"journal.workspace must be at most {LONGEST_NAME} printable characters: {name!r}.",
            kind="bad_config",
        )
    return name


def name_by_now(workspace: Workspace) -> str:
    """What the workspace is called, if a setting or a file says so."""
    return read_early(workspace, "journal.workspace") or _read(workspace, NAME_FILE)


def machine_of(workspace: Workspace) -> str:
    """A name for this machine, which owns the files that the workspace's views are here.

    Beside it stands the file's own inode: in a folder that was copied it is wrong, and the copy is a
    machine of its own.
    """
    return known_machine(workspace) or new_id()


def known_machine(workspace: Workspace) -> str:
    """The same as far as it was written down."""
    name, _, inode = _read(workspace, MACHINE_FILE).partition(" ")
    path = os.path.join(workspace.home, MACHINE_FILE)
    return name if name and inode == str(os.stat(path).st_ino) else ""


def own_machine(workspace: Workspace) -> str:
    """The same, written down: OSError where that cannot be done."""
    if not known_machine(workspace):
        _write_machine(workspace, new_id())
    return known_machine(workspace)


def settle(workspace: Workspace, name: str, machine: str) -> tuple[str, str]:
    """Write both names down before the first record; of two processes at once, the first one's."""
    try:
        if not known_machine(workspace):
            _write_machine(workspace, machine)
        if not read_early(workspace, "journal.workspace"):
            _write(workspace, NAME_FILE, name)
            name = _read(workspace, NAME_FILE) or name
    except OSError:
        pass  # read-only here, and so are its views
    return name, known_machine(workspace) or machine


def name_of_remote(address: str) -> str:
    """A remote's address without what differs from clone to clone: scheme, user, `.git`, case.

    Empty for a folder: two machines may well have different things at one path.
    """
    scheme, is_url, rest = address.partition("://")
    if is_url:
        host, _, path = rest.partition("/")
        host = host.rpartition("@")[2]
        if scheme not in ("http", "https"):
            host = host.partition(":")[0]
    else:
        scheme = "ssh"
        host, _, path = address.partition(":")
        host = host.rpartition("@")[2]
    if scheme == "file" or not path or not host or "/" in host:
        return ""
    return f"{host}/{path.strip('/').removesuffix('.git')}".lower()


def is_named_by_setting(workspace: Workspace) -> bool:
    """Whether a person chose the workspace's name."""
    return bool(read_early(workspace, "journal.workspace"))


def is_alike(name: str, other: str) -> bool:
    """Whether two names may well be of one project: the same last word, or the same first commit."""
    (label, commit), (other_label, other_commit) = _parts(name), _parts(other)
    return name != other and (label == other_label or commit == other_commit != "")


def _parts(name: str) -> tuple[str, str]:
    """The last word of a name, and the first commit that a folder's name holds."""
    last = name.rpartition("/")[2].lower()
    rest, _, path = last.rpartition("-")
    label, _, first = rest.rpartition("-")
    is_folder = _is_hex(first, COMMIT_LETTERS) and _is_hex(path, PATH_LETTERS)
    return (label, first) if is_folder else (last, "")


def _is_hex(text: str, length: int) -> bool:
    return len(text) == length and not text.strip("0123456789abcdef")


def _name_of_folder(workspace: Workspace, origin: str) -> str:
    """The name where no address says it. All clones of a folder find the same one; the first commit is in
    it because two machines may have different things at one path."""
    path = _folder_of_origin(workspace, origin)
    label = os.path.basename(path).removesuffix(".git")[: LONGEST_NAME - 20]
    label = "".join(letter for letter in label if letter.isprintable()).strip()
    # Along the first parents: a history that was merged in later has a first commit of its own.
    walk = ("rev-list", "--first-parent", "--max-parents=0")
    commit = _ask_git(workspace, *walk, "refs/remotes/origin/HEAD") if origin else ""
    commit = commit or _ask_git(workspace, *walk, "HEAD")
    if _is_hex(commit[:COMMIT_LETTERS], COMMIT_LETTERS):
        return f"{label}-{commit[:COMMIT_LETTERS]}-{id_of(path)[:PATH_LETTERS]}"
    # Nothing that another machine could know: it is this clone's alone until a person names it.
    inode = os.stat(workspace.git_dir or workspace.root).st_ino
    return f"{label}-{id_of(f'{path} {inode} {os.uname().nodename}')[:8]}"


def _folder_of_origin(workspace: Workspace, origin: str) -> str:
    """The real path of a folder that is cloned, however it was spelled."""
    if not workspace.git_dir:
        return workspace.root
    top = workspace.git_dir
    if os.path.basename(top) == ".git":
        top = os.path.dirname(top)
    path = os.path.realpath(os.path.join(top, origin.removeprefix("file://")))
    if not os.path.exists(path) and os.path.exists(f"{path}.git"):
        path = f"{path}.git"
    return os.path.dirname(path) if os.path.basename(path) == ".git" else path


def _ask_git(workspace: Workspace, *words: str) -> str:
    """The first line that git prints; nothing where it fails."""
    if not workspace.git_dir:
        return ""
    import subprocess

    command = ["git", "--git-dir", workspace.git_dir, *words]
    # A repository from elsewhere may lack a commit, and name the program that fetches it (ADR 0040).
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_ALLOW_PROTOCOL"] = "none"
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=GIT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0]


def _write_machine(workspace: Workspace, machine: str) -> None:
    was_copied = bool(_read(workspace, MACHINE_FILE))
    _write(workspace, MACHINE_FILE, machine, inode=True, replace=was_copied)


def _read(workspace: Workspace, name: str) -> str:
    try:
        path = os.path.join(workspace.home, name)
        return read_plain(path, LARGEST_NAME).decode(errors="replace").strip()
    except OSError:
        return ""


def _write(
    workspace: Workspace, name: str, text: str, *, inode: bool = False, replace: bool = False
) -> None:
    path = os.path.join(workspace.home, name)
    os.makedirs(workspace.home, 0o700, exist_ok=True)
    with open(f"{path}.{new_id()[:8]}", "w", encoding="utf-8") as file:
        file.write(f"{text} {os.fstat(file.fileno()).st_ino}" if inode else text)
        file.flush()
        os.fsync(file.fileno())
    if replace:
        os.rename(file.name, path)
        return
    try:
        os.link(file.name, path)
    except FileExistsError:
        pass
    os.unlink(file.name)
