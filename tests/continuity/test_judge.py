"""The judge of continuity: where it cuts, what it asks for, and that a text can fail it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable

import pytest
from bench.continuity import comparison as texts
from bench.continuity import judge, transcripts
from bench.continuity.comparison import (
    OURS,
    cells_of,
    comparisons_of,
    holdfast_pack,
    measure,
    tail,
)
from bench.continuity.judge import (
    CARRIED,
    FUTURE,
    Needs,
    false_claims,
    gone_files,
    needs_at,
    score,
)
from bench.continuity.transcripts import Cut, Recording, before, cuts_of

from holdfast.clients.conversation import SessionEvent

BUDGET = 6000


def everything(needs: Needs) -> str:
    return "\n".join(item for items in needs.items.values() for item in items)


def facts(
    *,
    done: Iterable[str] = (),
    passed: Iterable[str] = (),
    failing: Iterable[str] = (),
    gone: Iterable[str] = (),
) -> Needs:
    return Needs({}, list(done), list(passed), list(failing), list(gone))


def test_a_session_is_cut_in_the_middle_of_turns(short: Recording) -> None:
    cuts = cuts_of(short)
    assert [cut.kind for cut in cuts] == ["mid-turn"] * 5
    assert [cut.place for cut in cuts] == sorted(cut.place for cut in cuts)


def test_a_session_is_cut_where_its_client_compacted(recordings: dict[str, Recording]) -> None:
    for name in ("claude-compacted", "codex-compacted"):
        recording = recordings[name]
        cuts = [cut for cut in cuts_of(recording) if cut.kind == "compaction"]
        assert cuts, name
        assert all(recording.events[cut.place].kind == "compact" for cut in cuts)


def test_a_session_of_few_calls_is_not_cut(short: Recording) -> None:
    few = Recording("few", "claude", short.events[: short.calls[30]])
    assert cuts_of(few) == []


def test_needs_had_all_occurred_before_the_cut(short: Recording) -> None:
    for cut in cuts_of(short):
        known = "\n".join(f"{event.text}\n{event.path}" for event in before(short, cut))
        needs = needs_at(short, cut)
        for kind in FUTURE:
            assert all(item in known for item in needs.items[kind])


def test_needs_end_with_the_twenty_fifth_call(short: Recording) -> None:
    cut = cuts_of(short)[0]
    ahead = [place for place in short.calls if place >= cut.place]
    far = SessionEvent("read", path=f"{short.folder}/tally/far_away.py")
    history = SessionEvent("said", text="tally/far_away.py is not needed yet")
    for number, needed in ((24, True), (26, False)):
        events = [*short.events]
        events.insert(ahead[number], far)
        events.insert(cut.place, history)
        moved = Recording("moved", "claude", events)
        files = needs_at(moved, Cut("mid-turn", cut.place + 1)).items["files"]
        assert ("tally/far_away.py" in files) is needed


def test_the_persons_rulings_and_answers_are_asked_for(short: Recording) -> None:
    needs = needs_at(short, cuts_of(short)[-1])
    assert (
        "Don't touch the public API: parse_amount keeps its two arguments."
        in (needs.items["rulings"])
    )
    assert needs.items["answers"] == ["Calendar year"]
    assert "Refuse quarters that do not exist" in needs.items["plan"]


def test_a_text_with_everything_scores_one_and_an_empty_one_zero(short: Recording) -> None:
    for cut in cuts_of(short):
        needs = needs_at(short, cut)
        assert set(score(everything(needs), needs).values()) == {1.0}
        assert set(score("", needs).values()) == {0.0}


@pytest.mark.parametrize("kind", [*FUTURE, *CARRIED])
def test_a_text_loses_what_it_leaves_out(short: Recording, kind: str) -> None:
    needs = needs_at(short, cuts_of(short)[-1])
    item = max(needs.items[kind], key=len)
    poorer = everything(needs).lower().replace(item.lower(), "")
    assert score(poorer, needs)[kind] < 1


def test_the_pack_names_more_than_the_end_of_the_conversation(
    recordings: dict[str, Recording],
) -> None:
    candidates = {OURS: holdfast_pack, "end of the conversation": tail}
    chosen = [one for name, one in recordings.items() if name.endswith(("short", "compacted"))]
    table = measure(chosen, 2500, candidates)
    for comparison in comparisons_of(table):
        ours, theirs = comparison.rows[OURS], comparison.rows["end of the conversation"]
        assert ours["FUTURE"] > theirs["FUTURE"], comparison
        assert ours["CARRIED"] > theirs["CARRIED"], comparison
        assert ours["false"] == 0, (
            comparison,
            table[comparison.client, comparison.kind][OURS].examples,
        )


def test_a_task_shown_open_that_is_done_is_false() -> None:
    needs = facts(done=["Write the parser"])
    assert false_claims("- [ ] Write the parser", needs)
    assert false_claims("## Remaining\n- Write the parser", needs)
    assert not false_claims("- [x] Write the parser", needs)
    assert not false_claims("## Remaining\n- Write the renderer", needs)


def test_a_command_shown_failing_that_passed_since_is_false() -> None:
    needs = facts(passed=["make test"])
    assert false_claims("- make test (failed 3 calls ago)", needs)
    assert false_claims("## Still failing\n- make test", needs)
    assert not false_claims("- make test (4×, passed)", needs)
    assert not false_claims("## Still failing\n- make test-clients", needs)


def test_a_part_of_a_line_that_passed_since_is_false_unless_another_line_still_fails() -> None:
    line = "gofmt -l .; go test ./tax -run TestA | tail"
    claim = "- go test ./tax -run TestA (failed 7 calls ago)"
    assert false_claims(claim, facts(passed=[line]))
    assert not false_claims(claim, facts(passed=[line], failing=["go test ./tax -run TestA -v"]))


@pytest.mark.parametrize(
    ("command", "output", "passed"),
    [
        ("go test ./...", "ok  \tx.io/shop/tax\t0.1s", True),
        ("go test ./... -run TestA | tail", "ok  \tx.io/shop/tax\t0.1s", True),
        ("go test ./tax -run TestOther", "ok  \tx.io/shop/tax\t0.1s", False),
        ("go test ./...", "ok  \tx.io/shop/api\t0.1s", False),
        ("cd ../copy && go test ./...", "ok  \tx.io/shop/tax\t0.1s", False),
        ("go vet ./...", "", False),
    ],
)
def test_a_command_passed_when_what_it_named_did(command: str, output: str, passed: bool) -> None:
    line = "gofmt -l . ; go test ./tax -run TestA 2>&1 | tail"
    events = [
        SessionEvent("run", id="1", text=line),
        SessionEvent("result", id="1", text="FAIL\tx.io/shop/tax\t0.1s", failed=False),
        SessionEvent("run", id="2", text=command),
        SessionEvent("result", id="2", text=output, failed=False),
    ]
    recording = Recording("a", "claude", events)
    needs = needs_at(recording, Cut("mid-turn", len(events)))
    assert (line in needs.passed_commands) is passed
    assert (line in needs.failing_commands) is not passed


def test_the_persons_own_words_are_no_claim() -> None:
    needs = facts(passed=["make test"])
    needs.quotable = frozenset({"make test is failing"})
    assert not false_claims("  make test is failing", needs)
    assert false_claims("  make test is still failing", needs)


def test_a_file_shown_that_is_gone_is_false() -> None:
    needs = facts(gone=["src/old.py"])
    assert false_claims("## Files\n- src/old.py: parse", needs)
    assert not false_claims("## Files\n- src/old.py (deleted)", needs)
    assert not false_claims("## Files\n- src/old.pyi", needs)


def test_a_pack_of_an_earlier_cut_makes_false_claims_at_a_later_one(
    recordings: dict[str, Recording],
) -> None:
    recording = recordings["claude-medium"]
    calls = recording.calls
    later = needs_at(recording, Cut("mid-turn", calls[-15]))
    found: list[str] = []
    for place in calls[20 : len(calls) // 2 : 8]:
        early = Cut("mid-turn", place)
        pack = holdfast_pack(recording, early, BUDGET)
        assert not false_claims(pack, needs_at(recording, early))
        found += false_claims(pack, later)
    assert any(line.startswith("- [ ]") for line in found)
    assert any("python3 -m unittest" in line and "failed" in line for line in found)


@pytest.mark.parametrize(
    "line", ["rm -r scratch", "git rm -q scratch/a.py", "cd x && rm scratch/a.py", "mv scratch y"]
)
def test_a_removed_file_is_gone_until_it_is_made_again(line: str) -> None:
    made = SessionEvent("edit", path="/p/scratch/a.py", change="created")
    removed = SessionEvent("run", text=line)
    assert gone_files([made, removed], "/p") == ["scratch/a.py"]
    assert gone_files([made, removed, made], "/p") == []


def test_the_recordings_hold_facts_that_can_be_stated_falsely(
    recordings: dict[str, Recording],
) -> None:
    needs = [needs_at(one, cut) for one in recordings.values() for cut in cuts_of(one)]
    assert any(one.done_tasks for one in needs)
    assert any(one.passed_commands for one in needs)
    assert any(one.gone_files for one in needs)


def test_an_own_summary_stands_at_compactions_only(recordings: dict[str, Recording]) -> None:
    recording = recordings["claude-compacted"]
    for cut in cuts_of(recording):
        text = texts.own_summary(recording, cut, BUDGET)
        assert (text is not None) is (cut.kind == "compaction")


def test_what_a_compaction_with_our_mod_leaves(recordings: dict[str, Recording]) -> None:
    recording = recordings["claude-compacted"]
    for cut in cuts_of(recording):
        instant = texts.instant_compaction(recording, cut, BUDGET)
        assisted = texts.assisted_compaction(recording, cut, BUDGET)
        if cut.kind != "compaction":
            assert instant is assisted is None
            continue
        pack = holdfast_pack(recording, cut, BUDGET)
        own = texts.own_summary(recording, cut, BUDGET)
        assert instant is not None
        assert assisted == f"{own}\n{pack}"
        assert instant.startswith(pack)
        last = before(recording, cut)[-1]
        assert last.text in instant[len(pack) :], "the last message stands there word for word"
        room = 8000 * texts.CHARACTERS_PER_TOKEN
        assert 0 < len(instant) - len(pack) < 1.5 * room


def test_the_table_has_a_cell_for_every_column(short: Recording) -> None:
    (comparison,) = comparisons_of(measure([short], BUDGET))
    head, *rows = cells_of(comparison)
    assert all(len(row) == len(head) for row in rows)


def test_the_judge_takes_only_the_finished_pack_from_the_product() -> None:
    """It would not notice a mistake in what it shares with the code that it judges."""
    taken = {}
    for module in (transcripts, judge, texts):
        tree = ast.parse(inspect.getsource(module))
        taken[module] = {
            name.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith(
                ("holdfast.observe", "holdfast.pack", "holdfast.session")
            )
            for name in node.names
        }
    assert taken == {transcripts: set(), judge: set(), texts: {"observe", "render"}}


def test_pairs_of_words_are_prose() -> None:
    found = judge.pairs_in("The rounding error comes from `taxTable`, the rounding error again.")
    assert ("rounding", "error") in found
    assert not any("taxtable" in pair for pair in found)


def test_what_was_typed_meanwhile_counts_unless_it_was_taken_back() -> None:
    typed = [
        SessionEvent("prompt", text="Fix the totals of the basket."),
        SessionEvent("heard", id="1", text="Leave the rates alone, please."),
        SessionEvent("heard", id="2", text="And look at the invoice."),
        SessionEvent("heard", id="2"),
        SessionEvent("result", id="3", end="refused", text="No, never reset this tree."),
    ]
    found = judge._heard_words(typed)
    assert found == ["Leave the rates alone, please.", "No, never reset this tree."]
