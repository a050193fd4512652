"""One bad file stops one thing, at once, and says what it is."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.budgets import alerts
from holdfast.git.repository import GitError, read_head
from holdfast.git.run import repository_filters
from holdfast.kernel import config, failures, inbox, latch, trust
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.workspace import discover, user_folder
from holdfast.session import ccc_files
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast


def make_pipe(place: Path) -> None:
    os.mkfifo(place)


def make_folder(place: Path) -> None:
    place.mkdir()


def make_dangling_link(place: Path) -> None:
    place.symlink_to(place.parent / "nothing-is-here")


def make_endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def make_huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 40)


STRANGE = [make_pipe, make_folder, make_dangling_link, make_endless, make_huge]
Make = Callable[[Path], None]


@pytest.fixture(autouse=True)
def quick() -> object:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < 1, "it waited for the file"


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("follow", [True, False])
def test_a_strange_file_is_an_error_with_a_reason(tmp_path: Path, make: Make, follow: bool) -> None:
    place = tmp_path / "place"
    make(place)
    with pytest.raises(OSError) as refused:
        read_plain(str(place), follow=follow)
    assert refused.value.strerror


def test_a_plain_file_is_read_whole_and_a_larger_one_is_not(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.write_bytes(b"12345")
    assert read_plain(str(place), 5) == b"12345"
    with pytest.raises(OSError) as refused:
        read_plain(str(place), 4)
    assert refused.value.strerror == "it has more than 4 bytes"


@pytest.mark.parametrize("make", STRANGE)
def test_strange_settings_are_named_and_hold_nothing_up(
    repository: Path, holdfast: Holdfast, make: Make
) -> None:
    make(repository / "holdfast.toml")
    answer = holdfast("note", "one", "--json")
    problems = {
        make_huge: "holdfast.toml cannot be read",
        make_endless: "holdfast.toml is a link that leads out of the work tree, and is not followed",
    }
    if make not in problems:
        assert answer.code == 0, "what is no file holds no settings"
        return
    assert answer.code == 1
    assert problems[make] in answer.envelope["error"]["message"]
    assert answer.envelope["error"]["hint"]


@pytest.mark.parametrize(
    "text", [b"a = " + b"[" * 100_000, b'x = "\xff\xfe"', b"[" + b"a." * 100_000 + b"b]"]
)
def test_settings_that_no_parser_reads_are_an_error(repository: Path, text: bytes) -> None:
    (repository / "holdfast.toml").write_bytes(text)
    with pytest.raises(HoldfastError) as refused:
        config.load(discover())
    assert refused.value.kind == "bad_config"


@pytest.mark.parametrize("make", STRANGE)
def test_a_strange_pyproject_marks_no_workspace(repository: Path, make: Make) -> None:
    make(repository / "pyproject.toml")
    assert discover().root == str(repository)


@pytest.mark.parametrize("make", STRANGE)
def test_a_strange_latch_holds_and_a_dangling_one_does_not(repository: Path, make: Make) -> None:
    workspace = discover()
    place = Path(latch.places(workspace)[0])
    place.parent.mkdir(parents=True, exist_ok=True)
    make(place)
    held = latch.read(workspace)
    assert (held is None) == (make is make_dangling_link)


@pytest.mark.parametrize("make", STRANGE)
def test_a_strange_file_in_the_inbox_is_no_command(repository: Path, make: Make) -> None:
    workspace = discover()
    place = Path(workspace.prepare_tool_folder("inbox")) / "strange.json"
    make(place)
    assert inbox.read(str(place), workspace.root) is None


@pytest.mark.parametrize("make", STRANGE)
def test_a_strange_list_of_failures_is_empty(repository: Path, make: Make) -> None:
    workspace = discover()
    Path(workspace.home).mkdir(parents=True, exist_ok=True)
    make(Path(workspace.home) / failures.NAME)
    assert failures.read(workspace) == []


# Files that are named in the settings of others, or that people and agents write

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{two}: &{two} [{', '.join([f'*{one}'] * 10)}]\n" for one, two in pairwise("abcdefghij")
)
MAPS = "a: &a {x: y}\n" + "".join(
    f"{two}: &{two} {{{', '.join(f'k{n}: *{one}' for n in range(10))}}}\n"
    for one, two in pairwise("abcdefghij")
)


@pytest.mark.parametrize("text", [BOMB, MAPS, "[" * 60_000, "a: {" * 15_000, "\x00", "- " * 30_000])
def test_a_hostile_config_of_budgets_is_an_error_at_once(
    repository: Path, holdfast: Holdfast, text: str
) -> None:
    place = repository / ".autopilot" / "config.yaml"
    place.parent.mkdir()
    place.write_text(text)
    answer = holdfast("guard", "check", "--cost", "1", "--json")
    assert answer.code in (0, 1, 2), answer
    if answer.code:
        assert "config.yaml" in answer.envelope["error"]["message"]


@pytest.mark.parametrize("make", STRANGE)
def test_a_strange_config_of_budgets_is_named(
    repository: Path, holdfast: Holdfast, make: Make
) -> None:
    (repository / ".autopilot").mkdir()
    make(repository / ".autopilot" / "config.yaml")
    answer = holdfast("guard", "check", "--cost", "1", "--json")
    if make is make_dangling_link:
        assert answer.code == 0
    else:
        assert "config.yaml" in answer.envelope["error"]["message"]


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        f"{BOMB}execution: {{default_mode: *j, max_task_iterations: *j}}",
        "[" * 60_000,
        "execution: {" * 15_000,
    ],
)
def test_hostile_preferences_say_nothing(repository: Path, text: str) -> None:
    (repository / ".ccc-preferences.yaml").write_text(text)
    assert ccc_files.read_preferences(discover())["max_task_iterations"] == 5


@pytest.mark.parametrize("make", STRANGE)
def test_a_strange_alert_holds(repository: Path, make: Make) -> None:
    """What cannot be read may be an alert: it holds."""
    workspace = discover()
    alerts.add(workspace, "s1", "cost", "Cost is high")
    (place,) = (Path(workspace.home) / alerts.FOLDER).iterdir()
    place.unlink()
    make(place)
    held = alerts.read(workspace, "s1")
    assert bool(held) == (make is not make_dangling_link)


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("name", ["HEAD", "packed-refs", "config"])
def test_a_strange_file_of_git_holds_nothing_up(repository: Path, make: Make, name: str) -> None:
    place = repository / ".git" / name
    place.unlink(missing_ok=True)
    make(place)
    read_head(str(repository))
    with contextlib.suppress(GitError):  # what git itself cannot read is refused, at once
        repository_filters(str(repository))


@pytest.mark.parametrize("make", STRANGE)
def test_a_strange_file_of_the_user_trusts_nothing(repository: Path, make: Make) -> None:
    folder = Path(user_folder())
    folder.mkdir(parents=True)
    make(folder / trust.FILE)
    make(folder / trust.WORKSPACES)
    assert not trust.is_trusted(discover(), "postgresql://x")
    assert trust.listed_workspaces() == []
