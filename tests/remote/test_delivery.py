"""From the spool to the server: in order, once, and whatever else stands beside a record."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.kernel import inbox
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.workspace import discover
from holdfast.remote import delivery, forwarder
from holdfast.remote.spool import Spool
from tests.cli.conftest import Holdfast
from tests.remote.world import AGENT, STREAM, Machine, Outage

if TYPE_CHECKING:
    from holdfast.journal.interface import Effect

KINDS = ["captured", "captured", "ended"]


def test_what_hooks_wrote_while_the_server_was_away_is_there_later(
    machine: Machine, outage: Outage, holdfast: Holdfast
) -> None:
    outage.begin()
    machine.hook("Stop")
    machine.hook("SessionEnd", reason="exit")
    assert machine.waiting() == {**machine.waiting(), "records": 3, "streams": 1}
    outage.end()
    machine.forward()
    assert machine.waiting()["records"] == 0
    assert [record["kind"] for record in machine.on_server("session:s1")] == KINDS
    assert holdfast("verify").code == 0
    assert holdfast("doctor").code == 0, holdfast("doctor")


def test_what_was_delivered_and_not_noted_is_not_doubled(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forwarder that dies between the server's commit and its own note of it."""
    machine.hook("Stop")
    with monkeypatch.context() as dying:
        dying.setattr(Spool, "settle", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            machine.forward()
    assert len(machine.on_server("session:s1")) == 1
    machine.hook("SessionEnd", reason="exit")
    machine.forward()
    assert [record["kind"] for record in machine.on_server("session:s1")] == KINDS


def test_a_command_brings_it_over_before_it_looks(machine: Machine, holdfast: Holdfast) -> None:
    machine.hook("Stop")
    found = holdfast("history", "--json").data["records"]
    assert [record["stream"] for record in found] == ["session:s1"]
    assert machine.waiting()["records"] == 0


def test_hooks_and_commands_take_turns_on_one_life(machine: Machine, holdfast: Holdfast) -> None:
    """Each sees what the other wrote, and neither takes the other's file for somebody's edit."""
    words = ("checkpoint", "--session", "s1", "--skip-git", "--skip-tracker")
    machine.hook("Stop")
    assert holdfast(*words, "--task", "the parser").code == 0
    assert machine.session_here()["progress"]["current"] == "the parser"
    machine.hook("SessionEnd", reason="exit")
    assert holdfast(*words, "--task", "the lexer").code == 0
    kinds = [record["kind"] for record in machine.on_server("session:s1")]
    assert set(kinds) <= {"captured", "ended", "surveyed"}
    assert kinds.count("ended") == 1
    assert "the lexer" in Path(".ccc-progress.md").read_text()
    assert holdfast("doctor").code == 0


def test_a_person_edits_the_file_in_between(machine: Machine, holdfast: Holdfast) -> None:
    words = ("checkpoint", "--session", "s1", "--skip-git", "--skip-tracker")
    assert holdfast(*words, "--task", "the parser").code == 0
    progress = Path(".ccc-progress.md")
    progress.write_text(progress.read_text().replace("the parser", "the printer"))
    machine.hook("Stop")
    machine.forward()
    assert machine.session_here()["progress"]["current"] == "the printer"
    records = machine.on_server("session:s1")
    assert sum(record["actor"] == "outside" for record in records) == 1
    assert holdfast(*words, "--done", "it").code == 0
    records = machine.on_server("session:s1")
    assert sum(record["actor"] == "outside" for record in records) == 1


def test_an_agent_that_began_through_the_server_beats_by_a_hook(
    machine: Machine, holdfast: Holdfast, outage: Outage
) -> None:
    assert holdfast("agent", "start", AGENT, "--feature", "feature_01_one").code == 0
    outage.begin()
    machine.beat(step="offline")
    outage.end()
    machine.forward()
    last = machine.on_server(STREAM)[-1]
    assert (last["kind"], last["body"]["set"]["current_step"]) == ("beat", "offline")
    assert holdfast("agent", "beat", AGENT, "--step", "online").code == 0
    machine.beat(step="by a hook again")
    machine.forward()
    steps = [
        record["body"].get("set", {}).get("current_step") for record in machine.on_server(STREAM)
    ]
    assert steps[1:] == ["offline", "online", "by a hook again"]
    assert json.loads(Path("agent_checkpoints/secondary_a.json").read_text())["current_step"] == (
        "by a hook again"
    )


def test_a_life_that_was_taken_over_meanwhile_is_refused_kept_and_told(
    machine: Machine, another: Machine, holdfast: Holdfast, outage: Outage
) -> None:
    machine.go()
    assert holdfast("agent", "start", AGENT, "--feature", "feature_01_one").code == 0
    outage.begin()
    machine.beat(step="cut off")
    outage.end()
    another.go()
    taken = holdfast("agent", "resume", AGENT, "--yes")
    assert taken.code == 0, taken
    machine.go()
    assert holdfast("history").code == 0
    assert "can write no more" in machine.beat(step="at once")["failed"]
    machine.forward()
    assert machine.waiting()["records"] == 0
    kept = holdfast("status", "--json").data["attention"]
    assert any("1 write refused and kept" in item["what"] for item in kept), kept
    kinds = [record["kind"] for record in machine.on_server(STREAM)]
    assert kinds == ["started", "resumed"]
    assert "can write no more" in machine.beat(step="still here")["failed"]


def test_a_refusal_whose_answer_was_lost_is_kept_once(
    machine: Machine, another: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.go()
    holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    machine.beat(step="cut off")
    another.go()
    monkeypatch.setattr(delivery, "deliver_pending", lambda *_: 0)
    assert holdfast("agent", "resume", AGENT, "--yes").code == 0
    with monkeypatch.context() as dying:
        dying.setattr(Spool, "settle", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            machine.forward()
    machine.forward()
    journal = discover(str(machine.root)).on_server()
    assert len(journal.refusals(STREAM)) == 1
    journal.close()


def test_what_is_not_of_one_life_is_decided_on_the_server(
    machine: Machine, another: Machine, holdfast: Holdfast, outage: Outage
) -> None:
    another.go()
    holdfast("note", "from there")
    machine.go()
    outage.begin()
    said = machine.own("note", text="offline", by="agent-7")
    assert said["queued"]
    assert len(inbox.list_waiting(str(machine.root))) == 1
    outage.end()
    machine.hook("Stop")
    assert len(inbox.list_waiting(str(machine.root))) == 1, "no hook decides it"
    machine.forward()
    assert inbox.list_waiting(str(machine.root)) == []
    texts = [record["body"]["text"] for record in machine.on_server("note:default")]
    assert texts == ["from there", "offline"]
    assert "from there" in Path(".notes/default.md").read_text()


def test_a_sign_of_life_reaches_the_server_without_a_record(
    machine: Machine, holdfast: Holdfast
) -> None:
    holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    journal = discover(str(machine.root)).on_server()
    before = journal.head(STREAM)
    machine.hook("PostToolUse")
    machine.forward()
    after = journal.head(STREAM)
    journal.close()
    assert before is not None
    assert after is not None
    assert after["seen_at"] > before["seen_at"]
    assert after["version"] == before["version"]


def test_a_session_that_began_in_the_file_is_brought_whole(
    machine: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setenv("HOLDFAST_URL", "")
        assert (
            holdfast("checkpoint", "--session", "s1", "--task", "the parser", "--skip-git").code
            == 0
        )
    machine.hook("Stop")
    machine.forward()
    kinds = [record["kind"] for record in machine.on_server("session:s1")]
    assert kinds[0] == "captured"
    assert machine.session_here()["progress"]["current"] == "the parser"


def test_an_agent_that_began_in_the_file_is_kept_there_whoever_has_its_number(
    machine: Machine, another: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file counts its fences from 1; those of the server are times."""
    machine.go()
    with monkeypatch.context() as before:
        before.setenv("HOLDFAST_URL", "")
        holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    another.go()
    started = holdfast("agent", "start", AGENT, "--feature", "feature_01_one", "--json")
    assert started.data["fence"] != 1
    machine.go()
    machine.forward()
    assert [record["kind"] for record in machine.on_server(STREAM)] == ["started"]
    assert len(machine.hooks.file().refusals()) == 1
    assert "can write no more" in machine.beat(step="as if nothing happened")["failed"]
    with monkeypatch.context() as without:
        without.setenv("HOLDFAST_URL", "")
        again = holdfast("agent", "resume", AGENT, "--yes", "--json")
        assert again.data["fence"] > 10**12, "never a number of the server's again"


def test_an_agent_that_only_the_file_knows_stays_there(
    machine: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setenv("HOLDFAST_URL", "")
        holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    for number in range(2):
        machine.beat(step=f"step {number}")
        machine.forward()
    assert machine.on_server(STREAM) == []
    refused = [draft for one in machine.hooks.file().refusals() for draft in one["drafts"]]
    assert [draft["kind"] for draft in refused] == ["started", "beat", "beat"]
    assert machine.waiting()["records"] == 0


def test_what_a_move_took_along_is_not_delivered_again(
    machine: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = __import__("os").environ["HOLDFAST_URL"]
    with monkeypatch.context() as before:
        before.setenv("HOLDFAST_URL", "")
        holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
        machine.hook("Stop")
        assert holdfast("journal", "move", "--to", url).code == 0
    assert machine.waiting()["records"] == 0
    machine.beat(step="after the move")
    machine.forward()
    assert [record["kind"] for record in machine.on_server(STREAM)] == ["started", "beat"]
    assert holdfast("status", "--json").data["attention"] == []


def test_records_keep_their_order_over_many_lives(machine: Machine, outage: Outage) -> None:
    outage.begin()
    for number in range(12):
        machine.hook(
            "Stop" if number < 6 else "SessionEnd", session=f"s{number % 6}", reason="exit"
        )
    outage.end()
    own = [record["id"] for record in machine.hooks.file().since(0)]
    machine.forward()
    journal = discover(str(machine.root)).on_server()
    assert [record["id"] for record in journal.since(0)] == own
    journal.close()


def test_another_machines_batch_in_between_is_met_by_the_version(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes to a life from elsewhere, such as a person's edit, is not written over."""
    monkeypatch.setenv("HOLDFAST_SESSION_PROGRESS_FILE", "always")
    machine.hook("Stop")
    conflicts: list[int] = []
    commit = PostgresJournal.commit

    def raced(self: PostgresJournal, appends, **options):  # type: ignore[no-untyped-def]
        if not conflicts:
            conflicts.append(1)
            other = discover(str(machine.root)).on_server()
            draft = {"id": new_id(), "kind": "ended", "body": {"at": "", "reason": ""}}
            text = json.dumps(draft["body"])
            from holdfast.journal.interface import Append

            full = {**draft, "text": text, "at": "2026-01-01T00:00:00.000Z", "actor": "other"}
            commit(other, [Append("session:s1", [full], expected=None)])  # type: ignore[list-item]
            other.close()
        return commit(self, appends, **options)

    monkeypatch.setattr(PostgresJournal, "commit", raced)
    machine.forward()
    assert [record["kind"] for record in machine.on_server("session:s1")] == ["ended", "captured"]
    workspace = discover(str(machine.root))
    [row] = workspace.journal.views(stream="session:s1")
    workspace.close()
    status = Path(row["path"]).stat()
    assert row["placed_version"] == 2, "as the server counts"
    assert str(status.st_ino) in str(row["placed"]), "the very file that the hook wrote"


def test_what_came_meanwhile_is_not_written_over_by_what_comes_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.hook("Stop")
    machine.forward()
    machine.hook("SessionEnd", reason="exit")
    waiting = machine.waiting()["records"]
    with monkeypatch.context() as in_between:
        in_between.setattr(forwarder, "deliver", lambda *_: 0)
        in_between.setattr(delivery, "deliver_pending", lambda *_: 0)
        machine.forward()
    assert machine.waiting()["records"] == waiting > 0


def test_many_records_leave_a_snapshot_on_the_server(machine: Machine, holdfast: Holdfast) -> None:
    holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    for number in range(40):
        machine.beat(step=f"step {number} {'x' * 100}")
    machine.forward()
    journal = discover(str(machine.root)).on_server()
    loaded = journal.load(STREAM)
    journal.close()
    assert loaded["snapshot_version"] == 41
    assert loaded["snapshot"]["checkpoint"]["current_step"].startswith("step 39")
    workspace = machine.hooks
    assert workspace.journal.read(STREAM) == [], "and none of them stays here"


def test_a_hook_agrees_upon_nothing(machine: Machine) -> None:
    from holdfast.kernel.commit import Order, commit
    from holdfast.kernel.errors import StoreAway
    from holdfast.kernel.streams import open_writer

    orders = [Order("feature:one", {"do": "claim", "agent": AGENT, "session": "s1"})]
    with pytest.raises(StoreAway, match="agreed upon"):
        commit(open_writer(machine.hooks), orders, actor="hook", now=0)


def test_what_is_erased_on_the_server_is_gone_from_the_spool(
    machine: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "the harbour master's word"
    words = ("checkpoint", "--session", "s1", "--skip-git", "--skip-tracker", "--task", secret)
    assert holdfast(*words).code == 0
    machine.hook("SessionEnd", reason="exit")
    monkeypatch.setattr(sys, "stdin", io.StringIO(secret))
    assert holdfast("purge", "--matching", "--yes").code == 0
    for path in machine.home.glob("journal.db*"):
        assert secret.encode() not in path.read_bytes(), path
    assert secret not in str(machine.session_here())


def test_a_url_that_nobody_trusted_starts_nobody(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    from holdfast.remote.offline import start_forwarder

    monkeypatch.delenv("HOLDFAST_URL")
    monkeypatch.setenv("HOLDFAST_JOURNAL_FORWARDER", "true")
    Path("holdfast.toml").write_text('[journal]\nurl = "postgresql://keeper@127.0.0.1:1/nowhere"\n')
    machine.hook("Stop")
    assert not start_forwarder(machine.hooks)
    assert machine.waiting()["records"] == 1


def test_what_the_server_cannot_take_at_all_is_kept_and_keeps_nobody_else(
    machine: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.hook("Stop", session="odd")
    machine.hook("Stop", session="plain")
    commit = PostgresJournal.commit

    def choosy(self: PostgresJournal, appends: Any, **options: Any) -> Any:
        if any(append.stream == "session:odd" for append in appends):
            raise HoldfastError("too long for an index", kind="journal_error")
        return commit(self, appends, **options)

    monkeypatch.setattr(PostgresJournal, "commit", choosy)
    machine.forward()
    assert len(machine.on_server("session:plain")) == 1
    assert machine.waiting()["records"] == 0
    [check] = [one for one in holdfast("doctor", "--json").data["checks"] if one["id"] == "spool"]
    assert "could not take 1 writes" in check["what"]
    [refusal] = machine.hooks.file().refusals()
    assert refusal["drafts"][0]["kind"] == "captured"


def test_a_role_that_only_reads_still_reads(
    machine: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.hook("Stop")

    def refused(*_: Any, **__: Any) -> Any:
        raise NotAllowed("This role has no right to that.", kind="no_right")

    monkeypatch.setattr(PostgresJournal, "commit", refused)
    assert holdfast("status", "--json").data["server"]["undelivered"] == 1
    assert holdfast("history").code == 0


def test_an_effect_goes_over_with_its_record_and_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is outside is told by whoever holds the outbox, and there is one of it."""
    machine.hook("Stop")
    workspace = machine.hooks
    [record] = workspace.file().since(0)
    effect: Effect = {
        "id": "e1",
        "stream": record["stream"],
        "kind": "comment",
        "key": "ENG-1",
        "body": {"text": "done"},
        "queued_at": record["at"],
        "due_at": record["at"],
        "attempts": 0,
        "error": "",
    }
    workspace.file().commit([], effects=[effect])
    with monkeypatch.context() as dying:
        dying.setattr(Spool, "settle", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            machine.forward()
    journal = discover(str(machine.root)).on_server()
    assert [one["id"] for one in journal.effects()] == ["e1"]
    journal.settle("e1")  # somebody carried it out
    machine.hook("SessionEnd", reason="exit")
    machine.forward()
    assert journal.effects() == []
    assert machine.hooks.file().effects() == []
    journal.close()
