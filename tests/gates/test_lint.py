"""The automation-first rule: what a machine can do is not asked of a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.gates.rules import content as words
from holdfast.gates.rules.gate import refuse_unfit
from holdfast.gates.rules.lint import findings, lint
from holdfast.kernel.errors import HoldfastError
from tests.gates import samples
from tests.gates.samples import NO_TO_ALL


def clauses(text: str) -> list[str]:
    return [one["clause"] for one in lint(text) if one["level"] == "error"]


@pytest.mark.clause("PILOT-27", "PILOT-01")
@pytest.mark.parametrize(
    "text",
    [
        "Please run: npm run dev",
        "Run `make migrate` and tell me what it says",
        "Open your terminal and type pytest -q",
        "1. Run the following command: docker compose up",
        "Then execute ./setup.sh",
        "You need to run the tests",
        "Install it: npm install left-pad",
        "$ npm run dev",
    ],
)
def test_nobody_is_asked_to_run_a_command(text: str) -> None:
    assert clauses(text) == ["PILOT-27"]
    (found,) = lint(text)
    assert "Run it yourself" in found["instead"]


@pytest.mark.clause("PILOT-28", "PILOT-21")
@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("Please create a file at src/config.ts with:", "PILOT-28"),
        ("Create src/config.ts", "PILOT-28"),
        ("Add the file .env.local", "PILOT-28"),
        ("Edit config/settings.toml and set the port", "PILOT-21"),
        ("Set the environment variable API_KEY", "PILOT-21"),
    ],
)
def test_nobody_is_asked_to_write_a_file_or_to_configure(text: str, clause: str) -> None:
    assert clauses(text) == [clause]
    assert "yourself" in lint(text)[0]["instead"]


@pytest.mark.clause("PILOT-29")
@pytest.mark.parametrize(
    "text",
    [
        'Please create a PostgreSQL database called "myapp"',
        "Set up the database first",
        "Run the migrations",
    ],
)
def test_nobody_is_asked_to_set_up_a_database(text: str) -> None:
    assert clauses(text) == ["PILOT-29"]
    assert "command line" in lint(text)[0]["instead"]


@pytest.mark.clause("PILOT-21")
@pytest.mark.parametrize(
    "text",
    [
        "Change the configuration in config.yaml",
        "Set DEBUG=1 in the .env file",
        "git push",
        "git push origin main",
        "Deploy to production",
        "Please deploy the new version",
        "Push the branch to origin",
        "Merge the pull request",
        "Publish the package to npm",
        "Update the port in settings/prod.json",
        "Put the key into the environment variables",
        "docker compose up",
        "make deploy",
    ],
)
def test_no_person_does_what_a_machine_can_as_a_manual_step(text: str) -> None:
    content = words.action(
        text,
        ["Open the consent page", "Click Allow"],
        why="The OAuth consent screen opens in a browser",
        cause="oauth",
        checklist=dict.fromkeys(words.QUESTIONS, False),
    )
    assert [one["clause"] for one in findings(content)] in (["PILOT-21"], ["PILOT-27"])
    step = {**content, "title": "Give consent", "items": [text]}
    assert [one["clause"] for one in findings(step)] in (["PILOT-21"], ["PILOT-27"])  # type: ignore[arg-type]
    with pytest.raises(HoldfastError, match="Not a gate"):
        refuse_unfit(content, strict=True)


@pytest.mark.clause("PILOT-30")
@pytest.mark.parametrize(
    "text",
    [
        "Should I use React or Vue?",
        "Please choose and let me know.",
        "Which of these libraries do you prefer?",
        "Would you prefer tabs or spaces?",
    ],
)
def test_a_choice_is_no_free_question(text: str) -> None:
    assert clauses(text) == ["PILOT-30"]
    assert "holdfast gate decide" in lint(text)[0]["instead"]


@pytest.mark.clause("PILOT-08")
@pytest.mark.parametrize(
    "text",
    [
        "Start the dev server",
        "Please restart your backend",
        "Create a few test users",
        "Add some sample data to the table",
    ],
)
def test_the_person_only_looks(text: str) -> None:
    content = words.verify("Shop", [text], url="http://localhost:3000")
    assert [one["clause"] for one in findings(content)] == ["PILOT-08"]


@pytest.mark.clause("PILOT-08")
def test_an_address_to_look_at_is_missed() -> None:
    (missing,) = findings(words.verify("Shop", ["The total is right"]))
    assert (missing["level"], missing["clause"]) == ("warning", "PILOT-08")
    assert not findings(words.verify("Shop at http://localhost:1", ["The total is right"]))


@pytest.mark.parametrize(
    "text",
    [
        "Visit http://localhost:3000/dashboard and verify:",
        'Click "Settings" - modal opens',
        "Desktop (>1024px): sidebar visible, cards display data",
        "The tests run in under a minute",
        "The server was started with `npm run dev`",
        "I ran `pytest` and it passed",
        "User never runs `npm run dev`",
        "You do not have to run anything",
        "Press the Run button: the report opens",
        "Fill in the form and create a task; it appears in the list",
        'Type "approved" or describe issues',
        "Enter `ada@example.invalid` into the form",
        "# Run the migrations",
        "Check your inbox for email from SendGrid",
        "Return here when done",
        "The database has three tables",
        "Open the settings page and change the theme",
        "Push the button on the board",
        "Go to the page and make sure that the total is right",
        "Git is configured, and the deploy button is grey",
        "Set the volume to 3 and listen",
    ],
)
def test_what_a_person_can_only_do_themselves_is_let_through(text: str) -> None:
    assert lint(text) == []


def test_the_commands_of_a_shell_are_not_asked_of_anybody() -> None:
    assert lint("```bash\nnpm run dev &\ncreatedb myapp\nWrite src/config.ts\n```") == []
    assert clauses("```markdown\nPlease run: npm run dev\n```") == ["PILOT-27"]


@pytest.mark.clause("PILOT-13")
@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("name", "PostgreSQL (recommended)"),
        ("pros", "We recommend this"),
        ("pros", "The obvious choice"),
        ("cons", "None, it is the best option"),
        ("context", "I'd go with PostgreSQL."),
        ("name", "PostgreSQL (default)"),
    ],
)
def test_no_option_is_pushed(part: str, text: str) -> None:
    option = {**samples.BOTH[0], **({part: text} if part != "context" else {})}
    context = text if part == "context" else "Where the data goes."
    content = words.decision("Select a store", [option, samples.BOTH[1]], context=context)  # type: ignore[list-item]
    found = [one["clause"] for one in findings(content) if one["level"] == "error"]
    assert found == ["PILOT-13"]


@pytest.mark.clause("PILOT-13", "PILOT-14", "PILOT-15")
def test_the_protocols_own_decision_is_balanced_and_complete() -> None:
    assert lint(samples.DECISION_XML, strict=True) == []


@pytest.mark.clause("PILOT-14", "PILOT-15", "PILOT-31", "AMB-PILOT-35")
def test_the_short_form_is_accepted_and_refused_where_the_full_one_is_wanted() -> None:
    lenient = lint(samples.SHORT_DECISION_XML)
    assert [(one["line"], one["clause"], one["level"]) for one in lenient] == [
        (2, "PILOT-14", "warning"),
        (4, "PILOT-15", "warning"),
        (5, "PILOT-15", "warning"),
    ]
    strict = lint(samples.SHORT_DECISION_XML, strict=True)
    assert {one["level"] for one in strict} == {"error"}


@pytest.mark.clause("PILOT-15")
@pytest.mark.parametrize("missing", ["pros", "cons"])
def test_an_option_with_only_one_side_is_refused(missing: str) -> None:
    option = {**samples.BOTH[0], missing: ""}
    content = words.decision("Select a store", [option, samples.BOTH[1]], context="Why.")  # type: ignore[list-item]
    with pytest.raises(HoldfastError, match="pros and its cons"):
        refuse_unfit(content, strict=False)


def test_the_example_of_the_how_to_is_a_good_gate() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/gates.md").read_text(encoding="utf-8")
    xml = page.partition("```xml\n")[2].partition("```")[0]
    assert lint(xml, strict=True) == []


def act(**changes: object) -> words.Content:
    content = words.action(
        "Complete email verification",
        ["Check your inbox", "Click the verification link"],
        why="The link is in your inbox",
        cause="email",
        checklist=NO_TO_ALL,
    )
    content.update(changes)  # type: ignore[typeddict-item]
    return content


@pytest.mark.clause("PILOT-25", "AMB-PILOT-22", "PILOT-19")
def test_the_six_questions_are_asked_before_a_manual_step() -> None:
    assert list(words.QUESTIONS.values()) == [
        "Can I do this with a CLI command?",
        "Can I do this with an API call?",
        "Can I do this by editing a file?",
        "Can I start/stop a server myself?",
        "Can I create test data myself?",
        "Can I run a script for this?",
    ]
    refuse_unfit(act(), strict=True)
    for key in words.QUESTIONS:
        left = {name: answer for name, answer in NO_TO_ALL.items() if name != key}
        with pytest.raises(HoldfastError) as refused:
            refuse_unfit(act(checklist=left), strict=False)
        assert words.QUESTIONS[key].rstrip("?") in refused.value.message
        assert f"--{key} no" in refused.value.hint


@pytest.mark.clause("PILOT-26", "AMB-PILOT-22", "PILOT-01")
@pytest.mark.parametrize("key", words.QUESTIONS)
def test_a_single_yes_means_that_nobody_is_asked(key: str) -> None:
    with pytest.raises(HoldfastError, match="the answer is yes"):
        refuse_unfit(act(checklist={**NO_TO_ALL, key: True}), strict=False)


@pytest.mark.clause("PILOT-20")
def test_only_five_causes_are_accepted() -> None:
    assert list(words.CAUSES.values()) == [
        "Email verification clicks",
        "3D Secure / MFA in payment flow",
        "OAuth consent screens in browser",
        "Physical hardware interaction",
        "Captcha solving",
    ]
    for cause in words.CAUSES:
        refuse_unfit(act(cause=cause), strict=True)
    with pytest.raises(HoldfastError, match="'coffee' is no cause"):
        refuse_unfit(act(cause="coffee"), strict=False)
    with pytest.raises(HoldfastError) as refused:
        refuse_unfit(
            act(cause="", title="Rename the project", why="I cannot", items=["Click rename"]),
            strict=False,
        )
    assert "no accepted cause" in refused.value.message
    assert "Captcha solving" in refused.value.hint


@pytest.mark.clause("PILOT-20", "PILOT-19")
@pytest.mark.parametrize(
    ("why", "cause"),
    [
        ("The link is in your inbox", "email"),
        ("Your bank wants 3D Secure", "payment"),
        ("The OAuth consent screen opens in your browser", "oauth"),
        ("The device must be plugged in", "hardware"),
        ("There is a captcha", "captcha"),
    ],
)
def test_the_cause_is_read_from_the_words(why: str, cause: str) -> None:
    from holdfast.gates.rules.lint import cause_of

    assert cause_of(words.action("Go on", ["Click it"], why=why)) == cause


@pytest.mark.clause("PILOT-21")
@pytest.mark.parametrize(
    "step",
    [
        "Run npm install",
        "Create an account at SendGrid",
        "Start the server",
        "Create a file named .env",
        "Edit settings.py",
        "Create the database",
    ],
)
def test_what_is_forbidden_is_no_manual_step(step: str) -> None:
    with pytest.raises(HoldfastError, match="asks a person"):
        refuse_unfit(act(items=[step]), strict=False)


@pytest.mark.clause("PILOT-23")
def test_a_manual_step_says_why_and_how() -> None:
    with pytest.raises(HoldfastError, match="why it is manual"):
        refuse_unfit(act(why=""), strict=False)
    with pytest.raises(HoldfastError, match="no instructions"):
        refuse_unfit(act(items=[]), strict=False)


@pytest.mark.clause("PILOT-04", "PILOT-23")
def test_what_can_be_automated_stands_before_a_checkpoint() -> None:
    assert lint(samples.VERIFY_XML) == []
    assert lint(samples.ACTION_XML) == []
    for text, clause in ((samples.VERIFY_XML, "PILOT-04"), (samples.ACTION_XML, "PILOT-23")):
        alone = text[text.index("<task", 1) :]
        (found,) = lint(alone)
        assert (found["clause"], found["level"]) == (clause, "warning")


@pytest.mark.clause("AMB-PILOT-22")
def test_the_checklist_applies_to_the_steps_of_every_gate() -> None:
    asked = samples.VERIFY_XML.replace('Click "Settings" - modal opens', "Run npm test")
    (found,) = lint(asked)
    assert (found["line"], found["clause"], found["level"]) == (13, "PILOT-27", "error")


@pytest.mark.clause("PILOT-18", "PILOT-24", "PILOT-09")
def test_the_resume_signal_is_what_is_understood() -> None:
    for text, wrong in (
        (samples.VERIFY_XML.replace('Type "approved"', 'Type "no"'), "approved"),
        (samples.DECISION_XML.replace("clerk, or custom<", "or clerk<"), "custom"),
        (samples.ACTION_XML.replace('Type "done"', "Press Enter"), "done"),
    ):
        (found,) = lint(text)
        assert found["what"] == f"the resume signal does not name {wrong}"


@pytest.mark.clause("PILOT-03", "AMB-PILOT-21")
def test_the_shares_of_the_kinds_are_only_a_hint() -> None:
    assert words.EXPECTED == {"human-verify": 90, "decision": 9, "human-action": 1}
    shares = words.distribution({"human-verify": 90, "decision": 9, "human-action": 1})
    assert shares == {"human-verify": 90.0, "decision": 9.0, "human-action": 1.0}
    assert words.distribution({}) == {"human-verify": 0.0, "decision": 0.0, "human-action": 0.0}


@pytest.mark.clause("PILOT-05", "PILOT-11")
def test_the_purposes_are_those_of_the_protocol() -> None:
    assert words.VERIFY_PURPOSES == ("visual", "interactive", "functional")
    assert words.DECISION_PURPOSES == ("technology", "architecture", "design", "business")


@given(st.text(max_size=300))
def test_any_text_can_be_looked_at(text: str) -> None:
    for found in lint(text):
        assert 1 <= found["line"] <= text.count("\n") + 1
        assert found["instead"]


@given(
    st.lists(
        st.sampled_from([samples.VERIFY_XML, samples.ACTION_XML, "some words\n", "\n"]), max_size=6
    )
)
def test_a_finding_is_on_its_own_line(parts: list[str]) -> None:
    text = "".join(parts) + "Please run: npm run dev\n"
    (found,) = lint(text)
    assert found["line"] == text.count("\n")
