"""A person clones a repository and starts their client: nothing outside of the clone changes, nothing waits.

What hooks write, empty or delete is in the private folder of the worktree. No link, pipe or folder that came with
a repository, or that an agent put in its place later, leads them elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients import launcher
from holdfast.clients.table import NAMES as CLIENTS
from holdfast.kernel import latch
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from tests.conftest import Git
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import MAKE, Hooks
from tests.hooks.world import START, STOP, TOOL, USED, denied
from tests.patience import within
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast, hooks = session_world.holdfast, launcher_scene.hooks
# Shells, Python and git together; a client waits for ten.
LONGEST_SECONDS = 2.0


def digest_of(folder: Path) -> dict[str, str]:
    """Each file and link below a folder, with its content, mode and time."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path).encode()
        else:
            content = path.read_bytes() if path.is_file() else b""
        sum = hashlib.sha256(content).hexdigest()
        found[str(path.relative_to(folder))] = f"{status.st_mode} {status.st_mtime_ns} {sum}"
    return found


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """What the person has beside the clone."""
    folder = tmp_path / "photos"
    (folder / "2019").mkdir(parents=True)
    for name in ("a.jpg", "2019/b.jpg", ".bash_profile", "tell", "claude.PostToolUse", "latch"):
        (folder / name).write_text(f"the person's {name}\n")
    return folder


def go_through(hooks: Hooks, client: str) -> list[Any]:
    """A short session; each of its hooks ends in time."""
    said: dict[str, Any] = {**MAKE, "source": "startup", "prompt": "go on"}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(hooks.root / "README.md")}}
    answers = []
    events = [(START, said), (TOOL, said), (TOOL, edit), (USED, edit), (USED, said), (STOP, said)]
    for names, facts in events:
        with within(LONGEST_SECONDS, names[client]):
            answers.append(hooks(client, names[client], **facts))
    return answers


PLACES = [
    *split_words(".holdfast .holdfast/shared .holdfast/seen .holdfast/pending .holdfast/slots"),
    *split_words(".holdfast/lives .holdfast/limits .holdfast/waiting .holdfast/last-turn"),
    ".holdfast/seen/{client}.{used}",
    ".holdfast/seen/{client}.{stop}",
    ".holdfast/latch",
    *split_words(".holdfast/hook-failures.jsonl .holdfast/after-turn.lock .holdfast/inbox"),
]


def name_of(place: str, client: str) -> str:
    return place.format(client=client, used=USED[client], stop=STOP[client])


def commit_link(root: Path, git: Git, name: str, to: Path) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)
    git("add", "--force", name)
    git("commit", "--quiet", "-m", "a link")


@pytest.mark.matrix
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("to", ["photos", "photos/.bash_profile", "missing", ".."])
def test_a_committed_link_leads_no_hook_to_the_persons_files(
    hooks: Hooks, git: Git, photos: Path, client: str, place: str, to: str
) -> None:
    commit_link(hooks.root, git, name_of(place, client), photos.parent / to)
    before = digest_of(photos)
    go_through(hooks, client)
    assert digest_of(photos) == before
    assert not (photos.parent / "missing").exists()


def test_a_folder_of_links_that_an_older_version_would_have_emptied(
    hooks: Hooks, git: Git, photos: Path
) -> None:
    """The story as it was seen: photos were deleted, and the profile was emptied."""
    commit_link(hooks.root, git, ".holdfast/shared", photos)
    commit_link(hooks.root, git, ".holdfast/seen/claude.PostToolUse", photos / ".bash_profile")
    before = digest_of(photos)
    go_through(hooks, "claude")
    go_through(hooks, "claude")
    assert digest_of(photos) == before


SWAPPED = ["", "seen", "pending", "shared", "slots", "seen/claude.PostToolUse", "seen/claude.Stop"]


@pytest.mark.parametrize("name", SWAPPED)
@pytest.mark.parametrize("to", ["photos", "photos/.bash_profile"])
def test_a_link_that_was_swapped_in_later_leads_no_hook_there(
    hooks: Hooks, photos: Path, name: str, to: str
) -> None:
    """In the private folder itself: an agent that may write the git dir put it there."""
    go_through(hooks, "claude")
    path = Path(discover(str(hooks.root)).private, name)
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    path.symlink_to(photos.parent / to)
    before = digest_of(photos)
    go_through(hooks, "claude")
    assert digest_of(photos) == before


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    folder = os.getcwd()
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(folder)


def make_folder(path: Path) -> None:
    (path / "x").mkdir(parents=True)


STRANGE: list[Callable[[Path], None]] = [make_pipe, make_socket, make_folder]


@pytest.mark.matrix
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("place", [place for place in PLACES if place != ".holdfast"])
@pytest.mark.parametrize("make", STRANGE)
def test_nothing_waits_for_a_strange_file(
    hooks: Hooks, client: str, place: str, make: Callable[[Path], None]
) -> None:
    path = hooks.root / name_of(place, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    assert not any(denied(client, answer) for answer in go_through(hooks, client) if answer)


@pytest.mark.parametrize("name", ["commondir", "HEAD", "config", "index"])
@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_git_file_that_leads_to_pipes_keeps_no_hook_waiting(
    hooks: Hooks, tmp_path: Path, client: str, name: str
) -> None:
    go_through(hooks, client)
    elsewhere = tmp_path / "elsewhere"
    (hooks.root / ".git").rename(elsewhere)
    (hooks.root / ".git").write_text(f"gitdir: {elsewhere}\n")
    (elsewhere / name).unlink(missing_ok=True)
    os.mkfifo(elsewhere / name)
    go_through(hooks, client)


@pytest.mark.parametrize("name", ["HEAD", "config", "index"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_denies_the_tool_also_in_a_repository_of_pipes(
    hooks: Hooks, client: str, name: str
) -> None:
    latch.engage(discover(str(hooks.root)), "the wrong database", by="me", now=0)
    (hooks.root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(hooks.root / ".git" / name)
    with within(LONGEST_SECONDS, client):
        assert "the wrong database" in denied(client, hooks(client, TOOL[client], **MAKE))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_latch_that_came_with_a_clone_denies_nothing(
    hooks: Hooks, git: Git, holdfast: Holdfast, client: str
) -> None:
    (hooks.root / ".holdfast" / "latch").mkdir(parents=True)
    (hooks.root / ".holdfast" / "latch" / "x").write_text("stop")
    assert hooks(client, TOOL[client], **MAKE) == {}
    shutil.rmtree(hooks.root / ".holdfast" / "latch")
    (hooks.root / ".holdfast" / "latch").write_text('{"reason":"no","by":"me","at":"now"}')
    assert "no" in denied(client, hooks(client, TOOL[client], **MAKE)), "a sandboxed agent's own"
    git("add", "--force", ".holdfast/latch")
    assert hooks(client, TOOL[client], **MAKE) == {}
    assert "came with the repository" in holdfast("doctor").out


def test_a_private_folder_that_came_with_an_archive_is_not_used(hooks: Hooks, photos: Path) -> None:
    """It can hold links, and it does not know its own inode."""
    private = Path(discover(str(hooks.root)).prepare_private())
    made = (private / "made").read_text()
    shutil.rmtree(private)
    private.mkdir()
    (private / "made").write_text(made)
    for name in ("seen", "shared", "slots", "pending", "lives"):
        (private / name).symlink_to(photos)
    before = digest_of(photos)
    go_through(hooks, "claude")
    assert digest_of(photos) == before
    assert not (private / "shared").is_symlink()


def test_what_an_older_version_kept_in_the_tree_is_taken_over_once(
    hooks: Hooks, git: Git, holdfast: Holdfast, photos: Path
) -> None:
    tools = hooks.root / ".holdfast"
    for name, text in {
        "slots/0123/client": '{"session":"old","client":"claude"}',
        "slots/0123/transcript": '{"path":"/home/x/other.jsonl"}',
        "lives/ab.json": '{"stream":"agent:A","lives":{}}',
        "lives/cd.json": '{"stream":"agent:B","lives":{}}',
        "seen/claude.Stop": "",
        "shared/tell": "",
    }.items():
        (tools / name).parent.mkdir(parents=True, exist_ok=True)
        (tools / name).write_text(text)
    (tools / "lives" / "link.json").symlink_to(photos / "a.jpg")
    git("add", "--force", ".holdfast/lives/cd.json")
    before = digest_of(photos)
    hooks("claude", "SessionStart", source="startup")
    private = Path(discover(str(hooks.root)).private)
    assert (private / "slots/0123/client").read_text().startswith('{"session":"old"')
    assert not (private / "slots/0123/transcript").exists(), "it names a path"
    assert (private / "lives/ab.json").exists()
    assert not (private / "lives/cd.json").exists(), "it came with the repository"
    assert not (private / "lives/link.json").is_symlink()
    assert not (private / "lives/link.json").exists()
    assert not (tools / "slots").exists()
    assert not (tools / "shared").exists()
    assert digest_of(photos) == before


OLD = "# Holdfast's hook launcher, of an older version.\nversion='0.2.0'\n"


def test_a_typed_command_replaces_an_older_launcher(hooks: Hooks, holdfast: Holdfast) -> None:
    """It empties files until it is replaced."""
    (hooks.folder / launcher.NAME).write_text(OLD)
    holdfast("status")
    assert (hooks.folder / launcher.NAME).read_text() == launcher.text(str(hooks.folder))


def test_a_python_hook_replaces_an_older_launcher(hooks: Hooks) -> None:
    written = launcher.text(str(hooks.folder)).replace(
        f"version='{launcher.VERSION}'", "version='0.2.0'"
    )
    (hooks.folder / launcher.NAME).write_text(written)
    subprocess.run(
        ["/bin/sh", "-c", hooks.line("claude", "SessionStart")],
        input=b'{"session_id":"s1","source":"startup"}',
        cwd=hooks.root,
        timeout=60,
        check=True,
    )
    assert (hooks.folder / launcher.NAME).read_text() == launcher.text(str(hooks.folder))


def test_an_event_names_no_transcript_of_another_project(
    hooks: Hooks, holdfast: Holdfast, tmp_path: Path
) -> None:
    """In a hook's payload, and in a file that waits: its text would come into this project's files."""
    other = tmp_path / "other project"
    other.mkdir()
    conversation = session_world.Conversation(other)
    conversation.add("user", {"role": "user", "content": "The launch code is 0000-SESAME."})
    conversation.edit("code.txt", "0000", "0000-SESAME")
    conversation.leave()
    said = {"transcript_path": str(conversation.path), "source": "startup"}
    hooks("claude", "SessionStart", **said)
    hooks("claude", "Stop", **said)
    pending = hooks.root / ".holdfast" / "pending"
    pending.mkdir(parents=True)
    (pending / "claude.Stop.s2.77").write_text(
        json.dumps({"session_id": "s2", "cwd": str(hooks.root), **said})
    )
    hooks("claude", "SessionStart", session_id="s3", source="startup")
    for words in (["resume"], ["history"], ["status"], ["export"]):
        assert "SESAME" not in holdfast(*words).out, words
    assert b"SESAME" not in session_world.every_byte_under(hooks.root)


@pytest.fixture
def pretender(repository: Path, git: Git, photos: Path, tmp_path: Path) -> Path:
    """A clone in which a folder has the names of a bare repository, and our folder with links in it."""
    package = repository / "package"
    for name in ("objects/keep", "refs/keep", "app/holdfast.toml"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    (package / "HEAD").write_text("ref: refs/heads/main\n")
    (package / "holdfast").mkdir()
    for name in ("clients", "quarantine", "alerts", "displaced"):
        (package / "holdfast" / name).symlink_to(photos)
    (package / "holdfast" / "latch").write_text('{"reason":"no","by":"evil","at":"now"}')
    git("add", "--force", ".")
    git("commit", "--quiet", "-m", "a package")
    git("clone", "--quiet", str(repository), str(tmp_path / "clone"))
    return tmp_path / "clone"


def test_a_folder_of_a_clone_is_no_git_dir(
    pretender: Path, photos: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest_of(photos)
    monkeypatch.chdir(pretender / "package" / "app")
    assert discover().git_dir == str(pretender / ".git")
    for words in (["init", "--client", "claude"], ["note", "one"], ["gc"], ["status"]):
        assert holdfast(*words).code == 0, words
    assert digest_of(photos) == before


@pytest.mark.parametrize("name", ["clients", "quarantine", "alerts", "displaced", "usage.db"])
def test_a_link_in_the_git_dir_of_an_archive_is_removed(
    repository: Path, photos: Path, holdfast: Holdfast, name: str
) -> None:
    (repository / ".git" / "holdfast").mkdir()
    (repository / ".git" / "holdfast" / name).symlink_to(photos)
    before = digest_of(photos)
    for words in (["init", "--client", "claude"], ["note", "one"], ["gc"], ["status"]):
        assert holdfast(*words).code == 0, words
    assert digest_of(photos) == before


WORK: list[list[str]] = [
    ["note", "one"],
    ["loop", "start", "PLAN", "--track", "t"],
    ["loop", "resume", "t"],
    ["snapshot", "create"],
    ["undo", "--list"],
    ["gc"],
    ["status"],
    ["resume"],
]


@pytest.mark.parametrize("what", ["a link", "a pipe"])
def test_no_depth_of_an_archives_git_dir_hides_a_link(
    hooks: Hooks, holdfast: Holdfast, photos: Path, what: str
) -> None:
    """The lock of a track was written through one, and emptied the person's profile."""
    track = hooks.root / "conductor" / "tracks" / "t"
    track.mkdir(parents=True)
    (track / "metadata.json").write_text("{}")
    go_through(hooks, "claude")
    for words in WORK:
        assert holdfast(*words).code in (0, 1, 3), words
    home = hooks.root / ".git" / "holdfast"
    shutil.copytree(home / "worktree", home / "unpacked")
    shutil.rmtree(home / "worktree")
    (home / "unpacked").rename(home / "worktree")
    found = [path for path in sorted(home.glob("*/**/*")) if path.is_file() and path.name != "made"]
    assert any(path.name == "holder" for path in found)
    for path in found:
        path.unlink()
        if what == "a link":
            path.symlink_to(photos / ".bash_profile")
        else:
            os.mkfifo(path)
    before = digest_of(photos)
    for words in WORK:
        with within(LONGEST_SECONDS, words):
            answer = holdfast(*words)
        assert answer.code != 70, answer.err
    go_through(hooks, "claude")
    assert digest_of(photos) == before


@pytest.mark.parametrize("make", [make_pipe, make_socket, lambda path: path.symlink_to("nowhere")])
def test_a_strange_lock_of_a_track_keeps_nobody_waiting(
    repository: Path, holdfast: Holdfast, make: Callable[[Path], None]
) -> None:
    track = repository / "conductor" / "tracks" / "t"
    track.mkdir(parents=True)
    make(track / ".metadata.lock")
    with within(LONGEST_SECONDS, "the lock"):
        refused = holdfast("loop", "start", "PLAN", "--track", "t")
    assert refused.code == 4
    assert "in the way of the track's lock" in refused.err


def test_a_teams_hook_without_holdfast_makes_no_file_behind_a_link(
    repository: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    """It says once that Holdfast is not installed, and remembers that in the git dir, which an archive can bring."""
    assert holdfast("init", "--client", "claude", "--shared").code == 0
    settings = json.loads((repository / ".claude" / "settings.json").read_text())
    line = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    elsewhere = tmp_path / "nobody"
    elsewhere.mkdir()
    (repository / ".git" / "holdfast-said").symlink_to(elsewhere / "new")
    words = ["/bin/sh", "-c", line]
    environment = {"HOME": str(elsewhere), "PATH": os.environ["PATH"]}
    subprocess.run(words, cwd=repository, env=environment, check=True, timeout=60)
    assert list(elsewhere.iterdir()) == []


def test_a_git_file_of_an_agent_opens_no_other_projects_journal(
    repository: Path, git: Git, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert holdfast("note", "tell nobody").code == 0
    mine = tmp_path / "mine"
    git("init", "--quiet", str(mine))
    (mine / "sub").mkdir()
    (mine / "sub" / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    monkeypatch.chdir(mine / "sub")
    answer = holdfast("note")
    assert answer.code != 0
    assert "tell nobody" not in answer.out + answer.err
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), at=repository)
    (mine / "sub" / ".git").write_text(f"gitdir: {repository / '.git/worktrees/linked'}\n")
    assert holdfast("note").code != 0
    (tmp_path / "linked").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert "tell nobody" in holdfast("note").out, "a work tree that was moved is its own"


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".holdfast/.gitignore"])
def test_a_pipe_that_git_would_read_keeps_no_hook_waiting(hooks: Hooks, name: str) -> None:
    (hooks.root / name).parent.mkdir(exist_ok=True)
    (hooks.root / name).unlink(missing_ok=True)
    os.mkfifo(hooks.root / name)
    go_through(hooks, "claude")


MET_BY_GIT = [
    "sub/.gitignore",
    "sub/.gitattributes",
    ".git/refs/heads/main",
    ".git/info/sparse-checkout",
    ".git/objects/info/commit-graph",
    ".git/objects/pack/multi-pack-index",
    "included",
]


@pytest.mark.skipif(
    not os.path.isdir("/proc/self"), reason="NOT tried: no /proc tells what git waits for"
)
@pytest.mark.parametrize("name", MET_BY_GIT)
def test_a_pipe_that_git_itself_meets_keeps_nobody_waiting(
    hooks: Hooks, holdfast: Holdfast, git: Git, name: str
) -> None:
    """Git has too many files for a look at each. Session starts took 3 seconds for each git, commands 30."""
    (hooks.root / "sub").mkdir()
    (hooks.root / "sub" / "file").touch()
    if name == "included":
        git("config", "include.path", "../included")
    path = hooks.root / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    go_through(hooks, "claude")
    for words in (["resume"], ["status"], ["checkpoint", "--task", "x"], ["undo", "--list"]):
        with within(LONGEST_SECONDS, words):
            answer = holdfast(*words)
        assert answer.code != 70, answer.err


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("database", ["journal.db", "usage.db"])
def test_a_pipe_beside_a_database_of_an_archive_keeps_nobody_waiting(
    hooks: Hooks, holdfast: Holdfast, database: str, ending: str
) -> None:
    """SQLite opens each of these files, and waited for the pipe of an archive for ever."""
    go_through(hooks, "claude")
    path = hooks.root / ".git" / "holdfast" / f"{database}{ending}"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    go_through(hooks, "claude")
    for words in (
        ["status"],
        ["note", "x"],
        ["resume"],
        ["doctor"],
        ["verify"],
        ["guard", "report"],
    ):
        with within(LONGEST_SECONDS, words):
            answer = holdfast(*words)
        assert answer.code != 70, answer.err


CONFIGS = {
    "an equals sign": '[filter "a=b"]\n\tclean = touch {ran}\n',
    "a section behind another": '[core][filter "ev"]\n\tclean = touch {ran}\n',
    "a byte order mark": '\ufeff[filter "ev"]\n\tclean = touch {ran}\n',
    "a long comment": "# " + "x" * 1_100_000 + '\n[filter "ev"]\n\tclean = touch {ran}\n',
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_no_filter_of_an_archives_configuration_runs(
    repository: Path, holdfast: Holdfast, tmp_path: Path, kind: str
) -> None:
    ran = tmp_path / "ran"
    config = repository / ".git" / "config"
    text = CONFIGS[kind].format(ran=ran)
    old = config.read_text()
    config.write_text(text + old if text.startswith("\ufeff") else old + text)
    name = "a=b" if "=b" in text else "ev"
    (repository / ".gitattributes").write_text(f"* filter={name}\n")
    (repository / "new.txt").write_text("new\n")
    for words in (["checkpoint", "--task", "x"], ["snapshot", "create"], ["resume"], ["status"]):
        holdfast(*words)
    assert not ran.exists()


def test_another_work_tree_is_refused_however_the_configuration_names_it(
    repository: Path, holdfast: Holdfast, photos: Path
) -> None:
    with open(repository / ".git" / "config", "a") as config:
        config.write(f"[x][core] worktree = {photos}\n")
    before = digest_of(photos)
    answer = holdfast("snapshot", "create", "--json")
    assert answer.envelope["error"]["kind"] == "other_work_tree"
    assert digest_of(photos) == before


def test_a_new_folder_inherits_no_journal_of_one_that_was_removed(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system may give it the inode of the old one."""
    for name in ("old", *(f"new{number}" for number in range(5))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "holdfast.toml").touch()
        monkeypatch.chdir(folder)
        assert "private" not in holdfast("history").out
        assert holdfast("note", "private").code == 0
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(folder)
