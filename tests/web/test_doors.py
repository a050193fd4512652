"""Who comes in, and who does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.gates.answer import refused_attempts
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from holdfast.web.access import IDLE_SECONDS, LINK_SECONDS, TRIES, SignIns
from holdfast.web.urls import Address, safe_link
from tests.web.world import ADDRESS, Visitor, World


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_works_once(stranger: Visitor) -> None:
    link = f"/sign-in?token={stranger.server.sign_ins.link('/dev/pts/7')}"
    first = stranger.get(link)
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/board").status_code == 200
    stranger.client.cookies.clear()
    assert stranger.get(link).status_code == 403
    assert stranger.get("/board").status_code == 401


def test_a_new_link_ends_the_one_before_it(stranger: Visitor) -> None:
    old, new = (stranger.server.sign_ins.link("/dev/pts/7") for _ in range(2))
    assert stranger.get(f"/sign-in?token={old}").status_code == 403
    assert stranger.get(f"/sign-in?token={new}").status_code == 200


def test_links_and_sessions_grow_old() -> None:
    clock = Clock()
    doors = SignIns(clock)
    late, token = doors.link("/dev/pts/7"), ""
    clock.now += LINK_SECONDS
    assert doors.enter(late, "here") is None
    token = doors.enter(doors.link("/dev/pts/7"), "here") or ""
    clock.now += IDLE_SECONDS
    assert doors.session(token) is not None  # and seen, so that it lasts
    clock.now += IDLE_SECONDS + 1
    assert doors.session(token) is None


def test_an_address_that_guesses_has_to_wait_and_then_may_try_again() -> None:
    clock = Clock()
    doors = SignIns(clock)
    for _ in range(TRIES):
        assert doors.wait("here") == 0
        assert doors.enter("wrong", "here") is None
    assert doors.wait("here") > 0
    assert doors.wait("elsewhere") == 0
    clock.now += doors.wait("here")
    assert doors.wait("here") == 0


def test_guessing_is_answered_with_429(stranger: Visitor) -> None:
    for _ in range(TRIES):
        assert stranger.get("/sign-in?token=wrong").status_code == 403
    for _ in range(2):
        answer = stranger.get("/sign-in?token=wrong")
        assert (answer.status_code, "retry-after" in answer.headers) == (429, True)


def test_a_visitor_with_a_link_comes_in_however_many_guessed(stranger: Visitor) -> None:
    """Anybody on the machine has the same address as the person."""
    for _ in range(TRIES + 5):
        stranger.get("/sign-in?token=wrong")
    link = stranger.server.sign_ins.link("/dev/pts/7")
    assert stranger.get(f"/sign-in?token={link}").status_code == 200
    assert stranger.get("/board").status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/board", "/board.json", "/board.events", "/records.events", "/w/x/gates/y"]
)
def test_nothing_is_shown_to_a_visitor_who_did_not_sign_in(stranger: Visitor, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert stranger.server.site.place(next(iter(stranger.server.site)).key).root not in answer.text


def test_a_stranger_answers_nothing_and_the_attempt_is_recorded(
    world: World, stranger: Visitor
) -> None:
    id = world.verify()
    answer = stranger.send(f"/w/{world.key}/gates/{id}", csrf="guessed", answer="approved")
    assert answer.status_code == 401
    assert world.gate(id)["answer"] is None
    (attempt,) = refused_attempts(world.workspace, id)
    assert attempt["why"] == "no person signed in to the page"


def test_attempts_do_not_fill_the_journal(world: World, stranger: Visitor) -> None:
    id = world.verify()
    for _ in range(30):
        stranger.send(f"/w/{world.key}/gates/{id}", csrf="guessed", answer="approved")
    assert len(world.workspace.journal.read("people:workspace")) <= 10


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:4653", ""]
)
def test_another_name_for_this_address_is_refused(visitor: Visitor, host: str) -> None:
    """Another person's page, whose name server says that it is here, gets nothing."""
    assert visitor.get("/board", host=host).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:4654"])
def test_what_another_page_sends_is_refused(world: World, visitor: Visitor, origin: str) -> None:
    id = world.verify()
    answer = visitor.send(f"/w/{world.key}/gates/{id}", origin=origin, answer="approved")
    assert answer.status_code == 403
    assert world.gate(id)["answer"] is None


def test_what_names_no_origin_at_all_is_refused(world: World, visitor: Visitor) -> None:
    id = world.verify()
    fields = {"csrf": visitor.token(), "answer": "approved"}
    answer = visitor.client.post(f"/w/{world.key}/gates/{id}", data=fields)
    assert answer.status_code == 403
    assert world.gate(id)["answer"] is None


@pytest.mark.parametrize("csrf", ["", "wrong", "é"])
def test_a_change_needs_the_token_of_its_session(world: World, visitor: Visitor, csrf: str) -> None:
    id = world.verify()
    answer = visitor.send(f"/w/{world.key}/gates/{id}", csrf=csrf, answer="approved")
    assert answer.status_code == 403
    assert world.gate(id)["answer"] is None


def test_each_person_has_a_token_of_their_own(world: World, visitor: Visitor) -> None:
    first = visitor.token()
    visitor.client.cookies.clear()
    visitor.sign_in()
    assert visitor.token() != first
    id = world.verify()
    answer = visitor.send(f"/w/{world.key}/gates/{id}", csrf=first, answer="approved")
    assert answer.status_code == 403


def test_signing_out(visitor: Visitor) -> None:
    cookies = dict(visitor.client.cookies)
    assert visitor.send("/sign-out").status_code == 303
    visitor.client.cookies.update(cookies)
    assert visitor.get("/board").status_code == 401


@pytest.mark.parametrize("path", ["/board", "/sign-in", "/nowhere", "/static/page.css"])
def test_every_answer_forbids_what_no_page_needs(visitor: Visitor, path: str) -> None:
    headers = visitor.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_no_page_has_script_or_style_in_it(world: World, visitor: Visitor) -> None:
    id = world.verify()
    for path in ("/board", f"/w/{world.key}/gates/{id}", "/sign-in", "/nowhere"):
        text = visitor.get(path).text
        assert not re.search(r"<script(?! src=)|<style|\son\w+=|style=", text), path


def test_the_cookie_is_for_encrypted_ways_only_where_there_is_one(world: World) -> None:
    secure = Address("https", "board.example.org", 443)
    with Visitor([str(world.root)], secure) as visitor:
        answer = visitor.get(f"/sign-in?token={visitor.server.sign_ins.link('x')}")
        assert "secure" in answer.headers["set-cookie"].lower()


OWN = Address("http", "3f2a9c0d1e4b5a67.localhost", 4653)


@pytest.mark.parametrize(
    ("url", "followed"),
    [
        ("http://localhost:3000/x", "http://localhost:3000/x"),
        ("http://127.0.0.1:3000/x?y", "http://localhost:3000/x?y"),
        ("https://example.org/", "https://example.org/"),
        ("http://[2001:db8::1]:3000/", "http://[2001:db8::1]:3000/"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("http://[::1", ""),
        ("http://x:99999/", ""),
    ],
)
def test_a_link_of_an_agent_never_leads_to_the_pages_own_host(url: str, followed: str) -> None:
    """A browser would send the page's cookie to whatever listens there."""
    assert safe_link(url, ADDRESS) == followed


@pytest.mark.parametrize(
    "host",
    [
        *split_words("127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 127.0.0.01 127.0.0.1."),
        *split_words("127.0.1. 2130706433. 0x7f.1. 127.0.0.%31 127.0.0.1%2e %6cocalhost"),
        "①②⑦.0.0.1",
        "127。0。0。1",
        "１２７.0.0.1",
        "127.0.0.1\\.example.com",
        "ex_ample.org",
        *split_words("user@example.org @127.0.0.1 [::ffff:127.0.0.1]"),
        "[0:0:0:0:0:0:0:1]",
        "[::1%25lo]",
        "exa\tmple.org",
        "example.org.",
        "-x.org",
        "x..org",
    ],
)
def test_a_host_that_is_written_otherwise_is_no_link(host: str) -> None:
    for own in (ADDRESS, OWN):
        assert safe_link(f"http://{host}:9999/a1", own) == ""


def test_a_link_to_the_pages_own_name_is_none() -> None:
    assert safe_link("http://3f2a9c0d1e4b5a67.localhost:9999/", OWN) == ""
    assert safe_link("http://3F2A9C0D1E4B5A67.LOCALHOST:9999/", OWN) == ""
    assert safe_link("http://127.0.0.1:9999/", OWN) == "http://127.0.0.1:9999/"


def test_what_is_shown_of_a_link_is_where_it_leads(world: World, visitor: Visitor) -> None:
    id = world.verify(url="http://127.0.0.1:3000/x")
    text = visitor.get(f"/w/{world.key}/gates/{id}").text
    assert re.search(r'<a href="(http://localhost:3000/x)"[^>]*>\1</a>', text)
    other = world.verify(name="other", url="http://127.0.0.%31:9999/x")
    text = visitor.get(f"/w/{world.key}/gates/{other}").text
    assert "http://127.0.0.%31:9999/x" in text
    assert 'href="http://' not in text


def test_the_page_has_a_name_that_only_the_terminal_was_told(world: World) -> None:
    with Visitor([str(world.root)], OWN) as visitor:
        answer = visitor.get("/board", host="127.0.0.1:4653")
        assert answer.status_code == 421
        assert OWN.host not in answer.text


def test_the_page_knows_no_path_outside_of_its_folder(visitor: Visitor) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"):
        assert visitor.get(path).status_code in (404, 405)


def test_two_workspaces_of_one_name_have_two_keys(tmp_path: Path, world: World) -> None:
    from holdfast.web.workspaces import Site

    other = tmp_path / "x" / "repository"
    (other / ".holdfast").mkdir(parents=True)
    assert [place.key for place in Site([str(world.root), str(other)])] == [
        "repository",
        "repository-2",
    ]
    assert len(Site([str(world.root), str(world.root)])) == 1
    assert discover(str(other)).root == str(other)
