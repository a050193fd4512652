"""Hostile text on every page of a telephone: nothing is wider than the screen, and all of it stays readable."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from scripts.page_stories import FOUND, leave_session

from holdfast.web.table import pages
from tests.plans.world import auto
from tests.web import stories
from tests.web.browser.chromium import Opens, accessible
from tests.web.world import World

TEXTS = {
    "long": "W" * 10_000,
    "path": "/srv/" + "deeply-nested_folder/" * 400 + "file.py",
    "rtl": "\u202eשלום עולם مرحبا بالعالم" * 60,
    "escapes": "\x1b[31;1mred\x1b]0;title\x07 \x00\u200b\ufeff<b>&amp;</b> " * 80,
    "command": "holdfast --session " + "a" * 400 + ' --with "' + "b c" * 200 + '"',
}
WIDE = "document.scrollingElement.scrollWidth - innerWidth"
PHONE = {"width": 390, "height": 844}


def fill(world: World, text: str) -> list[str]:
    """Put a text wherever an agent or a person can write one. Return the addresses of all pages."""
    stories.capture(world, issue="CIA-7", title=text, current=text, status=text, remaining=[text], next=text,
                    done=[text], blockers=[{"blocker": text, "until": text}],
                    decisions=[{"decision": text, "rationale": text}])  # fmt: skip
    loop = stories.track(world)
    loop.do("block", reason=text)
    stories.rfc(world)
    (world.root / ".ohrfc" / stories.RFC / "rfc.md").write_text(f"# {text}\n")
    plans = stories.run(world, last=auto("echo said; exit 3", name="Build " + text[:200].strip()))
    plans.halted()
    world.alert()
    gate = world.verify(text, url=text)
    world.start("Secondary-A")
    world.beat("Secondary-A", text)
    world.silence("Secondary-D")
    path = leave_session(world.root)
    path.write_text(path.read_text().replace("The CSV export breaks", text[:3000].replace("\x00", "").encode("unicode_escape").decode().replace('"', "'").replace("\\", "/")))  # fmt: skip
    (world.root / ("n" * 200 + ".py")).write_text(text)
    record = world.workspace.journal.latest(kind="captured", limit=1)[0]["id"]
    here = f"/w/{world.key}"
    return [page.path for page in pages() if "{" not in page.path] + [
        f"{here}/sessions/{stories.SESSION}",
        f"{here}/sessions/{FOUND}",
        f"{here}/tracks/{stories.TRACK}",
        f"{here}/rfcs/{stories.RFC}",
        f"{here}/runs/{plans.id}",
        f"{here}/gates/{gate}",
        f"{here}/records/{record}",
        f"/find?q={'x' * 200}",
        f"/history?q={'x' * 200}",
    ]


@pytest.mark.matrix
@pytest.mark.parametrize("share", range(len(TEXTS)))
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_makes_a_page_wider_than_a_telephone(
    world: World, opens: Opens, name: str, share: int
) -> None:
    paths = fill(world, TEXTS[name])[share :: len(TEXTS)]
    page = opens(viewport=PHONE)
    origin = page.evaluate("location.origin")
    for path in paths:
        page.goto(origin + path)
        expect(page.locator("h1")).to_be_attached()
        page.evaluate("document.querySelectorAll('#live details').forEach(one => one.open = true)")
        assert page.evaluate(WIDE) <= 0, path
    accessible(page)


def test_a_copied_command_breaks_between_its_words(world: World, opens: Opens) -> None:
    world.silence("Secondary-D")
    page = opens(viewport=PHONE)
    page.get_by_text("Decide").click()
    words = page.locator(".command span")
    assert words.count() > 3
    tall = words.evaluate_all(
        "all => all.filter(one => one.offsetHeight > 1.6 * parseFloat(getComputedStyle(one).fontSize) * 1.5).length"
    )
    assert tall == 0, "no word of a command is on two lines"
