"""The pictures of a gate: shown as pictures, never run, only to who signed in."""

from __future__ import annotations

import re
from pathlib import Path

from tests.gates.test_pictures import PNG
from tests.web.world import HOSTILE, Visitor, World


def asked(world: World, name: str = "dashboard.png", content: bytes = PNG) -> tuple[str, str]:
    """A gate with a picture: its page, and the picture's address."""
    path = world.root / "shots" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    id = world.verify(attach=[str(path)])
    (known,) = world.gate(id)["pictures"]
    page = f"/w/{world.key}/gates/{id}"
    return page, f"{page}/pictures/{known['digest']}"


def test_a_gate_shows_its_pictures(world: World, visitor: Visitor) -> None:
    page, address = asked(world)
    text = visitor.get(page).text
    assert f'<a href="{address}" target="_blank" rel="noopener"><img src="{address}"' in text
    assert 'alt="dashboard.png"' in text
    answer = visitor.get(address)
    assert (answer.status_code, answer.content) == (200, PNG)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; sandbox;")
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    (known,) = visitor.data(f"{page}.json")["pictures"]
    assert (known["name"], known["is_here"]) == ("dashboard.png", True)


def test_strangers_see_no_picture(world: World, stranger: Visitor) -> None:
    assert stranger.get(asked(world)[1]).status_code == 401


def test_a_picture_that_carries_markup_stays_a_picture(world: World, visitor: Visitor) -> None:
    page, address = asked(world, "x\" onerror=\"document.title='owned'.png", PNG + HOSTILE.encode())
    assert not re.search(r"<img[^>]* onerror=\"", visitor.get(page).text)
    assert visitor.get(address).headers["content-type"] == "image/png"


def test_what_was_attached_elsewhere_or_changed_is_not_shown(
    world: World, visitor: Visitor
) -> None:
    page, address = asked(world)
    (path,) = Path(world.workspace.home, "pictures").rglob("*.png")
    path.write_bytes(b"<script>alert(1)</script>")
    assert visitor.get(address).status_code == 404
    path.write_bytes(PNG + b"another")
    assert visitor.get(address).status_code == 404
    path.unlink()
    assert visitor.get(address).status_code == 404
    assert "not on this machine" in visitor.get(page).text
    for wrong in ("..%2F..%2Fjournal.db", "a" * 64, "%00"):
        assert visitor.get(f"{page}/pictures/{wrong}").status_code == 404


def test_the_record_of_an_answer_names_what_was_seen(world: World, visitor: Visitor) -> None:
    page, address = asked(world)
    assert visitor.send(page, answer="approved").status_code == 303
    given = world.gate(page.rpartition("/")[2])["answer"]
    assert given is not None
    assert f"Attached: dashboard.png (PNG, 1 KB), sha256 {address[-64:-52]}" in given["saw"]
