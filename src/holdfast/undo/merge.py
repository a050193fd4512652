"""Contents of files: merged three ways by git, and compared as text."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

from holdfast.git.run import run
from holdfast.kernel.digest import new_id

if TYPE_CHECKING:
    from holdfast.git.shadow_index import Shadow
    from holdfast.undo.plan import Cell
    from holdfast.undo.store import Store

LARGEST_MERGED = 10_000_000
LARGEST_SHOWN = 200_000


def merge_contents(store: Store, shadow: Shadow, base: str, ours: str, wanted: str) -> str:
    """Return the object that has both changes of a text; empty where they touch the same lines."""
    contents = [read_object(store, one) for one in (ours, base, wanted)]
    if any(b"\0" in one or len(one) > LARGEST_MERGED for one in contents):
        return ""
    paths = [os.path.join(shadow.folder, f"merged-{new_id()[:8]}-{each}") for each in range(3)]
    try:
        for path, content in zip(paths, contents, strict=True):
            with open(path, "wb") as file:
                file.write(content)
        done = run(store.place.top, "merge-file", "-p", "-q", *paths, environment=store.environment)
    finally:
        for path in paths:
            if os.path.exists(path):
                os.unlink(path)
    if done.code:
        return ""
    return store.git("hash-object", "-w", "--stdin", input=done.output).decode().strip()


def read_object(store: Store, name: str) -> bytes:
    """Return the content of a file in git."""
    return store.git("cat-file", "blob", name)


def diff_contents(store: Store, old: Cell | None, new: Cell | None, was: str, became: str) -> str:
    """Return how two versions of a file differ, as text."""
    texts = []
    for cell in (old, new):
        content = b"" if cell is None else read_object(store, cell.object)
        if b"\0" in content or len(content) > LARGEST_SHOWN:
            return f"--- {was}\n+++ {became}\n(no text, or too long to show)\n"
        texts.append(content.decode("utf-8", "replace").splitlines(keepends=True))
    was, became = (
        f"{title} (not there)" if cell is None else title
        for title, cell in ((was, old), (became, new))
    )
    lines = difflib.unified_diff(texts[0], texts[1], was, became)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
