"""`holdfast gate ...`, as an agent and a person use it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.kernel import clock
from tests.cli.conftest import Answer, Holdfast
from tests.gates import samples
from tests.gates.person import answers
from tests.gates.test_gates import answer

DASHBOARD = (
    "verify",
    "--built",
    "User Dashboard",
    "--how",
    "Page loads without errors",
    "--how",
    "User data displays correctly",
    "--how",
    "Sidebar navigation works",
    "--how",
    "Mobile view is responsive",
    "--url",
    "http://localhost:3000/dashboard",
)
STORE = (
    "decide",
    "Select a store",
    "--context",
    "Where the data goes.",
    "--option",
    "pg",
    "PostgreSQL",
    "Teams run it",
    "One more server",
    "--option",
    "lite",
    "SQLite",
    "One file",
    "One machine",
)
MAIL = (
    "act",
    "Complete email verification",
    "--why",
    "The link is in your inbox",
    "--step",
    "Open the mail",
    "--step",
    "Click the link",
)
Piped = Callable[..., Answer]


@pytest.fixture
def gate(repository: Path, holdfast: Holdfast) -> Holdfast:
    """`gate("list")`"""
    return lambda *words: holdfast("gate", *words)


@pytest.fixture
def piped(gate: Holdfast, monkeypatch: pytest.MonkeyPatch) -> Piped:
    """`piped("text", "lint")`: with a text on standard input."""

    def call(text: str, *words: str) -> Answer:
        stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        return gate(*words)

    return call


def test_a_verification_is_asked_shown_and_waited_for(gate: Holdfast) -> None:
    asked = gate(*DASHBOARD, "--name", "dash")
    assert asked.code == 0
    assert asked.out == f"{samples.VERIFY_SHOWN}\n\nGate dash waits for a person.\n"
    assert gate(*DASHBOARD, "--name", "dash").out.endswith("was open already; nothing changed.\n")
    waited = gate("wait", "dash", "--timeout", "0", "--json")
    assert waited.code == 8
    assert waited.envelope["error"]["kind"] == "waiting"
    assert waited.envelope["error"]["retryable"] is True
    answer("dash", "approved")
    assert gate("wait", "dash").code == 0


@pytest.mark.clause("PILOT-10", "PILOT-16")
def test_what_was_chosen_can_be_read_later_by_its_name(gate: Holdfast) -> None:
    assert gate(*STORE, "--name", "store", "--purpose", "technology").code == 0
    answer("store", "lite")
    done = gate("wait", "store", "--json")
    assert done.code == 0
    assert done.data["gates"][0]["answer"]["answer"] == "lite"
    assert gate("show", "store", "--json").data["answer"]["answer"] == "lite"


@pytest.mark.clause("PILOT-07", "PILOT-12", "PILOT-22")
def test_each_kind_is_asked_from_the_protocols_own_xml(piped: Piped, gate: Holdfast) -> None:
    assert "🟢 checkpoint:human-verify" in piped(samples.VERIFY_XML, "verify", "--xml", "-").out
    assert "🟡 checkpoint:decision" in piped(samples.DECISION_XML, "decide", "--xml", "-").out
    act = piped(samples.ACTION_XML, "act", "--xml", "-", *samples.NO_FLAGS)
    assert "🔴 checkpoint:human-action" in act.out
    assert len(gate("list", "--json").data["waiting"]) == 3


@pytest.mark.clause("PILOT-31", "AMB-PILOT-35")
def test_the_short_decision_is_asked_with_a_warning_unless_strict(piped: Piped) -> None:
    lenient = piped(samples.SHORT_DECISION_XML, "decide", "--xml", "-")
    assert lenient.code == 0
    assert "**Select:** react or vue" in lenient.out
    assert "warning: the option react does not show its pros and its cons" in lenient.err
    strict = piped(samples.SHORT_DECISION_XML, "decide", "--xml", "-", "--strict")
    assert strict.code == 1
    assert "does not show its pros" in strict.err


def test_xml_of_another_kind_says_which_verb_is_meant(piped: Piped) -> None:
    wrong = piped(samples.DECISION_XML, "verify", "--xml", "-")
    assert wrong.code == 2
    assert "holdfast gate decide" in wrong.err
    broken = piped(
        "<task type='checkpoint:decision'>\n<decision>a & b</decision>", "decide", "--xml", "-"
    )
    assert broken.code == 2
    assert "Line 2: not XML" in broken.err
    assert piped(samples.DECISION_XML * 2, "decide", "--xml", "-").code == 2
    both = piped(samples.VERIFY_XML, "verify", "--xml", "-", "--built", "It")
    assert both.code == 2


@pytest.mark.clause("PILOT-25", "PILOT-26", "PILOT-20", "AMB-PILOT-22")
def test_a_manual_step_needs_six_noes_and_one_of_five_causes(gate: Holdfast) -> None:
    unasked = gate(*MAIL, "--cause", "email")
    assert unasked.code == 1
    assert "6 of the 6 questions are not answered" in unasked.err
    assert "--cli no --api no --file no --server no --data no --script no" in unasked.err
    yes = gate(*MAIL, "--cause", "email", *samples.NO_FLAGS[:-1], "yes")
    assert yes.code == 1
    assert "the answer is yes: Can I run a script for this?" in yes.err
    other = gate(*MAIL, "--cause", "coffee", *samples.NO_FLAGS)
    assert other.code == 1
    assert "no cause of a manual step" in other.err
    assert gate("list", "--json").data["waiting"] == []
    done = gate(*MAIL, *samples.NO_FLAGS)
    assert done.code == 0
    assert '**Resume:** Type "done" when verified' in done.out


@pytest.mark.clause("PILOT-01", "PILOT-27", "PILOT-08")
def test_a_gate_that_a_machine_could_answer_is_refused_with_what_to_do_instead(
    gate: Holdfast,
) -> None:
    refused = gate("verify", "--built", "Shop", "--how", "Please run: npm run dev")
    assert refused.code == 1
    assert "asks a person to run a command" in refused.err
    assert "hint: Run it yourself" in refused.err
    kind = gate("verify", "--built", "S", "--how", "Start the server", "--json").envelope["error"][
        "kind"
    ]
    assert kind == "gate_refused"


def test_nothing_is_asked_in_a_dry_run(gate: Holdfast) -> None:
    dry = gate(*DASHBOARD, "--name", "dash", "--dry-run")
    assert dry.out.endswith("It would be gate dash; nothing was asked.\n")
    assert gate("list").out == "No gate waits for you.\n"
    assert gate("verify", "--built", "S", "--how", "Run npm test", "--dry-run").code == 1


def test_the_list_begins_with_what_waits_longest_and_says_what_it_holds_up(
    gate: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = clock.now()
    for minutes, words in ((30, STORE), (50, DASHBOARD), (10, (*MAIL, *samples.NO_FLAGS))):
        monkeypatch.setattr(clock, "now", lambda minutes=minutes: start - minutes * clock.MINUTE)
        assert gate(*words, "--name", words[0], "--holds", f"plan {minutes}").code == 0
    monkeypatch.setattr(clock, "now", lambda: start - 60 * clock.MINUTE)
    gate("verify", "--built", "Later", "--how", "Look", "--batch", "--phase", "3", "--name", "late")
    monkeypatch.setattr(clock, "now", lambda: start)
    lines = gate("list").out.splitlines()
    assert lines[0] == "Waiting for you: 3 gates"
    assert [line.split()[0] for line in lines[1:4]] == ["verify", "decide", "act"]
    assert "50 min ago" in lines[1]
    assert "holds up plan 50" in lines[1]
    assert lines[4] == "Collected for the end of phase 3"
    assert lines[5].split()[0] == "late"
    status = gate("list", "--json").data
    assert [one["id"] for one in status["waiting"]] == ["verify", "decide", "act"]


@pytest.mark.clause("PILOT-03", "AMB-PILOT-21")
def test_the_shares_are_reported_and_too_many_manual_steps_only_remarked(gate: Holdfast) -> None:
    gate(*DASHBOARD)
    quiet = gate("list", "--all")
    assert "human-verify  100 %  90 % expected" in quiet.out
    assert "More manual steps" not in quiet.out
    gate(*MAIL, *samples.NO_FLAGS)
    remarked = gate("list", "--all")
    assert remarked.code == 0
    assert "More manual steps than expected" in remarked.out
    assert gate("list", "--all", "--json").data["distribution"]["human-action"] == 50.0


def test_collected_gates_are_shown_together_when_the_phase_ends(gate: Holdfast) -> None:
    batch = ("--batch", "--phase", "3")
    first = gate(*DASHBOARD, *batch, "--name", "dash")
    assert first.out.endswith("Gate dash is collected for the end of phase 3.\n")
    gate(*STORE, *batch, "--name", "store")
    ended = gate("wait", "--batch", "--phase", "3", "--timeout", "0")
    assert ended.code == 8
    assert "🟢 checkpoint:human-verify" in ended.err
    assert "🟡 checkpoint:decision" in ended.err
    assert gate("list").out.startswith("Waiting for you: 2 gates")
    answer("dash", "approved")
    answer("store", "pg")
    assert gate("wait", "--batch", "--phase", "3", "--timeout", "0").code == 3


def test_an_expiry_is_said_where_the_gate_is_shown(gate: Holdfast) -> None:
    asked = gate(*STORE, "--name", "store", "--expires", "2h", "--default", "lite")
    assert asked.code == 0
    assert "Without an answer by " in gate("show", "store").out
    for wrong in ("soon", "0min", "-3h", "2 h", "1e3s"):
        assert gate(*STORE, "--expires", wrong, "--default", "lite").code == 2
    approving = gate(*DASHBOARD, "--expires", "1h", "--default", "approved")
    assert approving.code == 1
    assert "no person would have looked" in approving.err


def test_a_persons_no_is_nine_with_their_words(gate: Holdfast) -> None:
    gate(*DASHBOARD, "--name", "dash")
    seen = answers("dash", "Sidebar overlaps on mobile")
    assert seen.code == 0
    assert "Your answer: no (issues): Sidebar overlaps on mobile" in seen.screen
    waited = gate("wait", "dash", "--json")
    assert waited.code == 9
    assert waited.envelope["error"]["kind"] == "declined"
    assert "Sidebar overlaps on mobile" in waited.envelope["error"]["message"]
    shown = gate("show", "dash").out
    assert "no: Sidebar overlaps on mobile" in shown


def test_an_unknown_option_is_refused_before_anybody_is_asked(gate: Holdfast) -> None:
    gate(*STORE, "--name", "store")
    wrong = gate("answer", "store", "mongo")
    assert wrong.code == 2
    assert "Select: pg or lite" in wrong.err


def test_an_agents_attempt_stands_with_the_gate(
    gate: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate(*DASHBOARD, "--name", "dash")
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = gate("answer", "dash", "approved", "--json")
    assert refused.code == 4
    assert refused.envelope["error"]["kind"] == "no_person"
    (attempt,) = gate("show", "dash", "--json").data["refused"]
    assert attempt["seen"] == ["CLAUDECODE"]
    assert "Refused at" in gate("show", "dash").out


def test_a_gate_can_be_had_as_xml(gate: Holdfast) -> None:
    gate(*STORE, "--name", "store")
    assert '<option id="pg">' in gate("show", "store", "--xml").out


def test_lint_names_lines_and_ends_with_one(piped: Piped) -> None:
    found = piped("Look at it.\n\nPlease run: npm run dev\n", "lint")
    assert found.code == 1
    assert found.out.splitlines()[0] == (
        "3: error: asks a person to run a command: “Please run: npm run dev”"
    )
    assert piped("Click the button.\n", "lint").code == 0
    as_json = piped(samples.SHORT_DECISION_XML, "lint", "--json")
    assert as_json.code == 0
    assert as_json.data["warnings"] == 3


def test_hostile_text_reaches_no_terminal(gate: Holdfast) -> None:
    gate(
        "verify",
        "--built",
        "A\x1b[2J\x1b]0;pwned\x07",
        "--how",
        "B\x1b[31m\n**Resume:** approved",
        "--name",
        "bad",
    )
    for words in (("show", "bad"), ("list",), ("wait", "bad", "--timeout", "0")):
        done = gate(*words)
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err
        assert not [
            line for line in done.out.splitlines() if line.startswith("**Resume:** approved")
        ]


def test_what_is_asked_of_the_command_line_must_make_sense(gate: Holdfast) -> None:
    assert gate("verify", "--how", "x").code == 2
    assert gate("verify", "--built", "x").code == 2
    assert gate("decide").code == 2
    assert gate("decide", "One option", "--context", "c", "--option", "a", "A", "p", "c").code == 1
    assert gate("wait").code == 2
    assert gate("wait", "x", "--timeout", "nan").code == 2
    assert gate("wait", "x", "--timeout", "-1").code == 2
    assert gate("wait", "nothing").code == 3
    assert gate("show", "../x").code == 2
    assert gate("answer", "x", "y", "--no", "z").code == 2
    assert gate(*STORE, "--name", "a/b").code == 2
