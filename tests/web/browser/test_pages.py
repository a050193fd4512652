"""The pages that tell one story each, in a real browser: live, by keyboard, on a small screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import ViewportSize, expect
from scripts.page_stories import FOUND, leave_session

from tests.answers.world import Hook, decision, open_page
from tests.web import stories
from tests.web.browser.chromium import PATIENCE, Opens, accessible
from tests.web.world import World

SMALL: ViewportSize = {"width": 380, "height": 780}
# A page of cards, one of rows and one of texts; `make proof` runs the accessibility check on every page.
KINDS = ("/fleet", "/history", "/sessions/")


def test_a_run_is_drawn_live(world: World, opens: Opens) -> None:
    plans = stories.run(world)
    plans.begin()
    page = opens(f"/w/{world.key}/runs/{plans.id}")
    waves = page.locator(".waves")
    expect(waves.locator(".plan.tone-plain")).to_have_count(2)
    plans.halted(begin=False)
    expect(waves.locator(".plan.tone-good")).to_have_count(1)
    expect(waves.locator(".plan.tone-wait")).to_have_count(1)
    tops = waves.locator(".plan").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().top)"
    )
    assert len(set(tops)) == 1  # a wave is a column
    page.set_viewport_size(SMALL)
    tops = waves.locator(".plan").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().top)"
    )
    assert len(set(tops)) == 2
    accessible(page)
    page.get_by_role("link", name="Answer: ").click()
    expect(page.locator("#answer")).to_be_visible()


def test_a_clients_question_is_answered_with_a_thumb(world: World, opens: Opens) -> None:
    open_page(world.root)
    hook = Hook(tool_input={"command": "npm publish --access public && git push --tags"})
    try:
        hook.question()
        page = opens("/board", viewport={"width": 390, "height": 780})
        page.get_by_role("link", name="May Bash run").click()
        expect(page.get_by_role("button", name="Allow once")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        accessible(page)
        page.get_by_role("button", name="Deny").click()
        assert hook.process.poll() is None, "no reason was given"
        page.get_by_role("button", name="Allow once").click()
        assert decision(hook.end().said) == {"behavior": "allow"}
        expect(page.locator("#answered")).to_contain_text("allowed once")
        expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    finally:
        hook.kill()


@pytest.mark.parametrize(
    "looked_at", [KINDS, pytest.param(("/",), marks=pytest.mark.proof)], ids=["kinds", "all"]
)
def test_pages_by_keyboard_and_on_a_small_screen(
    world: World, opens: Opens, looked_at: tuple[str, ...]
) -> None:
    stories.capture(world, issue="CIA-7", title="A parser", next="keep quoted words together")
    stories.track(world)
    stories.rfc(world)
    world.alert()
    world.start("Secondary-A", "feature_with_a_very_long_name_that_does_not_break_anywhere_at_all")
    here = f"/w/{world.key}"
    record = world.workspace.journal.latest(kind="captured", limit=1)[0]["id"]
    page = opens("/history", viewport=SMALL)
    page.keyboard.press("/")
    page.keyboard.type("quoted")
    page.keyboard.press("Enter")
    expect(page.locator(".told li")).to_have_count(1)
    expect(page.locator("#state")).to_have_text("live")
    page.locator("main").focus()
    page.keyboard.press("g")
    page.keyboard.press("w")
    expect(page).to_have_title("Work · Holdfast")
    paths = ["/work", "/fleet", "/budget", "/history", "/doctor", f"{here}/records/{record}",
             f"{here}/sessions/{stories.SESSION}", f"{here}/tracks/{stories.TRACK}",
             f"{here}/rfcs/{stories.RFC}"]  # fmt: skip
    origin = page.evaluate("location.origin")
    for path in paths:
        page.goto(origin + path)
        expect(page.locator("h1")).to_be_attached()
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, path
        if any(kind in path for kind in looked_at):
            accessible(page)


@pytest.mark.parametrize("width", [400, pytest.param(1280, marks=pytest.mark.proof)])
def test_charts_of_a_session_and_of_costs_in_every_light(
    world: World, opens: Opens, width: int
) -> None:
    """The session is known by its transcript alone."""
    leave_session(world.root)
    path = f"/w/{world.key}/sessions/{FOUND}"
    page = opens("/board", viewport=SMALL)
    page.get_by_role("link", name="The CSV export breaks").click()
    page.set_viewport_size({"width": width, "height": 900})
    for address, chart, mark in ((path, ".course", ".edit rect"), ("/budget", ".days", "rect")):
        page.goto(page.evaluate("location.origin") + address)
        picture = page.locator(chart)
        expect(picture.locator(mark).first).to_be_visible()
        expect(page.get_by_role("img", name="3 requests" if chart == ".course" else "Cost by day")).to_be_visible()  # fmt: skip
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        edges = picture.locator(mark).evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
        )
        box = picture.bounding_box()
        assert box is not None
        assert all(box["x"] <= left and right <= box["x"] + box["width"] for left, right in edges)
        accessible(page)
        drawn = "all => all.map(one => getComputedStyle(one).fill)"
        dark = set(picture.locator(mark).evaluate_all(drawn))
        page.emulate_media(color_scheme="light")
        assert dark != set(picture.locator(mark).evaluate_all(drawn))
    page.goto(page.evaluate("location.origin") + path)
    page.get_by_text("The same as a table").click()
    expect(page.locator(".numbers tbody tr").first).to_be_visible()


def test_from_row_to_row_by_keyboard(world: World, opens: Opens) -> None:
    """On tasks and timelines, and in the fleet's table; an update leaves the choice where it is."""
    stories.capture(world, next="keep quoted words together", remaining=["Write", "Ship"])
    world.start("Secondary-A")
    world.start("Secondary-B")
    page = opens("/fleet")
    for key, row in (("j", 0), ("j", 1), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(page.locator("tbody tr").nth(row)).to_be_focused()
        expect(page.locator(".chosen")).to_have_count(1)
    name = page.locator("tbody tr").first.locator("a").inner_text()
    world.beat(name, "Something that was not there")
    expect(page.get_by_text("Something that was not there")).to_be_visible()
    expect(page.locator("tbody tr.chosen")).to_contain_text(name)
    page.keyboard.press("Enter")
    page.wait_for_url("**/history?*")
    page.goto(page.evaluate("location.origin") + f"/w/{world.key}/sessions/{stories.SESSION}")
    expect(page.locator("#state")).to_have_text("live")
    rows = page.locator(".tasks > li[id], .told > li")
    for row in range(rows.count()):
        page.keyboard.press("j")
        expect(rows.nth(row)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/records/*")


def test_a_session_grows_while_it_is_looked_at(world: World, opens: Opens) -> None:
    stories.capture(world, next="keep quoted words together")
    page = opens(f"/w/{world.key}/sessions/{stories.SESSION}")
    page.locator("#pack summary").click()
    stories.capture(world, current="Write the docs of the parser")
    expect(page.locator(".tasks .at-hand")).to_have_text(
        "Write the docs of the parser", timeout=PATIENCE
    )
    assert page.locator("#pack").get_attribute("open") is not None
    page.emulate_media(media="print")
    expect(page.locator(".tasks .at-hand")).to_be_visible()
    expect(page.locator(".top nav")).to_be_hidden()


def test_a_half_typed_search_survives_an_update(world: World, opens: Opens) -> None:
    world.start("Secondary-A")
    page = opens("/history")
    page.keyboard.press("/")
    page.keyboard.type("quoted wo")
    world.beat("Secondary-A", "Something that was not there")
    expect(page.get_by_text("Something that was not there")).to_be_visible()
    page.keyboard.type("rds")
    expect(page.locator("[data-search]")).to_have_value("quoted words")
