"""A repository from elsewhere runs nothing, sends nothing and writes nowhere else."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import clock, config, inbox, latch, trust
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.web.work_tree import compare_with_commit
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.gates.person import Terminal
from tests.gates.test_gates import VERIFY, answer, ask, look
from tests.swapping import Swapper

pytestmark = pytest.mark.usefixtures("repository")

HARMLESS = "[session]\nstale_hours = 7\n[retention]\ndays = 30\n"


class Listener:
    """A stranger's server on this machine: it counts who calls."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.heard: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.settimeout(2)
            with connection:
                self.heard.append(connection.recv(65536))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def clone_settings(port: int) -> Path:
    """A file as a stranger might commit it; every command in it leaves a mark."""
    mark = Path("owned").resolve()
    Path("holdfast.toml").write_text(
        f"""{HARMLESS}
[probe]
tests = "touch {mark}"
[plan]
agent = "touch {mark}"
fix = "touch {mark}"
goals = "touch {mark}"
on = "tcp://127.0.0.1:{port}"
remote = "stranger"
[tracker]
kind = "linear"
linear_url = "http://127.0.0.1:{port}"
github_url = "http://127.0.0.1:{port}"
github_repository = "stranger/target"
key_variable = "MY_SECRET"
[gate]
key = "~/.ssh/another"
[notify]
urls = "json://127.0.0.1:{port}/"
[redact.rules]
slow = "a+$"
[journal]
workspace = "another/team"
[fleet]
epic = "../elsewhere"
[undo]
include = ".env"
on = false
days = 0
largest_mb = 0
[answers]
hold_seconds = 60
[memory]
keep_days = 1
keep_megabytes = 1
"""
    )
    return mark


def test_a_cloned_settings_file_runs_and_sends_nothing(
    holdfast: Holdfast, listener: Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_SECRET", "lin_api_very_secret")
    monkeypatch.setenv("LINEAR_API_KEY", "lin_api_very_secret")
    (Path().resolve().parent / "elsewhere").mkdir()
    mark = clone_settings(listener.port)
    began = time.monotonic()
    holdfast("note", "a" * 60 + "!")
    assert time.monotonic() - began < 5, "the rule of the file does not run"
    holdfast("checkpoint", "--issue", "CIA-1", "--claim", "it works", "tests", "--skip-git")
    holdfast("gate", "verify", "--built", "A secret plan", "--how", "look")
    holdfast("agent", "start", "Secondary-A", "--feature", "f1")
    for words in (["resume"], ["status"], ["doctor"], ["history"], ["tracker", "sync"]):
        holdfast(*words)
    assert not mark.exists()
    assert not [heard for heard in listener.heard if b"secret" in heard]
    assert not list((Path().resolve().parent / "elsewhere").iterdir())


def guarded() -> dict[str, str]:
    return {name: one.guard for name, one in config.tables().settings.items() if one.guard}


def test_the_guarded_settings_do_not_count_and_the_harmless_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HOLDFAST_MEMORY_KEEP_DAYS")
    clone_settings(1)
    settings = config.load(discover())
    assert settings["session.stale_hours"] == 7
    assert settings["retention.days"] == 30
    for name in guarded():
        assert settings[name] == config.tables().settings[name].default, name


def test_every_setting_that_names_something_is_guarded() -> None:
    """A text or a table is harmless only when this list says so."""
    harmless = {
        "session.commit_message",
        "tracker.kind",
        "rfc.references",  # read inside of the workspace only
        "claude.compaction",
        "session.same_file",  # one of a few words
        "session.progress_file",
        "memory.exclude",  # leaves more out
        "gate.signers",  # asks for more; without it, gates would need no signature
    }
    settings = config.tables().settings
    named = {name for name, one in settings.items() if isinstance(one.default, (str, dict))}
    outside = {name for name, one in settings.items() if one.environment_only}
    numbers = {"answers.hold_seconds", "memory.keep_days", "memory.keep_megabytes"}
    numbers |= {"undo.on", "undo.days", "undo.largest_mb"}
    assert (named - harmless - outside - {"journal.url"}) | numbers == set(guarded())


def test_show_lists_each_with_what_it_may_do(holdfast: Holdfast) -> None:
    clone_settings(1)
    shown = holdfast("trust", "--show")
    for name, may in guarded().items():
        assert name in shown.out
        assert may in shown.out
    data = holdfast("trust", "--show", "--json").data
    assert {one["name"] for one in data["settings"]} == set(guarded())
    assert data["trusted"] is False
    assert "holdfast trust --show" in holdfast("status").out
    assert "probe.tests" in holdfast("doctor").out


def test_rules_that_do_not_count_are_never_silent(holdfast: Holdfast) -> None:
    assert "redact.rules" not in holdfast("note", "one").err
    Path("holdfast.toml").write_text("[redact.rules]\nticket = 'TCK-[0-9]{6}'\n")
    assert "redact.rules of this repository do not count" in holdfast("note", "TCK-123456").err


def test_an_agent_cannot_trust(holdfast: Holdfast) -> None:
    clone_settings(1)
    refused = holdfast("trust", "--json")
    assert refused.code == 4
    assert config.load(discover())["probe.tests"] == ""


def test_a_person_trusts_and_is_asked_again_when_it_changes(holdfast: Holdfast) -> None:
    Path("holdfast.toml").write_text('[probe]\ntests = "true"\n')
    terminal = Terminal("trust")
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert "probe.tests = true" in seen.screen
    assert config.load(discover())["probe.tests"] == "true"
    assert holdfast("trust", "--show", "--json").data["trusted"] is True
    Path("holdfast.toml").write_text('[probe]\ntests = "false"\n')
    assert config.load(discover())["probe.tests"] == ""
    Path("holdfast.toml").write_text(f'{HARMLESS}[probe]\ntests = "true"\n')
    assert config.load(discover())["probe.tests"] == "true", "only the guarded ones are looked at"
    assert holdfast("trust", "--forget").code == 0
    assert config.load(discover())["probe.tests"] == ""


def test_another_clone_is_not_trusted(git: Git, tmp_path: Path) -> None:
    Path("holdfast.toml").write_text('[probe]\ntests = "true"\n')
    git("add", ".")
    git("commit", "-qm", "settings")
    workspace = discover()
    guarded = config.guarded_in(config.from_file(workspace, None))
    trust.trust(workspace, trust.words_of(guarded), "2026-11-17T00:00:00Z")
    git("clone", "-q", ".", str(tmp_path / "clone"))
    assert config.load(discover())["probe.tests"] == "true"
    assert config.load(discover(str(tmp_path / "clone")))["probe.tests"] == ""


# A journal that came with an archive


@pytest.fixture
def archive(holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's project without git, as an archive: its journal holds a claim with a command."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "holdfast.toml").touch()
    with monkeypatch.context() as stranger:
        stranger.chdir(theirs)
        stranger.setenv("XDG_STATE_HOME", str(tmp_path / "state of the stranger"))
        stranger.setenv("HOLDFAST_ACTOR", "boss")
        # Where versions up to 0.2 had it.
        stranger.setenv("HOLDFAST_HOME", str(theirs / ".holdfast"))
        claim = ("--claim", "it works", f"run:touch {tmp_path / 'owned'}")
        assert holdfast("checkpoint", "--session", "s1", "--task", "x", *claim).code == 0
        assert holdfast("note", "from the stranger").code == 0
    (tmp_path / "owned").unlink()
    archive = tmp_path / "archive.tar"
    with tarfile.open(archive, "w") as file:
        file.add(theirs, ".")
    return archive


def unpack(archive: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    with tarfile.open(archive) as file:
        file.extractall(place, filter="data")


def test_a_journal_that_came_with_an_archive_is_not_used(
    archive: Path, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    unpack(archive, mine)
    monkeypatch.chdir(mine)
    before = (mine / ".holdfast" / "journal.db").read_bytes()
    for words in (
        ["resume"],
        ["resume", "--recheck"],
        ["note", "mine"],
        ["checkpoint", "--task", "y"],
        ["status"],
        ["history"],
        ["note"],
        ["agent", "list"],
        ["gate", "list"],
        ["trust"],
    ):
        refused = holdfast(*words, "--json")
        assert refused.code == (1 if words[0] == "checkpoint" else 4), words
        kind = refused.envelope["error"]["kind"]
        assert kind in ("foreign_journal", "no_person", "not_kept"), words
    assert "was made elsewhere" in holdfast("doctor").out
    assert "(not trusted)" in holdfast("trust", "--show").out
    assert holdfast("estop", "--reason", "halt").code == 0, "a stop needs no trust"
    assert (mine / ".holdfast" / "journal.db").read_bytes() == before
    assert not (tmp_path / "owned").exists()
    terminal = Terminal("trust")
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert "be read and written as yours" in seen.screen
    assert "from the stranger" in holdfast("note").out


def test_an_archive_over_a_project_brings_no_journal_of_its_own(
    archive: Path, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpacked where this user worked before: the folder is known, and this journal is not."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "holdfast.toml").touch()
    monkeypatch.chdir(mine)
    assert holdfast("note", "mine").code == 0
    unpack(archive, mine)
    assert "mine" in holdfast("note").out
    assert "from the stranger" not in holdfast("history").out


def test_a_project_without_git_is_its_users_own(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "holdfast.toml").touch()
    monkeypatch.chdir(mine)
    assert holdfast("note", "one").code == 0
    assert holdfast("backup", str(tmp_path / "copy.db")).code == 0
    assert holdfast("note", "two").code == 0
    assert holdfast("backup", str(tmp_path / "copy.db"), "--restore").code == 0
    assert "one" in holdfast("note").out, "a restored copy is the user's own"
    assert not (mine / ".holdfast" / "journal.db").exists()


def test_a_project_without_git_that_was_renamed_keeps_its_journal(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, renamed = tmp_path / "mine", tmp_path / "renamed"
    mine.mkdir()
    (mine / "holdfast.toml").touch()
    monkeypatch.chdir(mine)
    assert holdfast("note", "one").code == 0
    mine.rename(renamed)
    monkeypatch.chdir(renamed)
    assert holdfast("note", "two").code == 0
    assert "one" in holdfast("note").out
    mine.mkdir()
    (mine / "holdfast.toml").touch()
    monkeypatch.chdir(mine)
    assert holdfast("note", "another project").code == 0
    assert "one" not in holdfast("note").out
    monkeypatch.chdir(renamed)
    assert "another project" not in holdfast("history").out


def test_a_journal_of_the_last_version_is_known_by_its_init(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "holdfast.toml").touch()
    monkeypatch.chdir(mine)
    with monkeypatch.context() as older:
        older.setenv("HOLDFAST_HOME", str(mine / ".holdfast"))
        assert holdfast("init", "--client", "claude").code == 0
        assert holdfast("note", "one").code == 0
    assert holdfast("note", "two").code == 0
    assert "one" in holdfast("note").out
    assert not (mine / ".holdfast" / "journal.db").exists()
    assert (mine / ".holdfast" / "journal.db.taken-over").exists()
    kept = Path(discover().home, "clients")
    assert [path.name for path in kept.iterdir()], "what the settings were came along"


# Links


@pytest.mark.parametrize("link", [".holdfast", ".holdfast/views", ".holdfast/inbox"])
def test_a_committed_link_is_not_written_through(
    link: str, holdfast: Holdfast, git: Git, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(link).parent.mkdir(exist_ok=True)
    Path(link).symlink_to(outside)
    git("add", "-f", link)
    git("commit", "-qm", "a link")
    for words in (["note", "one"], ["checkpoint", "--task", "x"], ["snapshot", "create"]):
        holdfast(*words)
    holdfast("estop", "--reason", "halt")
    assert list(outside.iterdir()) == []
    assert holdfast("note", "two").code == 0, "a note needs nothing of .holdfast"
    assert list(outside.iterdir()) == []


def test_a_folder_without_git_is_not_written_through_a_link(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (project / ".holdfast").symlink_to(outside)
    monkeypatch.chdir(project)
    assert holdfast("note", "one").code == 0, "a note needs nothing of .holdfast"
    assert list(outside.iterdir()) == []


def test_init_writes_through_no_linked_settings(holdfast: Holdfast, tmp_path: Path) -> None:
    outside = tmp_path / "settings.json"
    outside.write_text("{}")
    Path(".claude").mkdir()
    Path(".claude/settings.local.json").symlink_to(outside)
    Path(".claude/settings.json").symlink_to(outside)
    refused = holdfast("init", "--client", "claude", "--json")
    assert refused.envelope["error"]["kind"] == "linked_settings"
    assert outside.read_text() == "{}"


def test_uninstall_takes_nothing_out_of_linked_settings(holdfast: Holdfast, tmp_path: Path) -> None:
    """A clone brings a link to the settings that the person has for all projects, with Holdfast's hooks in them."""
    assert holdfast("init", "--client", "claude").code == 0
    private = Path(".claude/settings.local.json")
    mine = tmp_path / "settings.json"
    mine.write_text(private.read_text())
    private.unlink()
    private.symlink_to(mine)
    before = mine.read_bytes()
    assert holdfast("uninstall").code == 0
    assert mine.read_bytes() == before


@pytest.mark.parametrize("aim", [".git/config", ".git/hooks/pre-commit"])
def test_init_writes_no_settings_into_gits_folder(holdfast: Holdfast, aim: str) -> None:
    Path(".codex").mkdir()
    Path(".codex/config.toml").symlink_to(Path("..", aim))
    before = Path(aim).read_bytes() if Path(aim).exists() else None
    refused = holdfast("init", "--client", "codex", "--json")
    assert refused.envelope["error"]["kind"] == "linked_settings"
    assert (Path(aim).read_bytes() if Path(aim).exists() else None) == before


def test_settings_of_the_main_worktree_that_lead_out_are_not_written(
    repository: Path,
    git: Git,
    holdfast: Holdfast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Codex reads the hooks of every worktree from the main one."""
    outside = tmp_path / "hooks.json"
    outside.write_text("{}")
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    (repository / ".codex").mkdir()
    (repository / ".codex" / "hooks.json").symlink_to(outside)
    monkeypatch.chdir(tmp_path / "linked")
    assert holdfast("init", "--client", "codex").code != 0
    assert outside.read_text() == "{}"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="swaps with renameat2")
def test_settings_are_written_into_no_folder_that_is_swapped_for_a_link(
    repository: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    """An agent exchanges the folder and a link while its person sets the client up."""
    outside = tmp_path / "mine"
    outside.mkdir()
    (outside / "settings.local.json").write_text('{"mine": true}')
    folder = repository / ".claude"
    folder.mkdir()
    deadline = time.monotonic() + 2
    with Swapper(folder, outside) as swapper:
        while time.monotonic() < deadline:
            holdfast("init", "--client", "claude")
            holdfast("uninstall")
    assert swapper.swaps > 100
    assert os.listdir(outside) == ["settings.local.json"]
    assert (outside / "settings.local.json").read_text() == '{"mine": true}'


# The inbox


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="swaps with renameat2")
def test_an_inbox_that_is_swapped_for_a_link_removes_nothing_elsewhere(
    repository: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    """A sandboxed agent may write its tree alone, and would have the next command rename or remove files outside."""
    outside = tmp_path / "mine"
    outside.mkdir()
    holdfast("note", "one")
    path = queue("note:default", {"add": "from an agent", "by": "x"})
    (outside / path.name).write_text("{}")
    workspace = discover()
    deadline = time.monotonic() + 2
    with Swapper(path.parent, outside) as swapper:
        while time.monotonic() < deadline:
            for waiting in inbox.list_waiting(workspace.root):
                with contextlib.suppress(OSError):
                    inbox.set_aside(waiting, workspace.root)
            real = path.with_name(path.name + inbox.REFUSED)
            with contextlib.suppress(OSError):
                inbox.remove(str(path), workspace.root)
                real.rename(path)
            with contextlib.suppress(OSError):
                path.parent.joinpath(path.name).touch()
    assert swapper.swaps > 100
    assert path.name in os.listdir(outside)
    assert path.name + inbox.REFUSED not in os.listdir(outside)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="swaps with renameat2")
def test_a_latch_in_a_folder_that_is_swapped_for_a_link_is_set_and_removed_nowhere_else(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "mine"
    outside.mkdir()
    (outside / "latch").write_text("the person's\n")
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "file" / "home"))
    (tmp_path / "file").touch()  # no home can be there, so that the stop is set in the tree
    workspace = discover()
    folder = repository / ".holdfast"
    folder.mkdir()
    deadline = time.monotonic() + 2
    with Swapper(folder, outside) as swapper:
        while time.monotonic() < deadline:
            for act in (
                lambda: latch.engage(workspace, "halt", by="me", now=0),
                lambda: latch.release(workspace),
            ):
                with contextlib.suppress(OSError, HoldfastError):
                    act()
    assert swapper.swaps > 100
    assert os.listdir(outside) == ["latch"]
    assert (outside / "latch").read_text() == "the person's\n"


def queue(stream: str, command: Any, name: str = "1", **fields: Any) -> Path:
    folder = Path(discover().prepare_tool_folder("inbox"))
    queued = {
        "id": f"q{name}",
        "stream": stream,
        "command": command,
        "actor": "stranger",
        "fence": None,
        "at": "2026-01-02T03:04:05.006Z",
        **fields,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(queued))
    return path


def capture(mark: Path) -> dict[str, Any]:
    probe = {"kind": "run", "value": f"touch {mark}"}
    claim = {"claim": "it works", "probe": probe, "ok": True, "exit_code": 0}
    world = {"worktree": "/somewhere/else", "repository": "", "commit": None, "branch": None}
    return {
        "do": "capture",
        "given": {"current": "Renderer"},
        "folder": "",
        "profile": "manual",
        "reason": "handoff",
        "world": {**world, "dirty": None, "dirty_files": []},
        "claims": [{**claim, "output": "", "at": "2026-01-02T03:04:05Z", "commit": None}],
    }


def test_a_claim_of_the_inbox_has_no_probe(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    mark = Path("owned").resolve()
    queue("session:s1", capture(mark))
    holdfast("note", "takes the inbox in")
    state = holdfast("show", "session:s1", "--json").data["state"]
    assert state["progress"]["current"] == "Renderer"
    assert state["last"]["claims"] == []
    assert state["last"]["world"]["worktree"] == str(Path().resolve()), "no other folder"
    holdfast("resume", "--session", "s1")
    assert not mark.exists()


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_committed_inbox_is_ignored_and_named(version: str, holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "one")
    path = queue("note:default", {"add": "from the author of the clone", "by": "x"})
    Path(".holdfa").write_text("shares the beginning of its name")
    git("add", "-f", ".holdfa", str(path))
    git("commit", "-qm", "an inbox")
    git("update-index", "--index-version", version)
    holdfast("note", "two")
    assert "author" not in holdfast("note").out
    assert path.exists()
    found = holdfast("doctor").out
    assert "came with the repository and is ignored" in found
    assert str(path) in found
    other = queue("note:default", {"add": "from an agent", "by": "x"}, name="2")
    holdfast("note", "three")
    assert "from an agent" in holdfast("note").out
    assert not other.exists()


def test_acts_of_a_person_do_not_come_from_the_inbox(holdfast: Holdfast) -> None:
    id = ask()
    holdfast("estop", "--reason", "halt")
    queue("stop:workspace", {"do": "release", "reason": "", "by": "boss"}, "1")
    queue(f"gate:{id}", {"do": "withdraw", "by": "boss", "why": "no"}, "2")
    queue(f"gate:{id}", {"do": "answer", "text": "approved", "key": "x"}, "3")
    queue("budget:default", {"do": "ack", "level": "cost", "person": {"name": "boss"}}, "4")
    queue("budget:default", {"do": "reset", "person": {"name": "boss"}}, "5")
    holdfast("note", "takes the inbox in")
    assert latch.read(discover()) is not None
    assert holdfast("show", "stop:workspace", "--json").data["state"]["stopped"] is True
    assert look(id, clock.now())["answer"] is None
    assert len(inbox.refused(discover().root)) == 5
    assert "5 commands were refused" in holdfast("doctor").out
    assert answer(id, "approved")["answer"] is not None, "the gate still works"


def test_a_gate_of_the_inbox_that_names_another_folder_runs_nothing_there(
    holdfast: Holdfast, git: Git, tmp_path: Path
) -> None:
    mark = tmp_path / "owned"
    evil = tmp_path / "evil"
    git("init", "-q", str(evil))
    (evil / "file").write_text("x")
    git("-C", str(evil), "config", "core.fsmonitor", f"touch {mark}; false")
    holdfast("note", "one")
    asked = {"by": "stranger", "session": "", "agent": "", "worktree": str(evil)}
    terms = {"pictures": [], "batch": False, "phase": "", "holds": "", "cost_tokens": None}
    terms |= {"expires_at": "", "default": "", "strict": False}
    queue("gate:evil", {"do": "open", "content": VERIFY, "asked": asked, **terms})
    holdfast("note", "takes the inbox in")
    state = look("evil", clock.now())
    assert state["asked"] is not None
    assert state["asked"]["worktree"] == discover().root
    assert compare_with_commit(str(evil), [discover().root])["problem"], "nor from an older journal"
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "zero", "large", "deep"])
def test_a_strange_inbox_file_stops_nothing(kind: str, holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("note", "one")
    path = Path(discover().prepare_tool_folder("inbox")) / "1.json"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "large":
        path.write_bytes(b" " * (inbox.LARGEST + 1))
    else:
        path.write_text("[" * 100_000)
    began = time.monotonic()
    assert holdfast("note", "two").code == 0
    assert time.monotonic() - began < 5
    assert not path.exists()
    assert not path.is_symlink()


def test_a_command_from_the_future_is_dated_now(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    queue("note:default", {"add": "later", "by": "x"}, at="2096-01-01T00:00:00.000Z")
    holdfast("note", "two")
    records = holdfast("history", "note:default", "--json").data["records"]
    assert all(record["at"] < "2090" for record in records)


@pytest.mark.parametrize("name", ["holdfast.toml", "pyproject.toml"])
def test_a_settings_file_that_leads_out_of_the_tree_is_not_followed(
    holdfast: Holdfast, git: Git, tmp_path: Path, name: str
) -> None:
    (tmp_path / "mine").write_text("password = of the person\n")
    Path(name).symlink_to(tmp_path / "mine")
    git("add", name)
    git("commit", "--quiet", "-m", "a link")
    done = holdfast("note", "mine")
    assert "password" not in done.err
    assert "TOML" not in done.err
    if name == "holdfast.toml":
        assert "is a link that leads out of the work tree, and is not followed" in done.err
        assert "is not followed" in " ".join(holdfast("status").out.split())
    else:
        assert done.code == 0, done.err


def test_a_settings_file_that_leads_to_another_of_the_tree_counts(holdfast: Holdfast) -> None:
    Path("settings.toml").write_text(HARMLESS)
    Path("holdfast.toml").symlink_to("settings.toml")
    assert config.load(discover())["session.stale_hours"] == 7


def test_a_clone_removes_no_kept_session_of_other_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_MEMORY_KEEP_DAYS")
    Path("holdfast.toml").write_text("[memory]\nkeep_days = 1\nkeep_megabytes = 0\n")
    settings = config.load(discover())
    assert (settings["memory.keep_days"], settings["memory.keep_megabytes"]) == (365, 500)
