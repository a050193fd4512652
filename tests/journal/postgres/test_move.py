"""`holdfast journal move`: there and back, interrupted, and onto what is not a copy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from holdfast.journal import transfer
from holdfast.journal.interface import SNAPSHOT_FLOOR, Append
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import Conflict, HoldfastError, StreamClosed
from holdfast.testing.journal.examples import at, draft, drafts, effect, finding, view, write
from tests.cli.conftest import Holdfast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.journal.interface import Journal
    from holdfast.journal.postgres.journal import PostgresJournal
    from tests.conftest import Git

    Open = Callable[..., PostgresJournal]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(str(tmp_path / "journal.db"))
    yield journal
    journal.close()


def fill(journal: Journal) -> None:
    """A bit of everything: lives, an erased body, a snapshot, retention, what waits, a refusal."""
    for number in range(3):
        write(journal, f"note:{number}", *drafts(5))
    journal.commit(
        [Append("agent:a", drafts(2), expected=0, grant=True)],
        views=[view()],
        effects=[effect("a"), effect("b", kind="move", body={"from": "x"})],
    )
    journal.commit([Append("agent:a", drafts(1), expected=2, grant=True)])
    journal.erase([journal.read("note:0")[1]["id"]])
    large = draft("x" * 2 * SNAPSHOT_FLOOR, when=at(1))
    journal.commit([Append("note:1", [large], expected=5, state={"steps": 6})])
    write(journal, "note:1", draft(when=at(9)))
    write(journal, "note:late", draft({"text": "ünï\u0000code"}, when=at(9)))
    journal.collect(before=at(3), keep=0)
    journal.touch("note:2", at(500))
    journal.end("note:2", at(501))
    with pytest.raises(StreamClosed):
        write(journal, "note:2")
    queued = journal.effects(kinds=["comment"])[0]
    journal.claim(queued["id"], now=at(0), until=at(5))
    journal.settle(queued["id"], error="HTTP 503", due_at=at(6))


def everything(journal: Journal) -> dict[str, Any]:
    return {
        "records": journal.since(0),
        "heads": journal.heads(),
        "anchors": journal.anchors(),
        "sealed": [list(journal.sealed(head["stream"])) for head in journal.heads()],
        "loaded": [journal.load(head["stream"]) for head in journal.heads()],
        "views": journal.views(),
        "effects": journal.effects(),
        "refusals": journal.refusals(),
    }


def copied(source: Journal, target: Journal) -> int:
    return transfer.copy(source, target, lambda _: None)


def test_everything_arrives_as_it_was(file: SqliteJournal, open_journal: Open) -> None:
    fill(file)
    server = open_journal()

    assert copied(file, server) == len(file.since(0))

    assert everything(server) == everything(file)
    [receipt] = server.commit([Append("agent:b", drafts(1), expected=0, grant=True)])
    assert receipt["fence"] > 2, "a fence is never given twice"
    assert receipt["records"][0]["seq"] == file.since(0)[-1]["seq"] + 1


def test_and_back_again(file: SqliteJournal, open_journal: Open, tmp_path: Path) -> None:
    fill(file)
    server, back = open_journal(), SqliteJournal(str(tmp_path / "back.db"))
    copied(file, server)
    write(server, "note:late", draft())

    copied(server, back)

    assert everything(back) == everything(server)
    assert back.commit([Append("agent:b", drafts(1), expected=0, grant=True)])[0]["fence"] == 3
    with pytest.raises(HoldfastError) as gone:
        write(server, "note:late")
    assert gone.value.kind == "moved"
    back.close()


def test_a_move_that_was_interrupted_is_gone_on_with(
    file: SqliteJournal, open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "BATCH", 3)
    fill(file)
    server = open_journal()
    batches = 0

    def pull_the_plug(count: int) -> None:
        nonlocal batches
        batches += bool(count)
        if batches == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        transfer.copy(file, server, pull_the_plug)
    here = len(server.since(0))
    assert 0 < here < len(file.since(0))
    with pytest.raises(HoldfastError) as held:
        write(server, "note:mine")
    assert (held.value.kind, held.value.exit_code) == ("moving", 75)

    counted: list[int] = []
    transfer.copy(file, server, counted.append)

    assert sum(counted) == len(file.since(0)) - here, "what was there was not copied again"
    assert everything(server) == everything(file)


def test_what_others_write_meanwhile_comes_along(file: SqliteJournal, open_journal: Open) -> None:
    fill(file)
    server = open_journal()
    wrote: list[object] = []

    def meanwhile(count: int) -> None:
        if count and len(wrote) < 3:
            wrote.append(write(file, "note:late", draft()))

    transfer.copy(file, server, meanwhile)

    assert len(wrote) == 3
    assert everything(server) == everything(file)


def test_what_was_erased_in_between_is_erased_there_too(
    file: SqliteJournal, open_journal: Open
) -> None:
    fill(file)
    server = open_journal()
    copied(file, server)
    secret = file.read("note:1")[-1]
    file.erase([secret["id"]])
    write(file, "note:1")

    copied(file, server)

    assert server.find(secret["id"])[0]["erased"]
    assert everything(server)["sealed"] == everything(file)["sealed"]


def test_a_target_with_records_of_its_own_is_refused(
    file: SqliteJournal, open_journal: Open
) -> None:
    fill(file)
    server = open_journal()
    write(server, "note:mine")
    with pytest.raises(Conflict) as refused:
        copied(file, server)
    assert refused.value.kind == "not_a_copy"
    assert len(server.since(0)) == 1


def test_another_history_under_an_erased_body_is_refused(
    file: SqliteJournal, open_journal: Open
) -> None:
    server = open_journal()
    for journal in (file, server):
        write(journal, "note:a", draft())
    file.erase([file.read("note:a")[0]["id"]])
    with pytest.raises(Conflict):
        copied(file, server)
    assert not server.read("note:a")[0]["erased"]


def test_a_copy_that_was_tampered_with_is_noticed(file: SqliteJournal, open_journal: Open) -> None:
    fill(file)
    server = open_journal()
    copied(file, server)
    victim = server.read("note:late")[0]["id"]
    with psycopg.connect(server.url) as other:
        other.execute("UPDATE holdfast.records SET body = '{}' WHERE id = %s", (victim,))
    with pytest.raises(Conflict) as refused:
        copied(file, server)
    assert "was changed" in refused.value.message


def test_a_journal_that_is_broken_is_not_moved(file: SqliteJournal, open_journal: Open) -> None:
    import apsw

    fill(file)
    other = apsw.Connection(file.path)
    other.execute("UPDATE records SET actor = 'Mallory' WHERE kind = 'noted'")
    other.close()
    with pytest.raises(HoldfastError) as refused:
        copied(file, open_journal())
    assert refused.value.kind == "journal_damaged"


def test_the_command_moves_there_and_back(
    url: str,
    workspace_name: str,
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", workspace_name)
    for text in ("one", "two"):
        holdfast("note", text)
    dry = holdfast("journal", "move", "--to", url, "--dry-run", "--json").data
    assert (dry["records"], dry["copied"], dry["dry_run"]) == (2, 0, True)
    moved = holdfast("journal", "move", "--to", url, "--json")
    assert (moved.code, moved.data["records"], moved.data["copied"]) == (0, 2, 2)
    assert (moved.data["workspace"], "pass" in moved.out) == (workspace_name, False)
    assert "was moved to" in holdfast("status").out, "the file is not the journal any more"

    monkeypatch.setenv("HOLDFAST_URL", url)
    assert holdfast("note", "three").code == 0
    assert "All quiet" in holdfast("status").out
    assert "elsewhere" not in holdfast("doctor").err
    assert holdfast("journal", "move", "--to", url).code == 2, "it is there already"
    back = holdfast("journal", "move", "--to", "local", "--json").data
    assert (back["records"], bool(back["aside"])) == (3, True)
    assert holdfast("note", "to the server").code == 1

    monkeypatch.delenv("HOLDFAST_URL")
    assert [record["body"]["text"] for record in _records(holdfast)] == ["three", "two", "one"]
    assert holdfast("note", "four").code == 0
    assert holdfast("verify").code == 0
    assert "All quiet" in holdfast("status").out
    assert holdfast("journal", "move", "--to", "local").code == 2
    assert holdfast("journal", "move", "--to", url, "--json").data["copied"] == 1
    monkeypatch.setenv("HOLDFAST_URL", url)
    assert len(_records(holdfast)) == 4
    assert sorted(os.listdir(".notes")) == ["default.md"]
    assert "four" in Path(".notes/default.md").read_text()


def _records(holdfast: Holdfast) -> list[Any]:
    records: list[Any] = holdfast("history", "--json").data["records"]
    return records


def test_a_backup_of_a_server_is_a_file_that_can_be_restored(
    on_server: str,
    repository: Path,
    tmp_path: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holdfast("note", "kept")
    copy = str(tmp_path / "copy.db")
    assert holdfast("backup", copy).code == 0
    assert holdfast("note", "and on it goes").code == 0
    assert holdfast("backup", copy, "--restore").code == 1
    monkeypatch.delenv("HOLDFAST_URL")
    assert holdfast("backup", copy, "--restore").code == 0
    assert [record["body"]["text"] for record in _records(holdfast)] == ["kept"]
    assert sorted(name for name in os.listdir(".git/holdfast") if name.startswith("backup")) == []


def test_records_that_hooks_left_in_the_file_are_named(
    on_server: str, repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_URL")
    holdfast("note", "in the file")
    monkeypatch.setenv("HOLDFAST_URL", on_server)
    holdfast("note", "on the server")
    assert "1 record is in this machine's file" in holdfast("status").out
    assert "1 record is in this machine's file" in holdfast("doctor").out


def test_a_hash_is_the_same_on_both_sides(file: SqliteJournal, open_journal: Open) -> None:
    [record] = write(file, "note:a", draft({"text": "x"}))
    server = open_journal()
    copied(file, server)
    assert server.read("note:a") == [record]
    assert canonical_json.dumps(finding(server, "note:a")) == canonical_json.dumps(
        finding(file, "note:a")
    )


def test_a_dry_run_says_the_name_and_a_clone_of_the_folder_finds_the_records(
    repository: Path,
    holdfast: Holdfast,
    url: str,
    git: Git,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git("commit", "--quiet", "--allow-empty", "-m", "first")
    git("clone", "--quiet", "--bare", str(repository), str(tmp_path / "p2.git"))
    for clone in ("ada", "ben"):
        git("clone", "--quiet", str(tmp_path / "p2.git"), str(tmp_path / clone))
    monkeypatch.chdir(tmp_path / "ada")
    holdfast("note", "from ada")
    words = ("journal", "move", "--to", url)
    dry = [holdfast(*words, "--dry-run", "--json").data["workspace"] for _ in range(2)]
    moved = holdfast(*words, "--json").data["workspace"]
    assert dry == [moved, moved]
    monkeypatch.setenv("HOLDFAST_URL", url)
    monkeypatch.chdir(tmp_path / "ben")
    assert "from ada" in holdfast("note").out


def test_an_empty_journal_names_the_workspace_that_may_be_meant(
    repository: Path,
    holdfast: Holdfast,
    empty_database: str,
    git: Git,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The origin is mounted elsewhere on the colleague's machine, so the two names differ."""
    git("commit", "--quiet", "--allow-empty", "-m", "first")
    monkeypatch.setenv("HOLDFAST_URL", empty_database)
    for person in ("ada", "ben"):
        (tmp_path / person).mkdir()
        git("clone", "--quiet", "--bare", str(repository), str(tmp_path / person / "p2.git"))
        git("clone", "--quiet", str(tmp_path / person / "p2.git"), str(tmp_path / person / "p2"))
    monkeypatch.chdir(tmp_path / "ada/p2")
    assert "on this server" not in holdfast("note", "from ada").err
    name = Path(".git/holdfast/workspace").read_text()
    monkeypatch.chdir(tmp_path / "ben/p2")
    join = f"export HOLDFAST_JOURNAL_WORKSPACE={name}"
    for words in (("status",), ("note", "from ben")):
        said = holdfast(*words)
        assert said.code == 0, said
        assert f"is new on this server, which also has {name}" in said.err
        assert join in said.err
    assert holdfast("note", "again").err == "", "it is said until there is a record"
    [check] = [
        one for one in holdfast("doctor", "--json").data["checks"] if one["id"] == "elsewhere"
    ]
    assert name in check["what"]
    assert join in check["why"]
    monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", name)
    assert "from ada" in holdfast("note").out
