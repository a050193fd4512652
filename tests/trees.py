"""Folders that are made once and copied for each test."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple


class _Tree(NamedTuple):
    folders: list[str]
    files: list[tuple[str, int, bytes]]


@cache
def _read(root: Path) -> _Tree:
    folders, files = [], []
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir():
            folders.append(name)
        else:
            files.append((name, path.stat().st_mode & 0o777, path.read_bytes()))
    return _Tree(folders, files)


def copy_tree(template: Path, root: Path) -> None:
    """Write a folder's content to another place. The template is read once: it must not change.

    `shutil.copytree` asks for times, rights and attributes of each file, and was a tenth of all
    CPU time of the tests.
    """
    tree = _read(template)
    os.makedirs(root, exist_ok=True)
    for name in tree.folders:
        os.makedirs(root / name, exist_ok=True)
    for name, mode, content in tree.files:
        path = f"{root}/{name}"
        if os.path.exists(path):
            os.unlink(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        os.write(descriptor, content)
        os.close(descriptor)
