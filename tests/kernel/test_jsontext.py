"""JSON by CPython's C parts says exactly what the `json` module says."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel import canonical_json


def implementation(encode: Any, loads: Any, spread: Any) -> tuple[Any, Any, Any]:
    return lambda value: "".join(encode(value, 0)), loads, lambda value: "".join(spread(value, 0))


IMPLEMENTATIONS = {
    "accelerated": implementation(*canonical_json._accelerated()),
    "portable": implementation(*canonical_json._portable()),
}
each_implementation = pytest.mark.parametrize(
    ("dumps", "loads"),
    [(dumps, loads) for dumps, loads, _ in IMPLEMENTATIONS.values()],
    ids=IMPLEMENTATIONS.keys(),
)

# Half a surrogate pair has its own tests below.
texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def reference(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


@given(values)
def test_the_text_is_that_of_the_json_module_and_reads_back(value: Any) -> None:
    assert canonical_json.dumps(value) == reference(value)
    assert canonical_json.loads(canonical_json.dumps(value)) == value


@given(values)
def test_both_implementations_agree(value: Any) -> None:
    (dumps, loads, spread), (portable_dumps, portable_loads, portable_spread) = (
        IMPLEMENTATIONS.values()
    )
    assert dumps(value) == portable_dumps(value)
    assert spread(value) == portable_spread(value) == json.dumps(value, ensure_ascii=False)
    indented = json.dumps(value, indent=2)
    assert loads(indented) == portable_loads(indented) == value


@given(st.text(alphabet='{}[]":,.-+eE0123456789truefalsnN \t\n\\u', max_size=12))
def test_both_refuse_the_same_garbage(text: str) -> None:
    def outcome(loads: Any) -> Any:
        try:
            return json.dumps(loads(text))
        except ValueError:
            return ValueError

    (_, accelerated, _), (_, portable, _) = IMPLEMENTATIONS.values()
    assert outcome(accelerated) == outcome(portable)


@each_implementation
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_not_json(dumps: Any, loads: Any, number: float) -> None:
    with pytest.raises(ValueError):
        dumps({"n": [number]})


@each_implementation
@pytest.mark.parametrize(
    "garbage",
    [
        "",
        " ",
        "{",
        "[1,]",
        "{'a':1}",
        '"a',
        "nul",
        "1 2",
        "[] x",
        "NaN",
        "-Infinity",
        '"\n"',
        "\ufeff1",
    ],
)
def test_garbage_is_a_value_error(dumps: Any, loads: Any, garbage: str) -> None:
    with pytest.raises(ValueError):
        loads(garbage)


def test_nesting_without_end_is_a_value_error() -> None:
    with pytest.raises(ValueError):
        canonical_json.loads("[" * 100_000)


def test_a_circle_is_a_value_error() -> None:
    circle: list[Any] = []
    circle.append(circle)

    with pytest.raises(ValueError):
        canonical_json.dumps(circle)


def test_a_value_that_json_cannot_say_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        canonical_json.dumps({"a": {1, 2}})


@given(st.text(st.characters(), max_size=20))
def test_half_a_surrogate_pair_never_raises_and_always_stores(text: str) -> None:
    stored = canonical_json.dumps({text: [text]})

    assert stored.encode().decode() == stored
    canonical_json.loads(stored)


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert canonical_json.dumps(canonical_json.loads('"a\\ud800b"')) == '"a?b"'
