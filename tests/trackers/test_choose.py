"""Which tracker an issue belongs to, and what is no issue at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from holdfast.kernel.errors import Usage
from holdfast.trackers.port import TrackerError, check_issue
from holdfast.trackers.selection import tracker_for
from tests.trackers.fake_github import FakeGitHub
from tests.trackers.fake_linear import FakeLinear
from tests.trackers.fixtures import soon

KEYS = {"LINEAR_API_KEY": "one", "GITHUB_TOKEN": "two"}
HOSTILE = [
    "ENG-1; rm -rf /",
    "ENG-1\n",
    "ENG-1\nX-Header: y",
    "ENG-$(id)",
    "`id`",
    "../../etc/passwd",
    "ENG-1/../../user",
    "ENG-1?x=y",
    "eng-1",
    "ENG-",
    "ENG-0",
    "ENG-١٢",
    "ENG-" + "1" * 300,
    "A" * 300 + "-1",
    "#",
    "#0",
    "#1 ",
    "#99999999999",
    "owner/#1",
    "/repo#1",
    "owner/..#1",
    "owner/.#1",
    "own er/repo#1",
    "owner/repo/more#1",
    "owner/re%2fpo#1",
    "-owner/repo#1",
    "o" * 300 + "/repo#1",
    "owner/" + "r" * 300 + "#1",
    "ENG-1\u202e",
    "\x00",
    " ",
]


@pytest.mark.parametrize(
    ("issue", "kind"),
    [
        ("ENG-12", "linear"),
        ("A1B-1", "linear"),
        ("#12", "github"),
        ("owner/repo#12", "github"),
        ("o-w-n-e-r/re.po_x-y#1", "github"),
    ],
)
def test_the_shape_says_which(issue: str, kind: str) -> None:
    assert check_issue(issue) == kind
    tracker = tracker_for(issue, {"tracker.github_repository": "o/r"}, KEYS)
    assert tracker is not None
    assert tracker.name.lower() == kind


@pytest.mark.parametrize("issue", HOSTILE)
def test_a_hostile_issue_is_refused_in_one_printable_line(issue: str) -> None:
    with pytest.raises(Usage) as refused:
        tracker_for(issue, {}, KEYS)
    assert refused.value.kind == "bad_issue"
    assert refused.value.message.isprintable()
    assert len(refused.value.message) < 200
    assert "ENG-123" in refused.value.hint


@given(some.text(max_size=400))
def test_any_text_is_an_issue_or_refused(text: str) -> None:
    try:
        kind = check_issue(text)
    except Usage as refused:
        kind = refused.kind if refused.message.isprintable() else refused.message
    assert kind in ("linear", "github", "bad_issue")
    assert kind == "bad_issue" or not set(text) & set(" \t\r\n;&|$`'\"\\<>(){}?%")


@pytest.mark.parametrize(
    ("issue", "settings", "environment"),
    [
        ("", {}, KEYS),
        ("ENG-12", {"tracker.kind": "none"}, KEYS),
        ("ENG-12", {}, {}),
        ("ENG-12", {}, {"GITHUB_TOKEN": "two"}),
        ("#12", {"tracker.github_repository": "o/r"}, {"LINEAR_API_KEY": "one"}),
        ("#12", {}, {}),
    ],
)
@pytest.mark.clause("AMB-CCC-05")
def test_what_is_not_set_up_is_skipped(
    issue: str, settings: dict[str, Any], environment: dict[str, str]
) -> None:
    assert tracker_for(issue, settings, environment) is None


@pytest.mark.parametrize("variable", ["GITHUB_TOKEN", "GH_TOKEN"])
def test_github_has_two_variables(variable: str) -> None:
    assert tracker_for("o/r#1", {}, {variable: "two"}) is not None


def test_a_variable_of_ones_own_and_a_command() -> None:
    assert tracker_for("ENG-1", {"tracker.key_variable": "MINE"}, {"MINE": "one"}) is not None
    settings = {"tracker.key_command": "/bin/echo one"}
    assert tracker_for("ENG-1", settings, {}, deadline=soon()) is not None
    with pytest.raises(TrackerError, match="the key command took too long"):
        tracker_for("ENG-1", {"tracker.key_command": "sleep 60"}, {}, deadline=soon(-1))


@pytest.mark.parametrize(
    ("issue", "settings", "message"),
    [
        ("ENG-1", {"tracker.kind": "github"}, "ENG-1 is not an issue of github"),
        ("#1", {"tracker.kind": "linear"}, "#1 is not an issue of linear"),
        ("ENG-1", {"tracker.kind": "jira"}, "tracker.kind is 'jira'"),
        ("#1", {}, "Which repository is #1 in"),
        ("#1", {"tracker.github_repository": "../x"}, "'../x' is not a repository"),
    ],
)
def test_settings_that_do_not_fit_are_named(
    issue: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(Usage, match=message):
        tracker_for(issue, settings, KEYS)


@pytest.mark.parametrize("setting", ["tracker.linear_url", "tracker.github_url"])
def test_a_committed_file_cannot_send_the_key_elsewhere(setting: str) -> None:
    issue = "ENG-1" if "linear" in setting else "o/r#1"
    address = "https://tracker.example.com/api"
    with pytest.raises(TrackerError, match="another host than the vendor's") as refused:
        tracker_for(issue, {setting: address}, KEYS)
    variable = "HOLDFAST_" + setting.replace(".", "_").upper()
    assert f"{variable}={address}" in refused.value.hint
    assert tracker_for(issue, {setting: address}, {**KEYS, variable: address}) is not None


@pytest.mark.parametrize(
    "address",
    [
        "http://api.linear.app/graphql",
        "http://127.0.0.1.example.com/",
        "ftp://localhost/",
        "https://user:password@api.linear.app/graphql",
        "https://",
        "https://api.linear.app:port/",
        "https://api.linear.app/\ngraphql",
        "api.linear.app",
        "https://[::1",
    ],
)
def test_an_address_that_is_none_or_not_safe_is_refused(address: str) -> None:
    environment = {**KEYS, "HOLDFAST_TRACKER_LINEAR_URL": address}
    with pytest.raises(TrackerError) as refused:
        tracker_for("ENG-1", {"tracker.linear_url": address}, environment)
    assert refused.value.kind == "tracker_refused"
    assert "password@" not in str(refused.value) + refused.value.hint


def test_the_servers_lead_trackers_to_themselves(
    linear_server: FakeLinear, github_server: FakeGitHub
) -> None:
    for server, issue in ((linear_server, "ENG-12"), (github_server, "#12")):
        tracker = tracker_for(issue, server.settings(), server.environment())
        assert tracker is not None
        receipt = tracker.upsert(issue, "body", comment="", key="key", deadline=soon())
        assert receipt["created"]
