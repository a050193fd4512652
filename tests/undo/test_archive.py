"""An archive of a repository brings its `.git` folder, and in it what undo keeps there: prepared by a stranger."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.git.repository import GitError
from holdfast.git.status import files_between
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.undo import ledger
from tests.hooks.test_hostile_clone import digest_of
from tests.patience import within
from tests.session import world
from tests.session.world import Holdfast
from tests.undo import scene
from tests.undo.scene import Prompts

holdfast, prompts, rich = world.holdfast, scene.prompts, scene.rich
ARCHIVED = ".git/holdfast/index-undo-main"


@pytest.fixture
def photos(rich: Path, prompts: Prompts, tmp_path: Path) -> Path:
    """What the person has beside the archive, in which a stranger had a prompt."""
    prompts.begin("of the stranger")
    (rich / "made").write_text("made\n")
    prompts.end()
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "a.jpg").write_text("the person's picture\n")
    return folder


def name_an_index_elsewhere(rich: Path, photos: Path) -> None:
    place = rich / ARCHIVED / "facts.json"
    facts = json.loads(place.read_text())
    index = rich / ARCHIVED / facts["index"]
    index.rename(photos / "index")
    place.write_text(json.dumps({**facts, "index": str(photos / "index")}))


def link_the_index(rich: Path, photos: Path) -> None:
    (index,) = (rich / ARCHIVED).glob("index.*")
    index.rename(photos / "index")
    index.symlink_to(photos / "index")


def link_what_is_written(rich: Path, photos: Path) -> None:
    for name in ("facts.json.new", "users", "included"):
        (rich / ARCHIVED / name).symlink_to(photos / "a.jpg")


def link_the_lock(rich: Path, photos: Path) -> None:
    (rich / ARCHIVED / "lock").unlink()
    (rich / ARCHIVED / "lock").symlink_to(photos / "new")


def leave_an_undo(rich: Path, photos: Path, **changes: Any) -> None:
    """An undo that was cut off: git takes a name like this for the file that it writes."""
    workspace = discover()
    head = (rich / ".git/refs/heads/main").read_text().strip()
    commits = {"branch": "main", "head": head, "old": head}
    intent = {
        "id": ledger.read(workspace)["entries"][0]["id"],
        "at": clock.precise(clock.now()),
        "is_ready": True,
        **{name: [] for name in ("steps", "make", "remove", "keep")},
        "commits": {**commits, "index": f"--index-output={photos}/a.jpg"},
    }
    Path(workspace.home, "undo-main.json").write_text(json.dumps({**intent, **changes}))


def leave_folders_elsewhere(rich: Path, photos: Path) -> None:
    leave_an_undo(rich, photos, commits=None, make=["../photos/new"], remove=["../photos"])


def leave_half_an_undo(rich: Path, photos: Path) -> None:
    leave_an_undo(rich, photos, commits=7, steps=[{"path": 1}])


@pytest.mark.parametrize(
    "prepare",
    [
        name_an_index_elsewhere,
        link_the_index,
        link_what_is_written,
        link_the_lock,
        leave_an_undo,
        leave_folders_elsewhere,
        leave_half_an_undo,
    ],
)
def test_a_prompt_in_an_archive_changes_nothing_outside(
    rich: Path,
    prompts: Prompts,
    photos: Path,
    holdfast: Holdfast,
    prepare: Callable[[Path, Path], None],
) -> None:
    prepare(rich, photos)
    before = digest_of(photos)
    (rich / "mine").write_text("mine\n")
    prompts.begin("mine")
    (rich / "one.py").write_text("changed\n")
    prompts.end()
    assert digest_of(photos) == before
    done = holdfast("undo", "--yes")
    assert done.code == 0, done.err
    assert (rich / "one.py").read_text() != "changed\n", "undo works all the same"
    assert digest_of(photos) == before


def test_a_pipe_in_an_archive_keeps_no_prompt_waiting(
    rich: Path, prompts: Prompts, photos: Path
) -> None:
    os.mkfifo(rich / ARCHIVED / "facts.json.new")
    with within(10, "a prompt"):
        prompts.begin("mine")


@pytest.mark.parametrize("name", ["commit", "files", "extras", "head", "index"])
def test_an_option_of_gits_in_a_strangers_record_is_no_state(
    rich: Path, photos: Path, holdfast: Holdfast, name: str
) -> None:
    workspace, before = discover(), digest_of(photos)
    (entry,) = ledger.read(workspace)["entries"]
    state: Any = {**entry["before"], name: f"--output={photos}/a.jpg"}
    command = {"do": "begin", "id": "x", "client": "claude", "session": "s2", "text": "a trap"}
    command |= {"before": state, "how": ""}
    ledger.write(workspace, command, actor="claude", now=clock.now())
    for words in (["--list"], ["--dry-run", "--diff"], ["--yes", "--commits"]):
        holdfast("undo", *words)
    assert digest_of(photos) == before
    assert not list(photos.parent.glob("**/a.jpg.*"))
    assert "a trap" not in holdfast("undo", "--list").out


def test_a_commit_in_a_strangers_record_is_no_option_of_gits(rich: Path, photos: Path) -> None:
    before = digest_of(photos)
    with pytest.raises(GitError, match="no commit's name"):
        files_between(str(rich), f"--output={photos}/a.jpg", "HEAD")
    assert digest_of(photos) == before
