"""The page that searches past sessions: the same hits as `holdfast find`, and nothing of a text is markup."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.memory.search import split_marked
from tests.cli.conftest import Holdfast
from tests.memory.conftest import SECRET, Put
from tests.web.world import Visitor

QUESTION = "why+did+we+drop+the+retry+on+503"


@pytest.fixture
def visitor(shop: Path, holdfast: Holdfast) -> Iterator[Visitor]:
    holdfast("note", "begin a journal")
    with Visitor([str(shop)]) as visitor:
        visitor.sign_in()
        yield visitor


def test_the_page_has_the_hits_of_the_command(visitor: Visitor, holdfast: Holdfast) -> None:
    typed = holdfast("find", "--json", "--here", QUESTION.replace("+", " ")).data["hits"]
    shown = visitor.data(f"/find.json?q={QUESTION}")["hits"]
    assert [one["session"] for one in shown] == [one["session"] for one in typed]
    assert shown[0]["open"] == typed[0]["open"]
    page = visitor.get(f"/find?q={QUESTION}").text
    assert "<mark>retry</mark>" in page
    assert "/sessions/11111111-aaaa-4000-8000-000000000001" in page
    assert visitor.get(shown[0]["href"]).status_code == 200


def test_the_search_box_is_there_before_a_question(visitor: Visitor) -> None:
    page = visitor.get("/find").text
    assert 'name="q"' in page
    assert 'href="/find"' in page
    assert "No session fits" in visitor.get("/find?q=xylophone").text
    assert "has no word to look for" in visitor.get("/find?q=%3F%3F").text


def test_nothing_of_a_text_is_markup_and_no_secret_is_shown(
    shop: Path, put: Put, visitor: Visitor
) -> None:
    said = [("user", f"<script>alert(1)</script> the aardvark has {SECRET}")]
    put(shop, "55555555-eeee-4000-8000-000000000005", said)
    page = visitor.get("/find?q=aardvark+%3Cscript%3E").text
    assert "aardvark" in page
    assert "<script>alert" not in page
    assert SECRET not in page
    assert SECRET not in str(visitor.data("/find.json?q=aardvark"))


def test_words_are_marked_once() -> None:
    assert split_marked("retry the retries", ["retry", "retries", "tri"]) == [
        ("retry", True),
        (" the ", False),
        ("retries", True),
    ]
