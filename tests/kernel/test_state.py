"""The state of a stream is the same from all records as from a snapshot and the later ones."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.journal import interface
from holdfast.journal.interface import Append
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, HoldfastError, Usage
from holdfast.kernel.redact import Redactor
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import RESTORED, at_version, fold, load
from holdfast.kernel.streams import rules_of
from holdfast.kernel.workspace import discover
from holdfast.kernel.writer import Writer
from holdfast.note.rules import note
from holdfast.testing.journal import Store
from holdfast.testing.journal.examples import NOON, draft, drafts, write
from tests.journal.conformance.stores import STORES

if TYPE_CHECKING:
    from holdfast.journal.interface import Event, Journal

STREAM = "note:plan"

said = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip)
commands = st.lists(st.fixed_dictionaries({"add": said, "by": st.sampled_from(["Ada", "Bob"])}))


def obey(journal: Journal, command: Any, position: int) -> list[Any]:
    """What the write path does to the journal, without files; the bodies that it wrote."""
    state, head = load(journal, note, STREAM)
    decision = note.decide(state, command, NOON + position * clock.MINUTE)
    made = [draft(body, kind=kind) for kind, body in decision.records]
    journal.commit(
        [
            Append(
                STREAM,
                made,
                expected=head["version"] if head else 0,
                state=fold(note, state, made),
            )
        ]
    )
    return [one["body"] for one in made]


@pytest.mark.parametrize("store", STORES, ids=lambda store: str(store.name))
@given(commands=commands, floor=st.sampled_from([0, 100, 400, interface.SNAPSHOT_FLOOR]))
def test_a_state_is_the_same_with_and_without_its_snapshot(
    store: Store, commands: list[Any], floor: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(interface, "SNAPSHOT_FLOOR", floor)
        journal = store.open(Path(folder))
        written = []
        for position, command in enumerate(commands):
            written += obey(journal, command, position)

        state, head = load(journal, note, STREAM)

        everything = journal.read(STREAM)
        assert state == fold(note, note.initial(STREAM), everything)
        assert state["entries"] == written
        assert (head["version"] if head else 0) == len(commands)
        for version in range(len(commands) + 1):
            assert at_version(journal, note, STREAM, version) == fold(
                note, note.initial(STREAM), everything[:version]
            )
        journal.close()


def test_snapshots_are_really_used(journal: Journal) -> None:
    """Otherwise the property above would compare the same thing twice."""
    obey(journal, {"add": "x" * (interface.SNAPSHOT_FLOOR + 1), "by": "Ada"}, 0)
    journal.erase([journal.read(STREAM)[0]["id"]])

    state, _ = load(journal, note, STREAM)

    assert len(state["entries"]) == 1


def test_an_erased_record_has_nothing_to_say(journal: Journal) -> None:
    for position in range(3):
        obey(journal, {"add": f"number {position}", "by": "Ada"}, position)

    journal.erase([journal.read(STREAM)[1]["id"]])

    state, _ = load(journal, note, STREAM)
    assert [entry["text"] for entry in state["entries"]] == ["number 0", "number 2"]


def test_a_restored_record_says_everything(journal: Journal) -> None:
    for position in range(3):
        obey(journal, {"add": f"number {position}", "by": "Ada"}, position)
    earlier = at_version(journal, note, STREAM, 1)

    write(journal, STREAM, draft({"version": 1, "state": earlier}, kind=RESTORED))

    assert load(journal, note, STREAM)[0] == earlier
    assert len(at_version(journal, note, STREAM, 3)["entries"]) == 3


def test_a_version_whose_records_were_removed_is_refused(journal: Journal) -> None:
    for position in range(4):
        obey(journal, {"add": f"number {position}", "by": "Ada"}, position)
    state, _ = load(journal, note, STREAM)
    journal.snapshot(STREAM, 4, state)
    write(journal, "note:newest", *drafts(1))
    journal.collect(before=clock.precise(NOON + clock.DAY), keep=0)

    assert load(journal, note, STREAM)[0] == state
    assert at_version(journal, note, STREAM, 4) == state
    with pytest.raises(HoldfastError) as refused:
        at_version(journal, note, STREAM, 2)
    assert refused.value.kind == "collected"


def test_half_a_surrogate_pair_in_a_command_is_stored_as_it_is_shown(repository: Path) -> None:
    """JSON from a hook can spell one; neither the journal nor a file can hold it."""
    writer = Writer(discover(), rules_of, Redactor(environment={}))
    command = {"add": canonical_json.loads('"half \\ud800 pair"'), "by": "Ada"}

    outcome = writer.execute(STREAM, command, actor="Ada", now=NOON, id=new_id())

    assert outcome["records"][0]["body"]["text"] == "half ? pair"
    assert "half ? pair" in (repository / ".notes" / "plan.md").read_text()


class Counting:
    """A subject without views: the short way of a writer."""

    def initial(self, stream: str) -> Any:
        return {"total": 0}

    def apply(self, state: Any, event: Event) -> Any:
        return {"total": state["total"] + event["body"]["by"]}

    def decide(self, state: Any, command: Any, now: int) -> Decision:
        if state["total"] + command["by"] > 10:
            raise Usage("too much")
        return Decision([("added", {"by": command["by"]})])

    def absorb(self, state: Any, base: Any, change: Any, now: int) -> list[tuple[str, Any]]:
        return []

    def render(self, state: Any) -> dict[str, str]:
        return {}


def test_two_writers_of_one_stream_see_each_other(repository: Path) -> None:
    """Each remembers what it wrote last; neither decides on what the other made old."""
    one, other = (
        Writer(discover(), lambda _: Counting(), Redactor(environment={})) for _ in range(2)
    )

    def add(writer: Writer, by: int) -> int:
        return writer.execute("count:a", {"by": by}, actor="tester", now=NOON)["version"]

    assert [add(one, 1), add(one, 2), add(other, 3), add(one, 1), add(other, 1)] == [1, 2, 3, 4, 5]
    with pytest.raises(Usage):
        add(one, 3)
    assert add(other, 2) == 6
    records = discover().journal.read("count:a")
    assert [record["version"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert sum(record["body"]["by"] for record in records) == 10


class Shown(Counting):
    """The same with a file, and with a conflict of its own."""

    def decide(self, state: Any, command: Any, now: int) -> Decision:
        if command.get("when", state["total"]) != state["total"]:
            raise Conflict(f"it is {state['total']}")
        return super().decide(state, command, now)

    def absorb(self, state: Any, base: Any, change: Any, now: int) -> list[tuple[str, Any]]:
        return [("added", {"by": int(change["text"]) - state["total"]})]

    def render(self, state: Any) -> dict[str, str]:
        return {"total": str(state["total"])}


def test_what_a_writer_remembers_of_a_stream_with_a_file_is_put_to_the_test(
    repository: Path,
) -> None:
    """Another writer, and then somebody's editor, come in between two of its commands."""
    one, other = (Writer(discover(), lambda _: Shown(), Redactor(environment={})) for _ in range(2))

    def add(writer: Writer, by: int, **terms: int) -> str:
        command = {"by": by, **terms}
        writer.execute("count:a", command, actor="tester", now=NOON)
        return (repository / "total").read_text()

    assert [add(one, 1), add(one, 1, when=1), add(other, 3, when=2)] == ["1", "2", "5"]
    assert add(one, 1, when=5) == "6"
    with pytest.raises(Conflict):
        add(one, 1, when=5)
    (repository / "total").write_text("2")
    assert [add(one, 1), add(other, 1, when=3), add(one, 6, when=4)] == ["3", "4", "10"]
    with pytest.raises(Usage):
        add(other, 1)


def test_a_repeated_id_on_the_short_way_is_a_no_op(repository: Path) -> None:
    writer = Writer(discover(), lambda _: Counting(), Redactor(environment={}))
    for _ in range(3):
        outcome = writer.execute("count:a", {"by": 1}, actor="tester", now=NOON, id="first")
    writer.execute("count:a", {"by": 1}, actor="tester", now=NOON, id="second")
    again = writer.execute("count:a", {"by": 1}, actor="tester", now=NOON, id="first")
    assert (outcome["duplicate"], again["duplicate"]) == (True, True)
    assert len(discover().journal.read("count:a")) == 2
