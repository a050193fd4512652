"""`find` and `why` through the command line, MCP and the library: the same answer."""

from __future__ import annotations

from pathlib import Path

import holdfast as library
from tests.cli.conftest import Holdfast
from tests.mcp.world import Face
from tests.memory.conftest import SECRET, Put

QUESTION = "why did we drop the retry on 503"


def test_find_answers_the_same_through_every_face(shop: Path, holdfast: Holdfast) -> None:
    typed = holdfast("find", "--json", "--here", "--limit", "5", QUESTION).data
    called = Face(shop).call("find", {"question": QUESTION})
    with library.open() as workspace:
        returned = workspace.find(QUESTION, limit=5)
    assert typed["hits"]
    assert called.data == typed
    assert returned == typed


def test_why_answers_the_same_through_every_face(shop: Path, holdfast: Holdfast) -> None:
    (shop / "pay.py").write_text("import gateway\nsend_once()\n")
    typed = holdfast("why", "--json", "pay.py:2").data
    called = Face(shop).call("find", {"file": "pay.py:2"})
    with library.open() as workspace:
        returned = workspace.why("pay.py:2")
    assert typed["writers"]
    assert called.data == typed
    assert returned == typed


def test_an_agent_gets_a_small_answer_of_its_own_repository(
    shop: Path, put: Put, tmp_path: Path, holdfast: Holdfast
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    put(other, "44444444-dddd-4000-8000-000000000004", [("user", "Drop the retry of the mailer.")])
    put(shop, "55555555-eeee-4000-8000-000000000005", [("user", f"Retry with {SECRET} " * 200)])
    # Also where the person agreed that all projects are indexed.
    holdfast("find", "--json", "--all", "retry")
    said = Face(shop).call("find", {"question": "drop the retry"}).text
    assert "11111111-aaaa-4000-8000-000000000001" in said
    assert "you: Why does the payment client retry on 503? Drop the retry" in said
    assert "44444444" not in said
    assert SECRET not in said
    assert len(said) < 3000
    assert Face(shop).call("find", {}).failed
    assert "No session fits" in Face(shop).call("find", {"question": "xylophone"}).text
