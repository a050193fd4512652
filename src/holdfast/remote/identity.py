"""What a workspace is called on a server that many machines share, and which machine this is.

Two clones of one repository are one workspace there when they agree on its name: the setting
`journal.workspace`, else the address of `origin`, which clones have in common and forks have not.
The name is written down on first use, so that a remote that moves does not leave the journal behind.
"""

from __future__ import annotations

import os

from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Usage
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.workspace import MACHINE_FILE
from holdfast.remote.address import setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

NAME_FILE = "workspace"
LONGEST_NAME = 200
LARGEST_NAME = 4096


def name_of(workspace: Workspace) -> str:
    """The workspace's name in a database. Nothing is written down before the first record is."""
    name = name_by_now(workspace) or name_of_remote(_origin(workspace))
    if not name:
        # Nothing that another machine could know: it is this clone's alone until a person names it.
        folder = os.path.basename(workspace.root)[: LONGEST_NAME - 9]
        printable = "".join(letter for letter in folder if letter.isprintable())
        name = f"{printable}-{new_id()[:8]}"
    if not name.isprintable() or len(name) > LONGEST_NAME or name != name.strip():
        raise Usage(
            f"journal.workspace must be at most {LONGEST_NAME} printable characters: {name!r}.",
            kind="bad_config",
        )
    return name


def name_by_now(workspace: Workspace) -> str:
    """What the workspace is called, if a setting or a file says so."""
    return setting(workspace, "journal.workspace") or _read(workspace, NAME_FILE)


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
        if not setting(workspace, "journal.workspace"):
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


def _origin(workspace: Workspace) -> str:
    if not workspace.git_dir:
        return ""
    import subprocess

    command = ["git", "--git-dir", workspace.git_dir, "config", "--get", "remote.origin.url"]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, errors="replace"
        )
    except OSError:
        return ""
    return done.stdout.strip()


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
