"""The first command of a project, killed while it makes the journal: the journal is this user's, and one that
a stranger puts in that place meanwhile is not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import crash, trust
from holdfast.kernel.workspace import discover, user_folder
from tests.cli.conftest import Holdfast
from tests.dying import die_at

POINTS = (
    "before a journal is made",
    "before a new journal is placed",
    "after a new journal is placed",
    "before append",
)


@pytest.fixture(params=[True, False], ids=["in git", "without git"])
def project(
    request: pytest.FixtureRequest,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A project that no command has seen; the current folder."""
    if request.param:
        return repository
    root = tmp_path / "project"
    root.mkdir()
    (root / "holdfast.toml").touch()
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def strangers(
    repository: Path, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The journal of another user for this very repository, with a note; it has none. Without git, a journal is
    in the user's own folder."""
    with monkeypatch.context() as stranger:
        stranger.setenv("XDG_STATE_HOME", str(tmp_path / "state of the stranger"))
        assert holdfast("note", "from the stranger").code == 0
    kept = tmp_path / "journal of the stranger"
    home = Path(discover().home)
    kept.mkdir()
    for file in home.glob("journal.db*"):
        shutil.copy(file, kept)
    shutil.rmtree(home)
    shutil.rmtree(repository / ".notes")
    return kept


@pytest.fixture
def at_point() -> Iterator[list[object]]:
    registered: list[object] = []
    yield registered
    for take_back in registered:
        assert callable(take_back)
        take_back()


def put_in_place(journal: Path) -> None:
    home = discover().home
    os.makedirs(home, exist_ok=True)
    for file in journal.iterdir():
        shutil.copy(file, home)


@pytest.mark.parametrize("point", POINTS)
def test_the_journal_of_a_killed_first_command_is_its_users(
    point: str, project: Path, holdfast: Holdfast
) -> None:
    die_at(point, "note", "one")
    assert holdfast("note", "two").code == 0
    assert "two" in holdfast("note").out
    said = " ".join(holdfast("doctor").out.split())
    assert "made elsewhere" not in said
    assert not holdfast("trust", "--show", "--json").data["settings"]
    left = {path.name for path in Path(discover().home).glob("journal.db*")}
    assert not [name for name in left if "unfinished" in name], left


def test_a_strangers_journal_in_place_of_the_unmade_one_is_not_believed(
    repository: Path, strangers: Path, holdfast: Holdfast
) -> None:
    die_at(POINTS[0], "note", "one")
    put_in_place(strangers)
    _assert_not_believed(holdfast)


@pytest.mark.parametrize("point", POINTS[:3])
def test_a_strangers_journal_that_appears_meanwhile_is_not_believed(
    point: str,
    repository: Path,
    strangers: Path,
    holdfast: Holdfast,
    at_point: list[object],
) -> None:
    """It is put there while the first command makes its own: it is neither replaced nor believed."""
    at_point.append(crash.register(point, lambda: put_in_place(strangers)))
    holdfast("note", "one")
    _assert_not_believed(holdfast)
    kept = SqliteJournal(discover().journal_path, read_only=True)
    bodies = [record["body"] for record in kept.latest()]
    kept.close()
    assert "from the stranger" in str(bodies)


def _assert_not_believed(holdfast: Holdfast) -> None:
    workspace = discover()
    # Used, because containers share a repository; but nothing in it is an answer of this user.
    assert trust.made_elsewhere_until(workspace) == trust.EVERYTHING
    workspace.close()
    assert "made elsewhere" in " ".join(holdfast("doctor").out.split())


def test_a_log_without_its_journal_is_not_replayed_into_the_next_one(
    project: Path, holdfast: Holdfast
) -> None:
    assert holdfast("note", "of the first journal").code == 0
    path = Path(discover().journal_path)
    assert path.with_name("journal.db-wal").stat().st_size
    path.unlink()
    assert holdfast("note", "of the second journal").code == 0
    assert "of the first" not in holdfast("history").out
    assert "made elsewhere" not in " ".join(holdfast("doctor").out.split())


def test_a_journal_begins_also_where_the_users_folder_cannot_be_written(
    repository: Path, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a sandbox: the records are kept, and the journal is not known."""
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a file"))
    assert not os.path.isdir(user_folder())
    assert holdfast("note", "one").code == 0
    assert trust.made_elsewhere_until(discover()) == trust.EVERYTHING
