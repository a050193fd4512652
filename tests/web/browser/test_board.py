"""The page in a real browser: what a person sees, types and clicks.

Chromium is Debian's; `make test` installs it where it may. Without it these tests say so, and fail in CI.
"""

from __future__ import annotations

import base64
import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

from playwright.sync_api import Error, Page, expect
from scripts.page_server import Serving

from holdfast.budgets.check import Budget
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.kernel import clock
from holdfast.web.live import LOOK
from tests.gates.person import at_page
from tests.web import stories
from tests.web.browser.chromium import Opens, accessible
from tests.web.world import HOSTILE, World

# A picture of one point.
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@contextlib.contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Another server of this machine; its port."""
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def waiting_for(gate: str) -> Iterator[subprocess.Popen[str]]:
    """`holdfast gate wait`, which is ended if the test fails."""
    command = [sys.executable, "-m", "holdfast", "gate", "wait", gate, "--timeout", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_beat_is_on_the_board_within_a_second(world: World, opens: Opens) -> None:
    world.start("Secondary-A")
    page = opens()
    world.beat("Secondary-A", "Writing the acceptance criteria")
    expect(page.get_by_text("Writing the acceptance criteria")).to_be_visible()
    assert LOOK <= 0.5


def test_what_a_person_did_survives_an_update(world: World, opens: Opens) -> None:
    world.silence("Secondary-D")
    world.alert()
    for number in range(12):
        world.verify(f"Gate {number}", name=f"gate-{number}")
    page = opens(viewport={"width": 700, "height": 500})
    page.locator("summary", has_text="Decide").click()
    page.locator("input[name=until]").fill("$4")
    page.evaluate("window.scrollTo(0, 300)")
    world.start("Secondary-B")
    world.beat("Secondary-B", "Something new")
    expect(page.get_by_text("Something new")).to_be_attached()
    assert page.locator("details").get_attribute("open") is not None
    assert page.locator("input[name=until]").input_value() == "$4"
    assert page.evaluate("window.scrollY") == 300


def test_a_half_typed_note_survives_an_update(world: World, opens: Opens) -> None:
    id = world.verify()
    page = opens(f"/w/{world.key}/gates/{id}")
    page.locator("#note").fill("The sidebar is")
    (world.root / "README.md").write_text("changed\n")
    world.start("Secondary-A")
    expect(page.locator("#changed summary")).to_be_attached()
    assert page.locator("#note").input_value() == "The sidebar is"


def test_a_note_for_a_gate_that_was_settled_elsewhere_is_kept(world: World, opens: Opens) -> None:
    id = world.verify()
    page = opens(f"/w/{world.key}/gates/{id}")
    page.locator("#note").fill("The sidebar is")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#confirm-question")).to_contain_text("The sidebar is")
    answer(
        GateContext(world.workspace, "tester", clock.now()),
        AnswerRequest(gate=id, text="approved", person=at_page("/dev/pts/9", now=clock.now())),
    )
    expect(page.locator("#answered")).to_be_visible()
    expect(page.locator("#confirm")).to_be_hidden()
    expect(page.locator("#notice")).to_contain_text("settled elsewhere")
    expect(page.locator("#kept-text")).to_have_value("The sidebar is")


def test_no_other_port_of_this_machine_is_sent_the_cookie(world: World, blank: Page) -> None:
    """The page's own name is a host that no agent knows, and a cookie never leaves its host."""
    heard: list[str] = []

    class Agent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers.get("cookie") or "")
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with listening(Agent) as port, Serving([str(world.root)], own=True) as serving:
        blank.goto(serving.link())
        expect(blank.locator("#state")).to_have_text("live")
        for host in ("127.0.0.1", "localhost"):
            blank.evaluate(
                "url => fetch(url, {mode: 'no-cors', credentials: 'include'}).catch(() => 0)",
                f"http://{host}:{port}/",
            )
            with contextlib.suppress(Error):  # an answer without content leaves the page as it is
                blank.goto(f"http://{host}:{port}/")
    assert heard
    assert not any(heard), heard


def test_approving_frees_a_process_that_waits(world: World, opens: Opens) -> None:
    """By keyboard alone: `a`, and Enter in the question that it asks."""
    id = world.verify(HOSTILE)
    with waiting_for(id) as waiting:
        page = opens(f"/w/{world.key}/gates/{id}")
        page.keyboard.press("a")
        expect(page.locator("#confirm-question")).to_contain_text("Approve")
        page.keyboard.press("Escape")
        expect(page.locator("#confirm")).to_be_hidden()
        assert world.gate(id)["answer"] is None
        page.keyboard.press("a")
        page.locator("#confirm-yes").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#answered")).to_contain_text("approved")
        assert waiting.communicate(timeout=60)[0]
    assert waiting.returncode == 0
    assert page.title() != "owned"


def test_a_question_asked_again_at_once_is_answered(world: World, opens: Opens) -> None:
    """A browser reports the first question's closing only after the second one is open."""
    id = world.verify()
    page = opens(f"/w/{world.key}/gates/{id}")
    page.keyboard.press("a")
    page.evaluate(
        """() => {
          document.getElementById("confirm").close("no");
          document.dispatchEvent(new KeyboardEvent("keydown", { key: "a" }));
        }"""
    )
    page.locator("#confirm-yes").click()
    expect(page.locator("#answered")).to_contain_text("approved")


def test_a_decision_and_an_acknowledgment(world: World, opens: Opens) -> None:
    id = world.decide()
    world.alert()
    page = opens()
    page.get_by_label("Ask again at").fill("$20")
    page.get_by_role("button", name="Go on").click()
    dialog = page.locator("#confirm")
    expect(dialog).to_contain_text("Cost is at $26.50, the stop is at $50.00.")
    dialog.get_by_role("button", name="Go on").click()
    expect(page.locator(".ask.alert .wrong")).to_contain_text("It is at $26.50 already.")
    page.get_by_label("Ask again at").fill("")
    page.locator(".ask.alert").get_by_role("button", name="Go on").click()
    dialog.get_by_role("button", name="Go on").click()
    expect(page.locator(".ask.alert")).to_have_count(0)
    assert Budget(world.workspace, actor="test").state()["pending"] == {}
    page.get_by_role("link", name="Select a store").click()
    page.get_by_label("SQLite").check()
    page.locator("#note").fill("One machine will do.")
    page.get_by_role("button", name="Choose").click()
    expect(page.locator("#answered")).to_contain_text("lite")
    given = world.gate(id)["answer"]
    assert given is not None
    assert (given["answer"], given["text"]) == ("lite", "One machine will do.")


def test_without_a_sign_in_there_is_only_the_door(
    world: World, blank: Page, serving: Serving
) -> None:
    world.verify()
    page = blank
    page.goto(f"{serving.address.origin}/board")
    expect(page.locator("h1")).to_have_text("No person is signed in here.")
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Or paste it here").fill("guessed")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".wrong")).to_be_visible()
    page.get_by_label("Or paste it here").fill(serving.link())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/board")
    assert page.evaluate("document.cookie") == ""


def test_an_agents_markup_is_inert_also_in_updates(world: World, opens: Opens) -> None:
    world.start("Secondary-A", HOSTILE.replace("/", ""))
    page = opens()
    world.beat("Secondary-A", f"second {HOSTILE}")
    expect(page.get_by_text("second <script>")).to_be_visible()
    assert page.locator("main img, main script").count() == 0
    assert "owned" not in page.title()


def test_everything_can_be_read_and_answered_without_javascript(world: World, opens: Opens) -> None:
    id = world.verify()
    stories.capture(world, next="keep quoted words together")
    world.start("Secondary-A", minutes_ago=1)
    page = opens(java_script_enabled=False)
    page.get_by_role("link", name="Dashboard").click()
    page.get_by_label("A note, or what is wrong").fill("No sidebar.")
    page.get_by_role("button", name="Describe issues").click()
    expect(page.locator("#answered")).to_contain_text("No sidebar.")
    assert world.gate(id)["answer"] is not None
    page.get_by_role("link", name="Work", exact=True).click()
    page.locator("#sessions ~ ul a").click()
    expect(page.locator("#prompt pre")).to_be_visible()
    page.get_by_role("link", name="what changed").click()
    expect(page.locator("#difference ~ .diff")).to_be_visible()
    page.get_by_role("link", name="Fleet").click()
    page.locator("input[name=q]").fill("secondary-a")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_note_that_one_button_wants_holds_up_no_other(world: World, opens: Opens) -> None:
    id = world.verify()
    page = opens()
    page.get_by_role("link", name="Dashboard").click()
    page.wait_for_url("**/gates/**")
    expect(page.locator("#state")).to_have_text("live")
    page.get_by_role("button", name="Describe issues").click()
    assert world.gate(id)["answer"] is None
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#answered")).to_be_visible()


def test_narrow_screens_keys_and_accessibility(world: World, opens: Opens) -> None:
    world.start("Secondary-A")
    world.beat("Secondary-A", "x" * 300)
    world.silence("Secondary-D")
    world.alert()
    picture = world.root / "dashboard.png"
    picture.write_bytes(DOT)
    world.decide(holds="y" * 200, attach=[str(picture)])
    page = opens(viewport={"width": 380, "height": 700})
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= 380
    page.locator("summary", has_text="Decide").click()
    accessible(page)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/gates/store")
    expect(page.locator("#state")).to_have_text("live")
    assert page.evaluate(wide) <= 380
    shown = page.get_by_role("img", name="dashboard.png")
    shown.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.pictures img').naturalWidth > 0")
    accessible(page)
    page.keyboard.press("g")
    page.keyboard.press("b")
    page.wait_for_url("**/board")


# A page that waits for seconds waits for a twentieth of them.
HURRIED = """(() => {
  const real = window.setTimeout;
  window.setTimeout = (act, delay, ...words) => real(act, delay / 20, ...words);
})()"""


def test_a_page_finds_its_server_again(world: World, blank: Page) -> None:
    """A server that was started anew knows no session: the page says so, and does not go blank."""
    world.verify()
    blank.add_init_script(HURRIED)
    with Serving([str(world.root)]) as serving:
        port = serving.address.port
        blank.goto(serving.link())
        expect(blank.locator("#state")).to_have_text("live")
        expect(blank.locator("#lost")).to_be_hidden()
    expect(blank.locator("#state")).to_have_text("connecting…")
    lost = blank.locator("#lost")
    expect(lost).to_be_visible()
    expect(lost).to_contain_text("The server of this page cannot be reached. It was last there at")
    with Serving([str(world.root)], port=port):
        expect(lost).to_be_hidden()
        expect(blank.locator("#state")).to_contain_text("signed out")
        expect(blank.get_by_text("Dashboard")).to_be_visible()
