"""The file as text and as data: what is not ours stays, where it stood."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel import canonical_json
from holdfast.kernel.text import split_words
from holdfast.loop.rules import document
from holdfast.loop.rules.changes import apply, difference, join_changes
from tests.loop.world import World

KEYS = st.sampled_from(["status", "loop_state", "zeta", "alpha", "a/b", "~", "", "1", "é"])
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


def in_order(value: Any) -> str:
    return json.dumps(value)


@given(DOCUMENTS)
def test_a_document_comes_back_with_its_keys_in_their_places(given: dict[str, Any]) -> None:
    # The journal sorts keys, as canonical JSON does.
    kept = canonical_json.loads(canonical_json.dumps(given))
    text = document.write(kept, document.orders(given))
    assert in_order(json.loads(text)) == in_order(given)


@given(DOCUMENTS, DOCUMENTS)
def test_a_difference_makes_the_one_into_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    kept = in_order(before)
    changes = canonical_json.loads(canonical_json.dumps(difference(before, after)))
    assert canonical_json.dumps(apply(before, changes)) == canonical_json.dumps(after)
    assert in_order(before) == kept, "the given document is not changed"


@given(DOCUMENTS, st.dictionaries(KEYS, LEAVES), st.dictionaries(KEYS, LEAVES))
def test_edits_of_different_keys_are_both_kept(
    base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    mine = {**base, **{f"ours {key}": value for key, value in ours.items()}}
    their = {**base, **{f"theirs {key}": value for key, value in theirs.items()}}
    merged = apply(mine, join_changes(mine, base, their))
    assert canonical_json.dumps(merged) == canonical_json.dumps({**mine, **their})


@given(DOCUMENTS)
def test_what_is_so_already_is_no_change(given: dict[str, Any]) -> None:
    assert join_changes(given, {}, given) == []


@pytest.mark.clause("AMB-LOOP-14")
def test_fields_that_nobody_knows_stay_as_they_are_and_where_they_are(world: World) -> None:
    text = """{
  "zeta": 1.0,
  "version": 2,
  "owner": {
    "name": "Ada",
    "age": 36
  },
  "loop_state": {
    "my_flag": true,
    "checkpoints": {
      "PLAN": {
        "mine": [
          {
            "z": 1,
            "a": 2
          }
        ],
        "status": "NOT_STARTED"
      }
    },
    "current_step": "PLAN"
  },
  "alpha": "é"
}
"""
    world.write(text)
    world.start("PLAN")
    kept = [line for line in text.splitlines() if "NOT_STARTED" not in line]
    written = world.metadata.read_text().splitlines()
    where = [
        next(n for n, line in enumerate(written) if line.rstrip(",") == wanted.rstrip(","))
        for wanted in kept
        if wanted.strip(" {}[],")
    ]
    assert where == sorted(where)
    assert list(world.file()) == ["zeta", "version", "owner", "loop_state", "alpha"]
    assert list(world.file()["owner"]) == ["name", "age"]
    assert list(world.checkpoint("PLAN"))[:2] == ["mine", "status"]
    assert world.file()["zeta"] == 1.0
    assert '"zeta": 1.0' in world.metadata.read_text()


@pytest.mark.clause("AMB-LOOP-14")
def test_a_missing_file_begins_as_the_second_format(world: World) -> None:
    world.start("PLAN")
    document = world.file()
    assert list(document) == ["version", "track_id", "status", "created_at", "loop_state"]
    assert (document["version"], document["track_id"]) == (2, "demo")
    assert (document["status"], document["created_at"]) == ("in_progress", "2026-11-15T12:00:01Z")


@pytest.mark.clause("AMB-LOOP-14")
def test_a_file_without_a_loop_gets_one_and_keeps_the_rest(world: World) -> None:
    world.write({"title": "My track", "type": "feature"})
    world.start("PLAN")
    assert list(world.file()) == ["title", "type", "loop_state"]
    assert world.loop()["max_fix_cycles"] == 3


def test_the_order_of_our_own_keys_is_that_of_the_protocol(world: World) -> None:
    world.start("PLAN", agent="superpowers:writing-plans")
    world.do("progress", fields={"current_phase": 2, "total_phases": 5, "current_task": "x"})
    assert list(world.loop()) == list(
        split_words(
            "current_step step_status step_started_at fix_cycle_count max_fix_cycles checkpoints"
        )
    )
    assert list(world.checkpoint("PLAN")) == list(
        split_words("status started_at completed_at agent progress output_files notes last_updated")
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value at line 1, column 1"),
        ('{"a": ', "Expecting value at line 1, column 7"),
        ("[]", "the file is not an object"),
        ("null", "the file is not an object"),
        ('{"loop_state": []}', "loop_state is not an object"),
        ('{"loop_state": {"checkpoints": 1}}', "loop_state.checkpoints is not an object"),
        ('{"loop_state": {"checkpoints": {"PLAN": "x"}}}', "checkpoints.PLAN is not an object"),
        ('{"loop_state": {"checkpoints": {"PLAN": {"commits": {}}}}}', "commits is not a list"),
        ('{"blockers": {}}', "blockers is not a list"),
        ('{"a": NaN}', "NaN"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "nested more than 100 levels deep"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_what_is_no_track_is_named(text: str, said: str) -> None:
    with pytest.raises(document.Corrupt) as problem:
        document.parse(text)
    assert said in str(problem.value)
