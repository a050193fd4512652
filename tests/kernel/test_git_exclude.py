"""Holdfast's lines in `.git/info/exclude`: of `init` and of the library, and out again byte for byte."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path

import pytest

import holdfast as library
from holdfast.kernel.git_exclude import hide_new, hide_settings, show_all
from holdfast.kernel.workspace import discover
from tests.conftest import Git
from tests.privileges import modes_count
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast

EXCLUDE = Path(".git/info/exclude")
BEFORE = [
    None,
    b"",
    b"*.o\n",
    b"no end of line",
    b"a\r\nb\r\n",
    b"\xef\xbb\xbf*.o\n",
    b"\n\n",
    b"\xff\xfe not UTF-8",
    b"# a comment",
]


def write(before: bytes | None) -> None:
    EXCLUDE.unlink(missing_ok=True)
    if before is not None:
        EXCLUDE.parent.mkdir(exist_ok=True)
        EXCLUDE.write_bytes(before)


def content() -> bytes | None:
    return EXCLUDE.read_bytes() if EXCLUDE.exists() else None


def use_library() -> None:
    with library.open() as workspace:
        with workspace.agent("Secondary-A", feature="feature_02_parser") as me:
            me.complete()
        with workspace.loop("parser").step("EXECUTE", tasks=["1"]) as step:
            step.done("1", commit="3f2a9c1")


@pytest.mark.parametrize("before", BEFORE)
def test_uninstall_gives_the_file_back(
    repository: Path, holdfast: Holdfast, git: Git, before: bytes | None
) -> None:
    write(before)
    untracked = git("status", "--porcelain")
    holdfast("init", "--client", "claude", "--client", "codex")
    use_library()
    assert git("status", "--porcelain") == untracked
    holdfast("uninstall", "--client", "claude")
    assert "/conductor" in EXCLUDE.read_text(errors="replace"), "Codex is still installed"
    holdfast("uninstall")
    assert content() == before


@pytest.mark.parametrize("before", [None, b"no end of line"])
def test_any_order_of_init_library_and_uninstall_ends_with_the_file_as_it_was(
    repository: Path, holdfast: Holdfast, before: bytes | None
) -> None:
    steps: dict[str, Callable[[], object]] = {
        "init": lambda: holdfast("init", "--client", "claude"),
        "library": lambda: hide_new(discover(), ["conductor", "epics/one/agent_comms"]),
        "uninstall": lambda: holdfast("uninstall"),
    }
    for order in permutations(steps):
        write(before)
        for name in order:
            steps[name]()
        holdfast("uninstall")
        assert content() == before, order


def test_uninstall_names_what_git_sees_again(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    holdfast("init", "--client", "claude")
    use_library()
    said = holdfast("uninstall").out
    assert said.count("Git sees these again: agent_checkpoints, agent_comms, conductor.\n") == 1
    assert "?? conductor/" in git("status", "--porcelain")


def test_a_program_keeps_its_lines_when_init_has_nothing_to_hide(
    repository: Path, holdfast: Holdfast
) -> None:
    Path(".mcp.json").write_text("{}")
    Path(".claude").mkdir()
    Path(".claude/settings.local.json").write_text("{}")
    hide_new(discover(), ["conductor"])
    before = content()
    holdfast("init", "--client", "claude")
    assert content() == before


def test_lines_that_a_person_adds_between_ours_stay(repository: Path, git: Git) -> None:
    write(b"first\n")
    workspace = discover()
    hide_new(workspace, ["conductor", ".autopilot"])
    text = EXCLUDE.read_text()
    ours = text.index("# For holdfast library: /conductor")
    EXCLUDE.write_text(f"{text[:ours]}/own\n*.tmp\n{text[ours:]}last")
    hide_settings(workspace, [".mcp.json"])
    assert content() is not None
    for name in ("own", "a.tmp", "conductor", ".autopilot", ".mcp.json", "last"):
        assert git("check-ignore", name) == f"{name}\n"
    assert show_all(workspace) == [".autopilot", "conductor"]
    assert content() == b"/own\n*.tmp\nfirst\nlast"


def test_a_persons_line_overrides_ours(repository: Path, git: Git) -> None:
    write(b"!/conductor\n")
    hide_new(discover(), ["conductor"])
    Path("conductor").mkdir()
    Path("conductor/a").write_text("")
    assert git("status", "--porcelain") == "?? conductor/\n"


def test_a_line_that_a_person_removed_leaves_no_comment_behind(repository: Path) -> None:
    write(b"")
    hide_new(discover(), ["conductor", ".autopilot"])
    EXCLUDE.write_text(EXCLUDE.read_text().replace("\n/conductor\n", "\n"))
    hide_settings(discover(), [".mcp.json"])
    assert "conductor" not in EXCLUDE.read_text()
    show_all(discover())
    assert content() == b""


def test_a_path_is_hidden_to_the_letter(repository: Path, git: Git) -> None:
    names = ["a*b", "what?", "[x]", "back\\slash", "#hash", "!not", "end "]
    hide_new(discover(), names)
    for name in names:
        Path(name).mkdir()
        Path(name, "file").write_text("")
    for name in ("aab", "whatx", "x"):
        Path(name).write_text("")
    seen = git("status", "--porcelain").splitlines()
    assert [line[3:] for line in seen if line.startswith("??")] == ["aab", "whatx", "x"]


def test_writers_at_the_same_time_lose_no_line(repository: Path) -> None:
    write(b"*.o\n")
    workspace = discover()
    names = [f"folder-{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        hidden = [pool.submit(hide_new, workspace, [name]) for name in names]
        hidden.append(pool.submit(hide_settings, workspace, [".mcp.json"]))
        for one in hidden:
            one.result()
    lines = EXCLUDE.read_text().splitlines()
    for name in (*names, ".mcp.json", "*.o"):
        assert lines.count(name if name == "*.o" else f"/{name}") == 1
    show_all(workspace)
    assert content() == b"*.o\n"


def test_a_folder_that_cannot_be_written_is_named_and_hinders_no_one(
    repository: Path, holdfast: Holdfast
) -> None:
    write(b"*.o\n")
    EXCLUDE.parent.chmod(0o555)
    with modes_count():
        hide_new(discover(), ["conductor"])
        said = holdfast("init", "--client", "claude", "--client", "codex").out
    EXCLUDE.parent.chmod(0o755)
    assert said.count("Git sees the settings, which name paths of this machine: ") == 1
    assert content() == b"*.o\n"


@pytest.mark.parametrize("place", [".git/info", ".git/info/exclude"])
def test_no_link_is_followed(repository: Path, tmp_path: Path, place: str) -> None:
    aim = tmp_path / "elsewhere"
    aim.mkdir()
    (aim / "exclude").write_text("theirs\n")
    EXCLUDE.unlink(missing_ok=True)
    if place == ".git/info":
        for left in EXCLUDE.parent.iterdir():
            left.unlink()
        EXCLUDE.parent.rmdir()
    Path(place).symlink_to(aim if place == ".git/info" else aim / "exclude")
    hide_new(discover(), ["conductor"])
    assert (aim / "exclude").read_text() == "theirs\n"


def test_the_mode_of_the_file_stays(repository: Path) -> None:
    write(b"*.o\n")
    EXCLUDE.chmod(0o640)
    hide_new(discover(), ["conductor"])
    assert EXCLUDE.stat().st_mode & 0o777 == 0o640
    assert os.listdir(".git/info") == ["exclude"]


def test_what_an_earlier_version_wrote_goes_as_well(repository: Path, holdfast: Holdfast) -> None:
    holdfast("init", "--client", "claude")
    EXCLUDE.write_text(
        "*.o\n"
        "# Settings that `holdfast init` made: they name paths of this machine.\n"
        "/.claude/settings.local.json\n/.mcp.json\n"
        "# End of holdfast's lines; `holdfast uninstall` removes them.\n"
        "# Made by a program through holdfast. Remove a line, and git sees the files again.\n"
        "/agent_checkpoints\n/own\n/epics/one/agent_comms\n/.ccc-progress.md\n"
    )
    hide_new(discover(), ["conductor"])
    text = EXCLUDE.read_text()
    assert text.count("# For holdfast init:") == 2
    assert text.count("# For holdfast library:") == 4
    assert text.endswith("*.o\n/own\n")
    holdfast("uninstall")
    assert content() == b"*.o\n/own\n"
