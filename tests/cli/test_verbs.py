"""The verbs, one by one, as a user calls them."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import apsw
import pytest

from holdfast.kernel import failures, latch
from holdfast.kernel.clock import DAY
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast

pytestmark = pytest.mark.usefixtures("repository")


def ids(holdfast: Holdfast) -> list[str]:
    """The ids of all records, newest first."""
    return [record["id"] for record in holdfast("history", "--json").data["records"]]


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_status_before_anything_was_written(holdfast: Holdfast) -> None:
    answer = holdfast("status")
    assert answer.code == 0
    assert "nothing written yet" in answer.out
    assert not Path(".git/holdfast").exists(), "a look must not leave anything behind"


def test_status_shows_the_journals_place_and_size(holdfast: Holdfast, repository: Path) -> None:
    holdfast("note", "one")
    data = holdfast("status", "--json").data
    assert data["journal"]["path"] == str(repository / ".git/holdfast/journal.db")
    assert data["journal"]["records"] == 1
    assert data["journal"]["bytes"] > 0
    assert data["attention"] == []
    assert str(repository / ".git/holdfast/journal.db") in holdfast("status").out


def test_status_says_what_a_session_works_on(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    holdfast("checkpoint", "--task", "Quotes", "--next", "keep quoted words together")
    assert holdfast("status").out.count("Quotes\n") == 1
    shown = {
        one["stream"].partition(":")[0]: one["about"]
        for one in holdfast("status", "--json").data["streams"]
    }
    assert shown == {"note": "", "session": "Quotes"}


def test_status_names_what_needs_attention(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    workspace = discover()
    latch.engage(workspace, "too expensive", by="budget", now=0)
    failures.note(workspace, "claude Stop", "no room on the disk", 0)
    said = holdfast("status").out
    assert "Stopped by budget: too expensive" in said
    assert "1 hook failed; last: no room on the disk" in said


def test_history_is_newest_first_and_pages_on(holdfast: Holdfast) -> None:
    for text in ("one", "two", "three"):
        holdfast("note", text)
    first = holdfast("history", "--limit", "2", "--json")
    assert [record["body"]["text"] for record in first.data["records"]] == ["three", "two"]
    following = first.envelope["next"][0].split()[1:]
    rest = holdfast(*following, "--json").data["records"]
    assert [record["body"]["text"] for record in rest] == ["one"]


def test_the_next_page_of_a_history_keeps_its_stream_and_its_kind(holdfast: Holdfast) -> None:
    for text in ("one", "two"):
        holdfast("note", text)
    (following,) = holdfast(
        "history", "note:*", "--kind", "noted", "--limit", "1", "--json"
    ).envelope["next"]
    assert following == "holdfast history 'note:*' --kind noted --before 2"


def test_history_of_one_stream_and_of_one_kind(holdfast: Holdfast) -> None:
    holdfast("note", "here", "--to", "a")
    holdfast("note", "there", "--to", "b")
    assert "there" not in holdfast("history", "note:a").out
    assert "here" in holdfast("history", "note:*").out
    told = holdfast("history", "--kind", "checkpoint").out
    assert told == "No such records. There are: noted.\n"


def test_a_session_is_found_by_the_name_that_status_prints(holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--task", "Parser")
    (name,) = re.findall(r"session:\w+", holdfast("status").out)
    (stream,) = {record["stream"] for record in holdfast("history", "--json").data["records"]}
    assert stream != name
    assert holdfast("history", name).out == holdfast("history", stream).out
    assert "checkpoint: Parser" in holdfast("history", name).out
    assert holdfast("show", name).out == holdfast("show", stream).out
    assert "# Session Progress" in holdfast("show", name).out
    assert holdfast("history", "session:zzz").out.startswith("There is no stream session:zzz. ")
    assert holdfast("show", "session:zzz").code == 3


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("zzz", ""),
        ("plan:*", ""),
        ("note", "note:default"),
        ("notes", "note:default"),
        ("defualt", "note:default"),
        ("note:defualt", "note:default"),
        ("session:7", "session:7a or session:7b"),
    ],
)
def test_a_stream_that_does_not_exist_is_answered_with_the_nearest(
    holdfast: Holdfast, typed: str, meant: str
) -> None:
    for session in ("7b", "7a"):
        holdfast("checkpoint", "--session", session)
    holdfast("note", "one")
    near = f"Did you mean {meant}? " if meant else ""
    told = f"There is no stream {typed}. {near}`holdfast status` lists the latest streams.\n"
    answer = holdfast("history", typed)
    assert (answer.code, answer.out) == (0, told)
    assert holdfast("history", typed, "--kind", "noted").out == told
    assert near in holdfast("show", typed).err


def test_the_history_of_a_stream_that_exists_names_no_other(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    for typed in ("note:default", "note:*"):
        assert holdfast("history", typed, "--before", "1").out == "No such records.\n"


def test_show_names_all_that_it_takes(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    answer = holdfast("show", "zzz")
    assert answer.code == 3
    assert "There is no record, stream or session zzz." in answer.err
    for command in ("history", "status", "resume --list"):
        assert f"`holdfast {command}`" in answer.err


def test_a_reason_that_was_not_stated_is_not_in_the_text_for_the_next_session(
    holdfast: Holdfast,
) -> None:
    holdfast(
        "checkpoint", "--decision", "small", "--decision", "SQLite: one file", "--blocker", "CI"
    )
    said = holdfast("resume").out
    assert "- Decision: small\n" in said
    assert "- Decision: SQLite: one file\n" in said
    assert "- Blocker: CI\n" in said
    assert "not given" not in said


def test_hints_do_not_lead_in_a_circle(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--show" not in holdfast("trust").err
    assert "resume --list" not in holdfast("edits").err
    (tmp_path / "no project").mkdir()
    monkeypatch.chdir(tmp_path / "no project")
    assert "resume --list" not in holdfast("resume").err
    assert "resume --list" not in holdfast("edits").err


def test_history_is_stable_when_piped(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    (line,) = holdfast("history").out.splitlines()
    assert "\x1b" not in line
    assert "T" in line.split()[1], "a script gets the time, not `3 min ago`"


def test_show_a_record_by_the_beginning_of_its_id(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    (id,) = ids(holdfast)
    shown = holdfast("show", id[:6])
    assert id in shown.out
    assert "+- " in shown.out
    assert "tester: one" in shown.out
    assert holdfast("show", id, "--json").data["record"]["body"]["text"] == "one"


def test_show_a_stream(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    assert "tester: one" in holdfast("show", "note:default").out
    assert holdfast("show", "note:nobody").code == 3


def test_an_ambiguous_id_names_the_candidates(holdfast: Holdfast) -> None:
    for letter in "ab":
        holdfast("note", letter, "--id", f"{letter * 2}0000000000000000000000000000000"[-32:])
    holdfast("note", "x", "--id", "cafe0000000000000000000000000001")
    holdfast("note", "y", "--id", "cafe0000000000000000000000000002")
    answer = holdfast("show", "cafe", "--json")
    assert answer.code == 3
    assert answer.envelope["error"]["kind"] == "ambiguous"


def test_diff_between_two_records_and_to_the_newest(holdfast: Holdfast) -> None:
    for text in ("one", "two", "three"):
        holdfast("note", text)
    newest, middle, oldest = ids(holdfast)
    both = holdfast("diff", oldest, newest).out
    assert both.count("\n+- ") == 2
    assert holdfast("diff", oldest).out == both
    assert holdfast("diff", newest, newest).out == "Nothing changed.\n"
    assert [line for line in holdfast("diff", middle, "--json").data["diff"] if "three" in line]


def test_diff_of_two_streams_is_refused(holdfast: Holdfast) -> None:
    holdfast("note", "one", "--to", "a")
    holdfast("note", "two", "--to", "b")
    assert holdfast("diff", *ids(holdfast)).code == 2


def test_restore_brings_stream_and_file_back_and_can_be_undone(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    holdfast("note", "two")
    _, first = ids(holdfast)
    planned = holdfast("restore", first, "--dry-run")
    assert planned.code == 0
    assert "two" in planned.out
    assert "two" in Path(".notes/default.md").read_text()
    answer = holdfast("restore", first, "--json")
    assert "two" not in Path(".notes/default.md").read_text()
    undo = answer.envelope["next"][0].split("  #")[0].split()[1:]
    assert holdfast(*undo).code == 0
    assert "two" in Path(".notes/default.md").read_text()


def test_restore_raises_a_file_that_was_deleted(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    Path(".notes/default.md").unlink()
    holdfast("note", "two")
    assert not Path(".notes/default.md").exists()
    holdfast("restore", ids(holdfast)[0])
    assert "two" in Path(".notes/default.md").read_text()


def test_a_note_with_the_same_id_changes_nothing(holdfast: Holdfast) -> None:
    assert "Noted as" in holdfast("note", "one", "--id", "mine").out
    assert holdfast("note", "one", "--id", "mine").out == "Noted already.\n"
    assert len(ids(holdfast)) == 1


def test_a_note_from_standard_input(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "line one\nline two\n")
    holdfast("note", "-")
    assert "line one\n  line two" in holdfast("note").out


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "x" * 65, "a\nb"])
def test_a_note_cannot_be_named_like_this(holdfast: Holdfast, name: str) -> None:
    assert holdfast("note", "text", "--to", name).code == 2
    assert not Path(".notes").exists()


def test_verify_names_the_first_broken_record(holdfast: Holdfast) -> None:
    for text in ("one", "two"):
        holdfast("note", text)
    assert holdfast("verify").out == "2 records in 1 chain, all whole.\n"
    second = ids(holdfast)[0]
    other = apsw.Connection(".git/holdfast/journal.db")
    other.execute("UPDATE recent SET body = replace(body, 'two', 'six')")
    answer = holdfast("verify")
    assert answer.code == 1
    assert second in answer.out
    assert "its body was changed" in answer.out


def test_gc_says_what_it_freed_and_keeps_the_state(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_RETENTION_KEEP", "3")
    for number in range(10):
        holdfast("note", f"note {number}")
    assert holdfast("gc", "--json").data["records"] == 0, "nothing is old yet"
    clock = "holdfast.kernel.clock.now"
    from holdfast.kernel.clock import now

    later = now() + 100 * DAY
    monkeypatch.setattr(clock, lambda: later)
    assert holdfast("gc", "--dry-run", "--json").data["records"] == 7
    answer = holdfast("gc", "--json").data
    assert answer["records"] == 7
    assert "7 removed by gc" in holdfast("verify").out
    assert "note 0" in holdfast("note").out, "the state outlives its records"
    refused = holdfast("diff", ids(holdfast)[-1])
    assert refused.code in (0, 1)


def test_purge_erases_a_text_everywhere(
    holdfast: Holdfast, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("note", "harmless")
    holdfast("note", "the code word is swordfish99, keep it")
    type_in(monkeypatch, "swordfish99\n")
    assert "Would erase 1 record" in holdfast("purge", "--matching", "--dry-run").out
    type_in(monkeypatch, "swordfish99\n")
    assert holdfast("purge", "--matching").code == 2, "without a terminal it needs --yes"
    type_in(monkeypatch, "swordfish99\n")
    assert holdfast("purge", "--matching", "--yes").code == 0
    discover().close()
    for file in repository.rglob("*"):
        if file.is_file():
            assert b"swordfish99" not in file.read_bytes(), file
    assert "1 erased, all whole" in holdfast("verify").out
    assert "the code word is [purged], keep it" in Path(".notes/default.md").read_text()


def test_purge_erases_one_record(holdfast: Holdfast) -> None:
    holdfast("note", "keep")
    holdfast("note", "drop")
    assert holdfast("purge", ids(holdfast)[0], "--yes").code == 0
    text = Path(".notes/default.md").read_text()
    assert "keep" in text
    assert "drop" not in text
    assert "erased" in holdfast("show", ids(holdfast)[1]).out


def test_export_is_one_json_object_a_line(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    holdfast("note", "two")
    header, *records = map(json.loads, holdfast("export").out.splitlines())
    assert header["holdfast_export"] == 1
    assert [record["body"]["text"] for record in records] == ["one", "two"]


def test_backup_and_restore_and_undo(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    assert holdfast("backup", "copy.db").code == 0
    holdfast("note", "two")
    before = ids(holdfast)
    answer = holdfast("backup", "copy.db", "--restore", "--json")
    assert ids(holdfast) == before[1:]
    assert holdfast("verify").code == 0
    holdfast("backup", answer.data["aside"], "--restore")
    assert ids(holdfast) == before


def test_a_damaged_journal_can_be_restored(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    before = ids(holdfast)
    holdfast("backup", "copy.db")
    for name in ("journal.db-wal", "journal.db-shm"):
        Path(".git/holdfast", name).unlink(missing_ok=True)
    Path(".git/holdfast/journal.db").write_bytes(b"garbage" * 1000)
    assert holdfast("history", "--json").envelope["error"]["kind"] == "journal_damaged"
    assert holdfast("doctor").code == 1
    assert holdfast("backup", "copy.db", "--restore").code == 0
    assert ids(holdfast) == before
    assert list(Path(".git/holdfast").glob("damaged-*.db")), "what was there is kept"


def test_restore_refuses_what_is_no_journal(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    Path("other.db").write_text("not a database at all, not even close to it")
    answer = holdfast("backup", "other.db", "--restore", "--json")
    assert answer.envelope["error"]["kind"] == "not_a_journal"
    assert len(ids(holdfast)) == 1


def test_completion_for_every_shell(holdfast: Holdfast) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_HOLDFAST_COMPLETE" in holdfast("completion", shell).out
