"""One fleet on several machines: each a clone of its own, some with a clock that is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from holdfast.journal.chain import seal
from holdfast.kernel import clock
from tests.cli.conftest import Holdfast

if TYPE_CHECKING:
    from holdfast.journal.interface import Draft
    from tests.conftest import Git

A, B = "Secondary-A", "Secondary-B"
REAL = clock.now
FEATURE = "feature_01_one"
# The command line of a machine whose clock is off by so many milliseconds.
SKEWED = (
    "import sys, time\n"
    "real, shift = time.time_ns, int(sys.argv[1]) * 1_000_000\n"
    "time.time_ns = lambda: real() + shift\n"
    "from holdfast.cli.frame import run\n"
    "sys.exit(run(sys.argv[2:]))\n"
)


class Machine:
    """A clone with a name and a clock of its own. Away, its folder is not there for anybody else."""

    def __init__(self, root: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.shift = 0
        self._holdfast = holdfast
        self._monkeypatch = monkeypatch

    def run(self, *words: str, code: int = 0) -> Any:
        with self._monkeypatch.context() as patch:
            patch.chdir(self.root)
            patch.setattr(clock, "now", lambda: REAL() + self.shift)
            answer = self._holdfast(*words, "--json")
        assert answer.code == code, answer
        return _said(answer.out)

    def run_apart(self, *words: str) -> Any:
        """In a process of its own, to whose interpreter the whole clock is wrong."""
        command = [sys.executable, "-c", SKEWED, str(self.shift), *words, "--json"]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        assert done.returncode == 0, done
        return _said(done.stdout)

    def agents(self) -> dict[str, Any]:
        return {entry["agent_id"]: entry for entry in self.run("agent", "list")["agents"]}

    def go_away(self) -> None:
        self.root = self.root.rename(self.root.with_name(f"{self.root.name}-away"))

    def come_back(self) -> None:
        self.root = self.root.rename(self.root.with_name(self.root.name.removesuffix("-away")))


def _said(text: str) -> Any:
    answer = json.loads(text)
    return answer["data"] if answer["ok"] else answer["error"]


@pytest.fixture
def hub(tmp_path: Path, git: Git) -> Path:
    """The repository that all machines share."""
    root = Path(os.path.realpath(tmp_path))
    git("init", "--quiet", "--bare", str(root / "hub.git"))
    git("clone", "--quiet", str(root / "hub.git"), str(root / "first"))
    (root / "first" / "README.md").write_text("A project.\n")
    git("add", ".", at=root / "first")
    git("commit", "--quiet", "--message", "first", at=root / "first")
    git("push", "--quiet", "origin", "HEAD", at=root / "first")
    return root / "hub.git"


@pytest.fixture
def machines(
    on_server: str, hub: Path, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> tuple[Machine, Machine]:
    git("clone", "--quiet", str(hub), str(hub.parent / "second"))
    monkeypatch.setenv("HOLDFAST_AGENT_PID", str(os.getpid()))
    first, second = (hub.parent / name for name in ("first", "second"))
    return Machine(first, holdfast, monkeypatch), Machine(second, holdfast, monkeypatch)


def age(url: str, workspace: str, stream: str, minutes: int) -> None:
    """Let an agent's last word be so long ago, by the server's clock."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT r.seq, r.body, r.workspace, r.id, r.at, r.actor, r.kind, r.version, r.fence,"
            " coalesce(p.hash, s.anchor_hash) FROM holdfast.records r"
            " JOIN holdfast.workspaces w ON w.number = r.workspace"
            " JOIN holdfast.streams s ON s.number = r.stream"
            " LEFT JOIN holdfast.records p ON p.stream = r.stream AND p.version = r.version - 1"
            " WHERE w.id = %s AND s.name = %s ORDER BY r.seq DESC LIMIT 1",
            (workspace, stream),
        ).fetchone()
        assert row is not None
        seq, text, number, id, at, actor, kind, version, fence, previous = row
        body = json.loads(text)
        saved = body["checkpoint"] if "checkpoint" in body else body["set"]
        last = clock.parse(saved["last_checkpoint"]) - minutes * clock.MINUTE
        saved["last_checkpoint"] = clock.stamp(last)
        text = json.dumps(body)
        draft: Draft = {
            "id": id,
            "at": at,
            "actor": actor,
            "kind": kind,
            "body": body,
            "text": text,
        }
        salt, body_hash, record_hash = seal(previous, stream, version, fence, draft)
        connection.execute(
            "UPDATE holdfast.records SET body = %s, salt = %s, body_hash = %s, hash = %s"
            " WHERE workspace = %s AND seq = %s",
            (text, salt, body_hash, record_hash, number, seq),
        )
        connection.execute(
            "UPDATE holdfast.streams SET seen_at = %s, hash = %s WHERE workspace = %s AND name = %s",
            (clock.precise(last), record_hash, number, stream),
        )


def test_every_machine_lists_all_agents_and_says_where_they_are(
    machines: tuple[Machine, Machine],
) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    assert here.agents()[A]["here"] is True, "one machine: nothing to tell"
    there.run("agent", "start", B, "--feature", "feature_02_two")
    for machine, other in ((here, B), (there, A)):
        agents = machine.agents()
        assert set(agents) == {A, B}
        assert [name for name, entry in agents.items() if not entry["here"]] == [other]
        assert agents[other]["notes"] == [], "that its file is not here is no news"
        assert agents[other]["verdict"] == "active"
        # Both are this computer, whose name alone would not tell them apart.
        assert agents[A]["machine"] != agents[B]["machine"]


def test_a_feature_has_one_owner_on_all_machines(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    refused = there.run("agent", "start", B, "--feature", FEATURE, code=5)
    assert refused["kind"] == "feature_taken"
    assert f"says {os.uname().nodename}" in refused["message"]
    assert there.run("agent", "start", A, "--feature", "feature_03", code=5)["kind"]


def test_the_list_has_a_column_for_machines_only_when_there_are_several(
    machines: tuple[Machine, Machine], holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machines
    monkeypatch.chdir(here.root)
    holdfast("agent", "start", A, "--feature", FEATURE)
    name = os.uname().nodename
    assert name not in holdfast("agent", "list").out
    monkeypatch.chdir(there.root)
    assert name in holdfast("agent", "list").out


@pytest.mark.parametrize("hours", [-1, 9])
def test_a_machine_with_a_wrong_clock_does_no_harm(
    machines: tuple[Machine, Machine], hours: int
) -> None:
    here, there = machines
    here.shift = hours * clock.HOUR
    here.run_apart("agent", "start", A, "--feature", FEATURE)
    here.run("agent", "beat", A, "--step", "at work")
    there.run("agent", "start", B, "--feature", "feature_02_two")
    for machine in (here, there):
        agents = machine.agents()
        for agent in (A, B):
            entry = agents[agent]
            assert (entry["liveness"], entry["age_minutes"]) == ("ACTIVE", 0), (
                machine.shift,
                agent,
            )
            assert entry["notes"] == [], "not from the future"
    # Nor is it taken over too early: its own word is fresh, whatever its clock says.
    refused = there.run("agent", "takeover", A, "--by", "Secondary-C", code=1)
    assert refused["kind"] == "not_known_dead"
    assert "heartbeat 0 min" in refused["message"]


@pytest.mark.parametrize("hours", [-1, 9])
def test_silence_counts_by_the_servers_clock(
    machines: tuple[Machine, Machine], hours: int, on_server: str, workspace_name: str
) -> None:
    """Neither too early nor blocked: 61 minutes are STALE from everywhere, whoever's clock is wrong."""
    here, there = machines
    here.shift = hours * clock.HOUR
    here.run("agent", "start", A, "--feature", FEATURE)
    age(on_server, workspace_name, "agent:secondary_a", 59)
    assert there.agents()[A]["liveness"] == "WARNING"
    age(on_server, workspace_name, "agent:secondary_a", 2)
    assert there.agents()[A]["liveness"] == "STALE"
    taken = there.run("agent", "takeover", A, "--by", "Secondary-C", "--yes")
    assert taken["checkpoint"]["feature"] == FEATURE
    assert there.agents()["Secondary-C"]["age_minutes"] == 0
    late = here.run("agent", "beat", A, "--step", "still here", code=5)
    assert "taken over by Secondary-C" in late["message"]


@pytest.mark.parametrize("hours", [-1, 9])
def test_an_agent_that_writes_its_file_by_itself_goes_by_its_machines_clock(
    machines: tuple[Machine, Machine], hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the protocol's own lines do it, with `date`: here that is known and counted in; elsewhere at
    least nothing is from the future."""
    from holdfast.remote import server_time

    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    file = here.root / "agent_checkpoints" / "secondary_a.json"
    wrong = clock.now() + hours * clock.HOUR
    saved = json.loads(file.read_text())
    saved |= {"last_checkpoint": clock.stamp(wrong), "current_step": "by hand"}
    file.write_text(json.dumps(saved, indent=2))
    with monkeypatch.context() as patch:
        patch.setattr(server_time, "ahead", lambda _: -hours * clock.HOUR)
        entry = here.agents()[A]
    assert (entry["current_step"], entry["age_minutes"], entry["notes"]) == ("by hand", 0, [])
    with monkeypatch.context() as patch:
        patch.setattr(server_time, "ahead", lambda _: -hours * clock.HOUR)
        here.run("agent", "check")
        here.run("agent", "beat", A, "--step", "by us again")
    assert there.agents()[A]["age_minutes"] == 0


def test_what_an_agent_said_ahead_of_time_counts_from_when_it_was_heard(
    machines: tuple[Machine, Machine],
) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    file = here.root / "agent_checkpoints" / "secondary_a.json"
    saved = json.loads(file.read_text())
    saved["last_checkpoint"] = clock.stamp(clock.now() + 9 * clock.HOUR)
    file.write_text(json.dumps(saved, indent=2))
    here.run("doctor", "--fix")
    entry = there.agents()[A]
    assert (entry["age_minutes"], entry["notes"]) == (0, [])


def test_a_hook_stamps_by_the_servers_last_answer(
    machines: tuple[Machine, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never connects, so the answer that the last command got has to do."""
    from holdfast.kernel.workspace import discover
    from holdfast.remote import server_time

    here, _ = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    here.run("agent", "beat", A, "--step", "so that the folder is there")
    hook = discover(str(here.root), local=True)
    wrong = clock.now() + 9 * clock.HOUR
    right = server_time.known(hook, wrong)
    assert abs(right - clock.now()) < clock.HOUR
    (tmp_path / "boot_id").write_text("another boot\n")
    monkeypatch.setattr(server_time, "BOOT_ID", str(tmp_path / "boot_id"))
    assert server_time.known(hook, wrong) == wrong, "after a restart nothing is known"


def test_the_time_goes_on_though_the_machines_clock_is_set_meanwhile(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.kernel.workspace import discover
    from holdfast.remote import server_time

    workspace = discover(str(machines[0].root))
    before = server_time.now(workspace)
    monkeypatch.setattr(clock, "now", lambda: before + 30 * clock.DAY)
    assert 0 <= server_time.now(workspace) - before < clock.HOUR
    workspace.close()


def test_an_agent_of_another_machine_is_taken_over_with_what_is_known_of_it(
    machines: tuple[Machine, Machine],
) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    words = ("--step", "writing spec.md", "--recovery", "go on at part 3", "--file", "spec.md")
    here.run("agent", "beat", A, *words)
    here.go_away()
    taken = there.run("agent", "takeover", A, "--by", B, "--yes")
    text = "\n".join(taken["said"])
    assert "go on at part 3" in text
    assert f"Lived on: {os.uname().nodename}" in text
    assert "none was pushed" in text
    archive = next(line for line in taken["said"] if line.startswith("Archived: "))
    saved = json.loads((there.root / archive.removeprefix("Archived: ")).read_text())
    assert saved["recovery_instructions"] == "go on at part 3", "as the journal has it"
    assert set(there.agents()) == {B}
    handed = there.run("agent", "handoff", B, "--from", A)
    assert archive.removeprefix("Archived: ") in handed["text"]
    here.come_back()
    assert here.run("agent", "beat", A, "--step", "late", code=5)["kind"] == "fence_lost"
    assert set(here.agents()) == {B}, "the file that it left is nobody's any more"


def test_another_clone_on_the_same_disk_is_another_machine_all_the_same(
    machines: tuple[Machine, Machine],
) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    file = here.root / "agent_checkpoints" / "secondary_a.json"
    before = file.read_bytes()
    there.run("agent", "takeover", A, "--by", A, "--yes")
    assert file.read_bytes() == before
    assert {path.name for path in file.parent.iterdir()} == {"secondary_a.json"}
    there.run("agent", "beat", A, "--step", "going on")
    assert here.run("agent", "beat", A, "--step", "late", code=5)["kind"] == "fence_lost"


def test_a_takeover_says_how_to_come_by_the_work_tree(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    (here.root / "spec.md").write_text("not committed\n")
    pushed = here.run("snapshot", "push")["snapshots"][0]
    assert here.run("snapshot", "push")["snapshots"][0]["status"] == "there"
    here.go_away()
    said = there.run("agent", "takeover", A, "--by", A, "--yes")["said"]
    commands = [line.split() for line in said if line.startswith("  holdfast snapshot ")]
    assert [words[2] for words in commands] == ["fetch", "restore"]
    assert commands[-1][-2:] == ["--changed", pushed["id"][:12]]
    for words in commands:
        there.run(*words[1:])
    assert (there.root / "spec.md").read_text() == "not committed\n"
    there.run("agent", "beat", A, "--step", "going on")
    entry = there.agents()[A]
    assert (entry["current_step"], entry["here"]) == ("going on", True)


def test_a_path_of_another_machine_is_no_folder_of_this_one(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    """Two machines that keep their clones at the same path, as a team's often do."""
    here, there = machines
    place = here.root
    here.run("agent", "start", A, "--feature", FEATURE)
    here.root = here.root.rename(tmp_path / "disk-of-the-first")
    there.root = there.root.rename(place)
    entry = there.agents()[A]
    assert (entry["here"], entry["signals"]["worktree"]) == (False, None)
    assert there.run("doctor")["checks"], "and the doctor copes"
    there.run("agent", "defer", A, "--yes")
    assert (here.root / "agent_checkpoints" / "secondary_a.json").exists()
    assert there.agents() == {}


def test_a_session_of_another_machine_is_foreign_though_its_path_is_ours(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    """And a takeover names it: the pack is one command away."""
    here, there = machines
    place = here.root
    here.run("agent", "start", A, "--feature", FEATURE)
    captured = ("checkpoint", "--task", "the parser", "--skip-git", "--skip-tracker")
    session = here.run(*captured)["session"]
    here.root = here.root.rename(tmp_path / "disk-of-the-first")
    there.root = there.root.rename(place)
    there.run("note", "so that this machine has a name")
    assert there.run("resume", code=3)["kind"] == "not_found", "nobody has worked here"
    own = there.run(*captured)["session"]
    assert own != session, "nor does a checkpoint here go on with it"
    taken = there.run("agent", "takeover", A, "--by", B, "--yes")
    pack = f"holdfast resume --session {session} --accept-foreign"
    assert f"  {pack}" in taken["said"]
    resumed = there.run(*pack.split()[1:])
    assert resumed["verdict"] == "FOREIGN"
    assert "another machine" in str(resumed)
    assert "the parser" in str(resumed)


def test_an_agent_that_works_elsewhere_is_not_resumed_by_accident(
    machines: tuple[Machine, Machine], on_server: str, workspace_name: str
) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    refused = there.run("agent", "resume", A, code=5)
    assert refused["kind"] == "agent_lives"
    age(on_server, workspace_name, "agent:secondary_a", 45)
    resumed = there.run("agent", "resume", A)
    assert not any("missing" in line for line in resumed["said"])
    assert there.agents()[A]["here"] is True
    assert here.agents()[A]["here"] is False


def test_news_for_the_readme_are_written_on_the_machine_that_has_them(
    machines: tuple[Machine, Machine], git: Git
) -> None:
    here, there = machines
    (here.root / "EPIC_README.md").write_text("# Epic\n\n## Agent Status\n")
    git("add", ".", at=here.root)
    git("commit", "--quiet", "--message", "epic", at=here.root)
    git("push", "--quiet", "origin", "HEAD", at=here.root)
    git("pull", "--quiet", "origin", "HEAD", at=there.root)
    here.run("agent", "start", A, "--feature", FEATURE)
    here.go_away()
    taken = there.run("agent", "takeover", A, "--by", B, "--yes")
    assert taken["warnings"] == []
    assert "taken over by Secondary-B" in (there.root / "EPIC_README.md").read_text()


def test_a_reader_finds_a_workspace_that_was_named_after_it_had_looked(
    on_server: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone without a remote gets its name with its first record, whoever writes it."""
    from holdfast.api import open as library
    from holdfast.kernel.workspace import discover

    monkeypatch.delenv("HOLDFAST_JOURNAL_WORKSPACE")
    reader = discover(str(repository))
    assert reader.journal.since(0) == []
    with library(str(repository)) as writer:
        writer.note("first")
    assert [record["body"]["text"] for record in reader.journal.since(0)] == ["first"]
    reader.close()


def test_a_message_from_another_machine_reaches_the_inbox(
    machines: tuple[Machine, Machine],
) -> None:
    here, there = machines
    here.run("agent", "start", A, "--feature", FEATURE)
    there.run("agent", "start", B, "--feature", "feature_02_two")
    there.run("agent", "send", A, "--from", B, "--subject", "Which units?")
    beaten = here.run("agent", "beat", A, "--step", "at work")
    assert any("unread message" in line for line in beaten["said"])
    found = here.run("agent", "inbox", A)["files"]
    subjects = [message["subject"] for one in found for message in one["messages"]]
    assert subjects == ["Which units?"]
    here.run("agent", "send", B, "--from", A, "--subject", "Metres.")
    answers = there.run("agent", "inbox", B)["files"]
    assert [m["subject"] for one in answers for m in one["messages"]] == ["Metres."]


def test_the_page_shows_the_agents_of_all_machines(
    machines: tuple[Machine, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.web.world import Visitor

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    here, there = machines
    here.shift = 9 * clock.HOUR
    here.run("agent", "start", A, "--feature", FEATURE)
    there.run("agent", "start", B, "--feature", "feature_02_two")
    here.go_away()
    with Visitor([str(there.root)]) as visitor:
        visitor.sign_in()
        agents = {one["name"]: one for one in visitor.data("/fleet.json")["agents"]}
        page = visitor.get("/fleet").text
        board = visitor.get("/board").text
    assert {name: one["elsewhere"] for name, one in agents.items()} == {A: True, B: False}
    assert {one["word"] for one in agents.values()} == {"active"}
    assert ">Machine</th>" in page
    assert f"on {agents[A]['machine']}" in board
