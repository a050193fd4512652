"""Two edits of one text: what either side added is there once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.merge import merge_texts

BASE = [f"line {number}" for number in range(8)]


def edited(draw: st.DataObject, who: str, base: list[str]) -> list[str]:
    """The lines that a side kept, with its own ones between them."""
    kept = [line for line in base if draw.draw(st.integers(0, 4), label=f"{who} keeps {line}")]
    added = draw.draw(st.integers(0, 4), label=f"{who} adds")
    for number in range(added):
        kept.insert(draw.draw(st.integers(0, len(kept))), f"{who} {number}")
    return kept


@given(st.data())
def test_what_either_side_added_is_there_once(data: st.DataObject) -> None:
    base = BASE[: data.draw(st.integers(0, len(BASE)))]
    ours, theirs = edited(data, "ours", base), edited(data, "theirs", base)

    merged = merge_texts(*("\n".join(lines) for lines in (base, ours, theirs))).splitlines()

    assert len(merged) == len(set(merged)), merged
    own = [line for line in (*ours, *theirs) if line not in base]
    kept = [line for line in base if line in ours and line in theirs]
    assert set(own + kept) <= set(merged)
    assert [line for line in merged if line in ours and line not in base] == [
        line for line in ours if line not in base
    ]


@given(st.data())
def test_one_side_alone_is_the_result(data: st.DataObject) -> None:
    theirs = edited(data, "theirs", BASE)
    text = "\n".join(theirs)
    assert merge_texts("\n".join(BASE), "\n".join(BASE), text) == text
    assert merge_texts("\n".join(BASE), text, "\n".join(BASE)) == text
    assert merge_texts("\n".join(BASE), text, text) == text
