"""What was purged is gone: a secret in each place that holdfast writes to, and one command."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.git import snapshot
from holdfast.kernel import clock, failures, inbox
from holdfast.kernel.workspace import discover
from holdfast.maintenance import purge as operation
from tests.cli.conftest import Answer, Holdfast
from tests.conftest import Git
from tests.dying import die_at
from tests.gates.person import seen
from tests.gates.test_gates import PERSON, answer, ask, look
from tests.privileges import modes_count

pytestmark = pytest.mark.usefixtures("repository")

SECRET = "swordfish99hunter"
Place = Callable[[Holdfast, Git], None]


def purge(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, *words: str) -> Answer:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{SECRET}\n"))
    return holdfast("purge", "--matching", "--yes", *words)


def purge_as_person(*, id: str = "", text: str = "") -> operation.Purged:
    """As a person whom the terminal has seen: what people decided, no other may purge."""
    workspace, now = discover(), clock.now()
    found = operation.find(workspace, id=id, text=text, now=now)
    return operation.erase(workspace, found, text=text, actor="ada", now=now, person=seen(PERSON))


def holders(*roots: Path) -> list[str]:
    """Every file in these folders that holds the secret, in its content or its name."""
    discover().close()
    wanted = SECRET.encode()
    return [
        str(file)
        for root in roots
        for file in root.rglob("*")
        if SECRET in str(file.relative_to(root))
        or (file.is_file() and not file.is_symlink() and wanted in file.read_bytes())
    ]


def objects_in(repository: Path) -> bytes:
    """Every object of git, whether something reaches it or not."""
    words = ["git", "-C", str(repository), "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(words, capture_output=True, check=True).stdout


def note(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", f"the word is {SECRET}.")


def state_in_a_snapshot(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", f"the word is {SECRET}.")
    for number in range(45):
        holdfast("note", f"{number} " + "x" * 2000)


def checkpoint(holdfast: Holdfast, git: Git) -> None:
    holdfast("checkpoint", "--task", f"use {SECRET}", "--decision", f"{SECRET}: why", "--skip-git")


def edited_view(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    with Path(".notes/default.md").open("a") as file:
        file.write(f"\n- {SECRET}\n")


def other_worktree(holdfast: Holdfast, git: Git) -> None:
    git("worktree", "add", "-q", "other")
    holdfast("note", f"the word is {SECRET}.", "-C", "other")


def quarantine_only(holdfast: Holdfast, git: Git) -> None:
    holdfast("agent", "start", "Secondary-A", "--feature", "f1")
    (path,) = Path("agent_checkpoints").glob("secondary_a.json")
    path.write_text(f"{{ broken {SECRET}")
    holdfast("agent", "beat", "Secondary-A")
    assert holders(Path(".git/holdfast/quarantine"))


def stop_reason(holdfast: Holdfast, git: Git) -> None:
    holdfast("estop", "--reason", f"because of {SECRET}")


def gate_question(holdfast: Holdfast, git: Git) -> None:
    holdfast("gate", "verify", "--built", f"Login with {SECRET}", "--how", "look")


def answered_gate(holdfast: Holdfast, git: Git) -> None:
    id = ask()
    answer(id, f"it says {SECRET}")


def message(holdfast: Holdfast, git: Git) -> None:
    fleet(holdfast)
    holdfast("agent", "send", "Agent-Primary", "--from", "Secondary-A", "--subject", f"x {SECRET}")


def archived_message(holdfast: Holdfast, git: Git) -> None:
    fleet(holdfast)
    holdfast("agent", "send", "Secondary-A", "--from", "Agent-Primary", "--subject", f"x {SECRET}")
    assert holdfast("agent", "inbox", "Secondary-A", "--archive").code == 0
    assert holders(Path("agent_comms/archive"))


def feature_name(holdfast: Holdfast, git: Git) -> None:
    assert holdfast("agent", "start", "Secondary-A", "--feature", f"f_{SECRET}").code == 0


def agent_backup(holdfast: Holdfast, git: Git) -> None:
    fleet(holdfast)
    holdfast("agent", "beat", "Secondary-A", "--step", f"types {SECRET}")
    holdfast("agent", "beat", "Secondary-A", "--step", "harmless")


def actor(holdfast: Holdfast, git: Git) -> None:
    os.environ["HOLDFAST_ACTOR"] = f"me {SECRET}"
    holdfast("note", "harmless")
    os.environ["HOLDFAST_ACTOR"] = "tester"


def waiting_inbox_file(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    queued: inbox.Queued = {
        "id": "q1",
        "stream": "note:default",
        "command": {"text": f"the word is {SECRET}"},
        "actor": "agent",
        "fence": None,
        "at": clock.precise(clock.now()),
    }
    inbox.put(discover(), queued)


def refused_inbox_file(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    folder = Path(discover().prepare_tool_folder("inbox"))
    (folder / "1.json").write_text(f"no command of ours, but {SECRET}")
    holdfast("note", "takes the inbox in")
    assert holders(folder) == [str(folder / "1.json.refused")]


def hook_failure(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    failures.note(discover(), "stop", f"could not read {SECRET}", clock.now())


def hook_failure_that_was_cut(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    path = "x" * (failures.LONGEST_REASON - len(SECRET) + 5)
    failures.note(discover(), "stop", f"{path}{SECRET}", clock.now())
    (file,) = Path().rglob(failures.NAME)
    assert SECRET[:-5] in file.read_text()


def title_of_an_rfc(holdfast: Holdfast, git: Git) -> None:
    holdfast("rfc", "init", "cache", "--title", f"Cache {SECRET}")
    assert holders(Path(".ohrfc"))


def name_of_an_rfc(holdfast: Holdfast, git: Git) -> None:
    holdfast("rfc", "init", f"cache-{SECRET}")
    assert holders(Path(".ohrfc"))


def snapshot_with_the_name_of_a_file(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    Path(SECRET).write_text("harmless\n")
    holdfast("snapshot", "create")
    Path(SECRET).unlink()


def snapshot_of_a_session(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    Path("untracked").write_text("harmless\n")
    snapshot.create(".", session=f"s {SECRET}")


def killed_write(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    die_at("before placing", "note", f"the word is {SECRET}")


def refused_write(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    connection = apsw.Connection(".git/holdfast/journal.db")
    drafts = json.dumps([{"body": {"text": SECRET}}])
    values = ("r1", "note:default", "2026-01-01T00:00:00Z", "a", None, f"no: {SECRET}", drafts)
    connection.execute("INSERT INTO refused VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    connection.close()


def waiting_effect(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    connection = apsw.Connection(".git/holdfast/journal.db")
    at = "2096-01-01T00:00:00.000Z"
    values = ("e1", "note:default", "tracker", f"k {SECRET}", json.dumps({"a": SECRET}), at, at)
    connection.execute("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?, 0, '')", values)
    connection.close()


def copy_of_a_restore(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    holdfast("backup", "copy.db")
    holdfast("note", f"the word is {SECRET}.")
    holdfast("backup", "copy.db", "--restore")
    Path("copy.db").unlink()
    for path in Path(".notes").iterdir():
        path.unlink()


def snapshot_of_the_work_tree(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "harmless")
    Path("untracked").write_text(f"{SECRET}\n")
    holdfast("snapshot", "create")
    Path("untracked").unlink()


def session_file(holdfast: Holdfast, git: Git) -> None:
    from holdfast.session import session_files

    holdfast("checkpoint", "--session", "s1", "--task", "harmless", "--skip-git")
    session_files.keep(discover(), "s1", "asked", {"text": SECRET})


def list_of_lost_records(holdfast: Holdfast, git: Git) -> None:
    """Beside a journal whose log was removed once: it names the streams of what was lost."""
    holdfast("note", "harmless")
    line = json.dumps([5, f"note:{SECRET}", 1, "id", "noted", "2026-01-15T15:00:00.000Z", "00"])
    Path(f"{discover().journal_path}-mark.lost-9").write_text(f"{line}\n")


def two_lines(holdfast: Holdfast, git: Git) -> None:
    holdfast("note", f'quoted "{SECRET}" and\na second line with {SECRET}')


def fleet(holdfast: Holdfast) -> None:
    assert holdfast("agent", "start", "Secondary-A", "--feature", "f1").code == 0


PLACES: list[Place] = [
    note,
    state_in_a_snapshot,
    checkpoint,
    edited_view,
    other_worktree,
    quarantine_only,
    stop_reason,
    gate_question,
    answered_gate,
    message,
    archived_message,
    feature_name,
    agent_backup,
    actor,
    waiting_inbox_file,
    refused_inbox_file,
    hook_failure,
    killed_write,
    refused_write,
    waiting_effect,
    copy_of_a_restore,
    snapshot_of_the_work_tree,
    session_file,
    two_lines,
    list_of_lost_records,
    hook_failure_that_was_cut,
    title_of_an_rfc,
    name_of_an_rfc,
    snapshot_with_the_name_of_a_file,
    snapshot_of_a_session,
]


DECIDED = (stop_reason, gate_question, answered_gate)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_purged_text_is_gone_from(
    place: Place,
    holdfast: Holdfast,
    git: Git,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place(holdfast, git)
    if place in DECIDED:
        assert purge(holdfast, monkeypatch).code == 4, "no agent purges what people decided"
        done: Any = purge_as_person(text=SECRET)
    else:
        answered = purge(holdfast, monkeypatch, "--json")
        assert answered.code == 0, answered.out + answered.err
        done = answered.data
    assert done["left"] == []
    assert holders(repository, tmp_path / "state", tmp_path / "home") == []
    assert SECRET.encode() not in objects_in(repository), "git still has it"
    assert holdfast("verify").code == 0
    again = purge(holdfast, monkeypatch, "--json").data
    assert not any(again[name] for name in ("records", "streams", "files", "snapshots", "left"))
    assert holdfast("status").code == 0
    assert holdfast("doctor").code == 0
    assert holdfast("history").code == 0


POINTS = [
    "after a purge is recorded",
    "after bodies are erased",
    "after files are erased",
    "before a purge is settled",
]


@pytest.mark.matrix
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("by", ["purge", "doctor"])
def test_a_purge_that_was_killed_goes_on(
    point: str,
    by: str,
    holdfast: Holdfast,
    git: Git,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for place in (note, edited_view, quarantine_only, hook_failure, killed_write):
        place(holdfast, git)
    die_at(point, "purge", "--matching", "--yes", typed=f"{SECRET}\n")
    assert "purge was interrupted" in holdfast("status").out
    if by == "purge":
        purge(holdfast, monkeypatch)
    else:
        assert holdfast("doctor", "--fix").code == 0
    assert holders(repository) == []
    assert "purge was interrupted" not in holdfast("status").out
    assert holdfast("verify").code == 0
    assert holdfast("doctor").code == 0


def test_the_erased_answer_of_a_gate_stays_an_answer(holdfast: Holdfast) -> None:
    id = ask()
    answer(id, f"it says {SECRET}")
    (record,) = holdfast("history", "--kind", "answered", "--json").data["records"]
    assert holdfast("purge", record["id"], "--yes").code == 4
    purge_as_person(id=record["id"])
    assert holders(Path()) == []
    state = look(id, clock.now())
    assert state["answer"] is not None
    assert state["answer"]["verdict"] == "no"
    assert holdfast("gate", "list").out == "No gate waits for you.\n"
    assert holdfast("verify").code == 0


def test_the_erased_reason_of_a_stop_lets_the_stop_hold(holdfast: Holdfast, git: Git) -> None:
    stop_reason(holdfast, git)
    purge_as_person(text=SECRET)
    assert "because of [purged]" in holdfast("status").out
    assert holdfast("show", "stop:workspace", "--json").data["state"]["stopped"] is True


def test_a_renamed_feature_can_still_be_worked_on(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    feature_name(holdfast, git)
    purge(holdfast, monkeypatch)
    assert holdfast("agent", "beat", "Secondary-A", "--step", "goes on").code == 0
    assert holdfast("agent", "list").code == 0


def test_a_file_of_the_user_beside_a_view_is_named(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("rfc", "init", "cache", "--title", f"Cache {SECRET}")
    with Path(".ohrfc/cache/rfc.md").open("a") as file:
        file.write(f"\nThe author's own words: {SECRET}\n")
    answered = purge(holdfast, monkeypatch)
    assert answered.code == 0
    assert ".ohrfc/cache/rfc.md: it is a file of yours" in answered.out
    assert holders(Path()) == [".ohrfc/cache/rfc.md"]
    left = Path(".ohrfc/cache/rfc.md").read_text()
    assert "Cache [purged]" in left
    assert f"own words: {SECRET}" in left


def test_the_beginning_of_a_cut_text_goes_with_the_failure_that_quotes_it(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook_failure_that_was_cut(holdfast, git)
    failures.note(discover(), "stop", "the disk is full", clock.now())
    purge(holdfast, monkeypatch)
    (file,) = Path().rglob(failures.NAME)
    assert SECRET[:8] not in file.read_text()
    assert "the disk is full" in file.read_text()


def test_a_title_is_redacted_before_it_is_written(holdfast: Holdfast) -> None:
    holdfast("rfc", "init", "cache", "--title", f"Cache with password={SECRET}")
    assert "password=[redacted:named-secret]" in Path(".ohrfc/cache/rfc.md").read_text()


def test_what_the_users_own_commits_reach_stays_in_git(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("note", "harmless")
    Path("settings").write_text(f"{SECRET}\n")
    git("add", "settings")
    git("commit", "-qm", "settings")
    Path("staged").write_text(f"staged {SECRET}\n")
    git("add", "staged")
    holdfast("snapshot", "create")
    answered = purge(holdfast, monkeypatch, "--json")
    assert len(answered.data["snapshots"]) == 1
    assert git("show", "HEAD:settings") == git("show", ":settings") == f"{SECRET}\n"
    assert git("show", ":staged") == f"staged {SECRET}\n"
    git("fsck", "--strict")
    Path("another").write_text("harmless\n")
    assert holdfast("snapshot", "create").code == 0, "snapshots go on"
    git("fsck", "--strict")


def test_an_object_that_nobody_reaches_is_named(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("note", "harmless")
    Path("dropped").write_text(f"{SECRET}\n")
    name = git("hash-object", "-w", "dropped").strip()
    Path("dropped").unlink()
    answered = purge(holdfast, monkeypatch)
    assert f"git object {name}: an object of git that no commit or snapshot reaches" in answered.out
    assert answered.code == 0
    assert git("cat-file", "blob", name) == f"{SECRET}\n", "it belongs to the user"


def test_a_purge_that_was_killed_between_snapshot_and_objects_goes_on(
    holdfast: Holdfast, git: Git, repository: Path
) -> None:
    snapshot_of_the_work_tree(holdfast, git)
    die_at("after snapshots are removed", "purge", "--matching", "--yes", typed=f"{SECRET}\n")
    assert SECRET.encode() in objects_in(repository)
    assert holdfast("doctor", "--fix").code == 0
    assert SECRET.encode() not in objects_in(repository)


def test_what_git_keeps_of_snapshots_is_named_without_a_destructive_command(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_of_the_work_tree(holdfast, git)
    git("gc", "-q")
    answered = purge(holdfast, monkeypatch)
    assert "a packed object of a removed snapshot" in answered.out
    assert "unreachable objects" in answered.out
    assert '"Erase a secret" in docs/how-to/README.md' in answered.out
    assert "git gc" not in answered.out + answered.err
    how_to = Path(__file__).parents[2] / "docs" / "how-to" / "README.md"
    assert "\n## Erase a secret\n" in how_to.read_text()


def test_what_cannot_be_erased_is_named(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("note", f"the word is {SECRET}")
    Path(".notes").chmod(0o500)
    Path(".notes/default.md").chmod(0o400)
    with modes_count():
        answered = purge(holdfast, monkeypatch)
    assert answered.code == 1
    assert ".notes/default.md: the file could not be written" in answered.out
