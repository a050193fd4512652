"""Every file that Holdfast writes is in the table, which names who may remove it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from holdfast.kernel import places
from holdfast.kernel.workspace import discover, user_folder
from tests.cli.conftest import Holdfast

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"


def work(holdfast: Holdfast, repository: Path) -> None:
    """Let each feature write its files."""
    picture = repository.parent / "page.png"
    picture.write_bytes(PNG)
    for words in (
        ["note", "the port is 8080"],
        ["checkpoint", "--task", "the parser", "--next", "test it"],
        ["snapshot", "create"],
        ["gate", "verify", "--built", "a page", "--how", "look", "--attach", str(picture)],
        ["agent", "start", "Secondary-A", "--feature", "feature_02_parser"],
        ["agent", "beat", "Secondary-A", "--step", "the tokenizer"],
        ["loop", "start", "PLAN", "--track", "parser"],
        ["rfc", "init", "parser", "--title", "A parser"],
        ["guard", "check"],
        ["estop", "test"],
    ):
        done = holdfast(*words)
        assert done.code in (0, 7, 8), (words, done.err)


def walk(folder: str) -> Iterator[str]:
    for top, names, files in os.walk(folder):
        names[:] = [name for name in names if name != ".git"]
        yield from (os.path.join(top, name) for name in files)


def test_what_the_features_write_is_in_the_table(holdfast: Holdfast, repository: Path) -> None:
    before = set(walk(str(repository)))
    work(holdfast, repository)
    workspace = discover(str(repository))
    finder = places.PlaceFinder(workspace)
    written = {*walk(str(repository)), *walk(workspace.home), *walk(user_folder())} - before
    unknown = sorted(path for path in written if finder.find(path) is None)
    assert unknown == []
    assert {place.area for path in written if (place := finder.find(path))} >= {"home", "tree"}


def test_each_place_says_who_may_remove_it() -> None:
    found = list(places.list_places())
    assert {"core", "fleet", "gates", "budgets"} <= {owner for owner, _ in found}
    assert all(place.what and place.format and place.removed_by for _, place in found)
    assert {place.area for _, place in found} == set(places.AREAS)
