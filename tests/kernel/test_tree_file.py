"""Files of a work tree: nothing outside of the root is touched, and nothing waits, whatever stands there."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.tree_file import TreeFile, exchange, is_git_name, place_new
from tests.swapping import Swapper


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_text("precious\n")
    return folder


def at(root: Path, path: str, *, is_strict: bool = False) -> TreeFile:
    return TreeFile(str(root), path, is_strict=is_strict)


def test_a_file_is_written_read_and_removed(root: Path) -> None:
    file = at(root, "a/b/c.txt")
    file.write(b"one")
    assert file.read() == b"one"
    file.write(b"two", 0o600)
    assert (root / "a/b/c.txt").read_bytes() == b"two"
    assert (root / "a/b/c.txt").stat().st_mode & 0o777 == 0o600
    assert os.listdir(root / "a/b") == ["c.txt"]
    with pytest.raises(FileExistsError):
        file.write(b"three", is_new=True)
    assert os.listdir(root / "a/b") == ["c.txt"]
    file.remove()
    assert file.status() is None
    assert at(root, "a").names() == ["b"]


def test_the_root_may_be_reached_through_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(root)
    at(tmp_path / "way", "a/file").write(b"work")
    assert (root / "a/file").read_bytes() == b"work"


def test_a_link_to_another_folder_of_the_tree_is_followed_unless_it_is_strict(root: Path) -> None:
    (root / "real").mkdir()
    (root / "way").symlink_to("real")
    at(root, "way/below/file").write(b"work")
    assert (root / "real/below/file").read_bytes() == b"work"
    with pytest.raises(OSError, match="a link is on the way"):
        at(root, "way/other", is_strict=True).write(b"work")


OPERATIONS: dict[str, Callable[[TreeFile], object]] = {
    "read": lambda file: file.read(),
    "write": lambda file: file.write(b"planted"),
    "create": lambda file: os.close(file.create()),
    "remove": lambda file: file.remove(),
    "make a folder": lambda file: file.below("x").make_folder(),
    "list": lambda file: file.names(),
    "look": lambda file: file.status(),
    "rename": lambda file: file.rename(file.beside("other")),
    "take a name": lambda file: place_new(TreeFile(file.root, "mine"), file.beside("other")),
    "exchange": lambda file: exchange(TreeFile(file.root, "mine"), file),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("aim", ["outside", "parent", "git", "nowhere"])
def test_a_folder_that_is_a_link_out_of_the_tree_leads_nowhere(
    root: Path, outside: Path, name: str, aim: str
) -> None:
    (root / "mine").write_text("mine\n")
    (root / ".git").mkdir()
    (root / ".git/precious").write_text("precious\n")
    aims: dict[str, str | Path] = {
        "outside": outside,
        "parent": "..",
        "git": ".git",
        "nowhere": "/nowhere",
    }
    (root / "way").symlink_to(aims[aim])
    file = at(root, "way/precious") if aim != "parent" else at(root, "way/outside/precious")
    with pytest.raises(OSError, match=r"link|No such file|Too many levels"):
        OPERATIONS[name](file)
    assert sorted(os.listdir(outside)) == ["precious"]
    assert (outside / "precious").read_text() == "precious\n"
    assert os.listdir(root / ".git") == ["precious"]
    assert (root / "mine").read_text() == "mine\n"


def make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # its name must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


STRANGE: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": make_socket,
    "folder": os.mkdir,
    "link": lambda path: path.symlink_to("/etc/hostname"),
    "dangling link": lambda path: path.symlink_to("/nowhere"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_only_a_regular_file_is_read_and_nothing_waits(root: Path, kind: str) -> None:
    STRANGE[kind](root / "file")
    start = time.monotonic()
    with pytest.raises(OSError, match=r"."):
        at(root, "file").read()
    assert not at(root, "file").is_file()
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("kind", STRANGE)
def test_a_strange_thing_in_the_way_is_replaced_or_stays_and_is_not_opened(
    root: Path, kind: str
) -> None:
    STRANGE[kind](root / "file")
    if kind == "folder":
        with pytest.raises(OSError, match="directory"):
            at(root, "file").write(b"work")
    else:
        at(root, "file").write(b"work")
        assert not (root / "file").is_symlink()
        assert (root / "file").read_bytes() == b"work"
    assert os.listdir(root) == ["file"]


def test_another_name_of_a_file_keeps_its_content(root: Path, outside: Path) -> None:
    (root / "file").hardlink_to(outside / "precious")
    at(root, "file").write(b"work")
    assert (outside / "precious").read_text() == "precious\n"


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "a/../../x", "./x", "a//x", "", "a/", "..", "a\0b", "."]
)
def test_a_path_that_leaves_the_root_is_refused(root: Path, path: str) -> None:
    with pytest.raises(NotAllowed, match="leaves the workspace"):
        at(root, path)


GIT = [
    ".git",
    ".GIT",
    ".Git",
    ".git ",
    ".git.",
    ".git . .",
    ".git::$INDEX_ALLOCATION",
    "git~1",
    "GIT~1",
    ".g\u200cit",
    ".git\u200d",
    "\ufeff.git",
    ".git:stream",
    "a\\.git",
    ".git\\hooks",
]


@pytest.mark.parametrize("name", GIT)
def test_no_path_leads_into_a_repositorys_own_folder(root: Path, name: str) -> None:
    for path in (name, f"{name}/hooks/x", f"sub/{name}/config", f"a/{name}"):
        with pytest.raises(NotAllowed, match="git's own"):
            at(root, path)


@pytest.mark.parametrize(
    "name", [".github", ".gitignore", ".gitattributes", "git", "agit", ".git2", "digit~1", "ég"]
)
def test_other_names_are_no_folder_of_gits(name: str) -> None:
    assert not is_git_name(name)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="swaps with renameat2")
@pytest.mark.parametrize("name", ["write", "remove", "exchange", "make a folder", "rename"])
def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere(
    root: Path, outside: Path, name: str
) -> None:
    folder = root / "src"
    folder.mkdir()
    real = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    done, deadline = 0, time.monotonic() + 1
    with Swapper(folder, outside) as swapper:
        while time.monotonic() < deadline:
            (root / "mine").write_text("mine\n")
            if "precious" not in os.listdir(real):
                os.close(os.open("precious", os.O_CREAT | os.O_WRONLY, dir_fd=real))
            try:
                OPERATIONS[name](at(root, "src/precious"))
                done += 1
            except OSError:
                pass
            if "precious" in os.listdir(real) and name == "make a folder":
                os.unlink("precious", dir_fd=real)
    os.close(real)
    assert swapper.swaps > 100
    assert done or name == "make a folder"
    assert os.listdir(outside) == ["precious"]
    assert (outside / "precious").read_text() == "precious\n"
