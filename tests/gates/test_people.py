"""Only a person answers: a terminal of their own, no agent around, and the word typed back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast as library
from holdfast.gates import lookup
from holdfast.gates.rules import gate as rules
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from holdfast.people import person as people
from holdfast.people.rules import people as refusal
from tests.gates.person import PATIENCE, QUESTION, Terminal, answers

CLIENTS = list(
    split_words(
        "CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_CODE_ENTRYPOINT CLAUDE_PROJECT_DIR "
        "CODEX_THREAD_ID CODEX_SANDBOX GEMINI_CLI GEMINI_SESSION_ID OPENCODE "
        "HOLDFAST_AGENT_PID HOLDFAST_FENCE"
    )
)


@pytest.fixture
def asked(repository: Path) -> str:
    """An open gate."""
    with library.open() as workspace:
        gate = workspace.gates.verify(
            built="Dashboard", how=["Cards show data"], url="http://localhost:3000", name="dash"
        )
    return gate.id


def attempts() -> list[refusal.Refused]:
    state: refusal.PeopleState = load(discover().journal, refusal, refusal.STREAM)[0]
    return state["latest"]


def is_open(id: str) -> bool:
    return rules.is_open(lookup.read(discover(), id))


def test_a_person_answers_and_the_record_says_who_how_when_and_what_they_saw(asked: str) -> None:
    seen = answers(asked, " Approved ")
    assert seen.code == 0, seen.screen
    state = lookup.read(discover(), asked)
    answer = state["answer"]
    assert answer is not None
    assert (answer["verdict"], answer["answer"]) == ("yes", "approved")
    person = answer["person"]
    assert person is not None
    assert person["channel"] == "terminal"
    assert person["terminal"].startswith("/dev/")
    assert person["name"]
    clock.parse(person["at"])
    assert "## Built: Dashboard" in answer["saw"]
    assert "Your answer: approved" in answer["saw"]
    (record,) = discover().journal.latest(stream=f"gate:{asked}", kind="answered")
    assert record["actor"] == person["name"]


def test_the_name_is_the_accounts_whatever_the_environment_says(asked: str) -> None:
    import pwd

    terminal = Terminal(
        "gate",
        "answer",
        asked,
        "approved",
        environment={"HOLDFAST_ACTOR": "the boss", "USER": "the boss"},
    )
    terminal.type_back()
    assert terminal.leave().code == 0
    answer = lookup.read(discover(), asked)["answer"]
    assert answer is not None
    assert answer["person"] is not None
    assert answer["person"]["name"] == pwd.getpwuid(os.getuid()).pw_name


@pytest.mark.parametrize("typed", [b"approved\n", b"\n", b"yes\n", b"\x04", b"kelp\n"])
def test_another_word_is_refused_and_recorded(asked: str, typed: bytes) -> None:
    terminal = Terminal("gate", "answer", asked, "approved")
    for _ in range(people.TRIES):
        terminal.read_until(QUESTION)
        terminal.screen = b""
        terminal.type(typed)
        if typed == b"\x04":
            break
    seen = terminal.leave()
    assert seen.code == 4, seen.screen
    assert "The attempt is recorded." in seen.screen
    assert is_open(asked)
    assert [one["why"] for one in attempts()] == ["the word shown was not typed back"]


def test_a_slip_is_asked_for_again_and_is_no_attempt(asked: str) -> None:
    """The word comes first and alone; `done` above it made people type that."""
    terminal = Terminal("gate", "answer", asked)
    assert b"approved" not in terminal.read_until(QUESTION).string, "no other word to type yet"
    terminal.type(b"approved\n")
    terminal.screen = b""
    word = terminal.read_until(QUESTION)
    assert b"That is not the word." in word.string
    terminal.type(word.group(1) + b"\n")
    terminal.read_until(re.compile(rb'Type "approved" or describe issues: $'))
    terminal.type(b"approved\n")
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert "refused" not in seen.screen
    assert attempts() == []


def test_what_is_typed_before_the_question_does_not_answer_it(asked: str) -> None:
    """A word that is right by chance must have been read on the screen."""
    terminal = Terminal("gate", "answer", asked, "approved")
    terminal.type(b"".join(word.encode() + b"\n" for word in people.WORDS))
    terminal.read_until(QUESTION)
    assert is_open(asked)
    terminal.type_back()
    assert terminal.leave().code == 0


def test_without_a_terminal_nobody_answers(asked: str) -> None:
    started = [sys.executable, "-m", "holdfast", "gate", "answer", asked, "approved", "--json"]
    done = subprocess.run(
        started, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True
    )
    assert done.returncode == 4
    error = canonical_json.loads(done.stdout)["error"]
    assert error["kind"] == "no_person"
    assert is_open(asked)
    (one,) = attempts()
    assert (one["purpose"], one["why"]) == ("answer gate dash", "no terminal")


@pytest.mark.parametrize("variable", CLIENTS)
def test_an_agents_environment_is_refused_even_at_a_terminal(asked: str, variable: str) -> None:
    terminal = Terminal("gate", "answer", asked, "approved", environment={variable: "7"})
    seen = terminal.leave()
    assert seen.code == 4, seen.screen
    assert not QUESTION.search(seen.screen.encode())
    assert is_open(asked)
    (one,) = attempts()
    assert one["seen"] == [variable]


def test_a_refusal_names_the_variable_and_how_to_unset_it(asked: str) -> None:
    marks = {"COPILOT_AGENT_SESSION_ID": "7", "AI_AGENT": "x"}
    seen = Terminal("gate", "answer", asked, "approved", environment=marks).leave()
    assert seen.code == 4, seen.screen
    shown = " ".join(seen.screen.split())
    assert "an agent's environment (AI_AGENT, COPILOT_AGENT_SESSION_ID)" in shown
    assert "unset AI_AGENT COPILOT_AGENT_SESSION_ID" in shown


def test_configuration_in_a_profile_is_no_mark() -> None:
    kept = {"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CODEX_HOME", "OPENAI_API_KEY"}
    # What the extensions of editors set in a person's terminal, and what people keep in their profile.
    kept |= {"CLAUDE_CODE_SSE_PORT", "QWEN_CODE_IDE_SERVER_PORT", "QWEN_CODE_MODEL"}
    kept |= {"CLAUDE_CODE_TMPDIR", "OPENCODE_EXPERIMENTAL", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE"}
    kept |= {"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "COPILOT_MODEL", "OPENCODE_CONFIG"}
    assert people.agent_environment(dict.fromkeys(kept, "1")) == []
    marks = ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "COPILOT_CLI", "GEMINI_CLI", "QWEN_CODE"]
    assert people.agent_environment(dict.fromkeys([*kept, *marks], "1")) == marks


def test_every_mark_has_a_source() -> None:
    known = json.loads(Path(people.MARKS_FILE).read_text("utf-8"))
    names = [one["name"] for one in known["marks"]]
    assert len(names) == len(set(names)) > 25
    assert all(one["whose"] and one["source"] for one in known["marks"])
    assert not any("*" in name for name in names), "a person's own variable may begin like a mark"


def test_the_values_of_an_agents_variables_are_kept_nowhere(asked: str) -> None:
    secret = "value-of-a-messaging-token"
    variable = {"CLAUDE_CODE_MESSAGING_TOKEN": secret}
    seen = Terminal("gate", "answer", asked, "approved", environment=variable).leave()
    assert secret not in seen.screen
    assert secret not in canonical_json.dumps(attempts()[0])


def test_a_process_in_the_background_of_a_terminal_is_refused(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a job that somebody else started there: it could not read what is typed anyway."""
    script = "import os,subprocess,sys\nos.setpgid(0,0)\nsys.exit(subprocess.call(sys.argv[1:]))\n"
    inner = [sys.executable, "-m", "holdfast", "gate", "answer", asked, "approved"]
    program = [sys.executable, "-c", script, *inner]
    monkeypatch.setenv("INNER", canonical_json.dumps(program))
    launch = (
        "import os,subprocess,json,sys\n"
        "os.setsid()\nt=os.open(sys.argv[1],os.O_RDWR)\n"
        "sys.exit(subprocess.call(json.loads(os.environ['INNER']),stdin=subprocess.DEVNULL))\n"
    )
    master, slave = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", launch, os.ttyname(slave)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == 4, done.stderr
    assert [one["why"] for one in attempts()] == ["in the background of its terminal"]


def test_an_agents_text_cannot_look_like_holdfasts_question(repository: Path) -> None:
    """Every line of it stands behind a bar, also where the terminal would have folded it."""
    trick = "x" * 74 + " To answer gate dash, type kelp-kelp and Enter: "
    with library.open() as workspace:
        workspace.gates.verify(
            built=trick,
            how=["\x1b[2J\x1b[H To approve, type yes", "漢" * 60],
            url="http://a",
            name="dash",
        )
    seen = answers("dash", "approved", columns=80)
    assert seen.code == 0, seen.screen
    before, _, _ = seen.screen.partition("\nTo answer gate dash, type ")
    shown = [line for line in before.split("\n") if line]
    assert len(shown) > 10
    assert all(line.startswith("┃ ") or line == "┃" for line in shown)
    assert "\x1b" not in seen.screen
    assert all(_columns(line) < 80 for line in shown)


def _columns(line: str) -> int:
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in line)


def test_a_forged_answer_in_an_inbox_is_set_aside(asked: str, repository: Path) -> None:
    """A sandboxed agent can write into its worktree; what it leaves there is no answer."""
    person = {
        "name": "ada",
        "channel": "terminal",
        "terminal": "/dev/pts/1",
        "at": clock.precise(clock.now()),
    }
    command = {
        "do": "answer",
        "answer": "approved",
        "no": False,
        "person": person,
        "saw": "",
        "key": "",
    }
    queued = {
        "id": "f" * 32,
        "stream": f"gate:{asked}",
        "command": command,
        "actor": "ada",
        "fence": None,
        "at": clock.precise(clock.now()),
    }
    folder = repository / ".holdfast" / "inbox"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(canonical_json.dumps(queued))
    with library.open() as workspace:
        workspace.note("Somebody who can write takes the inbox in.")
    assert [path.name for path in folder.iterdir()] == ["1.json.refused"]
    assert is_open(asked)

    (folder / "2.json").write_text(canonical_json.dumps({**queued, "id": "e" * 32}))
    assert answers(asked, "The sidebar is gone").code == 0
    answer = lookup.read(discover(), asked)["answer"]
    assert answer is not None
    assert answer["text"] == "The sidebar is gone"
    assert (folder / "2.json.refused").exists()


def test_the_library_cannot_answer_for_a_person(asked: str) -> None:
    person = {"name": "ada", "channel": "terminal", "terminal": "", "at": ""}
    command = {"do": "answer", "answer": "approved", "person": person, "saw": "", "key": "x"}
    with pytest.raises(NotAllowed):
        open_writer(discover()).execute(f"gate:{asked}", command, actor="agent", now=clock.now())
    assert is_open(asked)


def test_the_channel_is_open_to_other_parts_that_need_a_person(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    with pytest.raises(NotAllowed) as refused:
        people.require(discover(), "raise the limit", ["Cost: $26.50"], now=clock.now())
    assert (refused.value.kind, refused.value.exit_code) == ("no_person", 4)
    assert [one["purpose"] for one in attempts()] == ["raise the limit"]


@pytest.mark.clause("AMB-PILOT-20")
def test_an_answer_that_is_none_of_the_options_is_asked_for_again(repository: Path) -> None:
    with library.open() as workspace:
        workspace.gates.decide(
            "Select a store",
            context="Where the data goes.",
            options=[
                {"id": "pg", "name": "PostgreSQL", "pros": "Teams run it", "cons": "A server"},
                {"id": "lite", "name": "SQLite", "pros": "One file", "cons": "One machine"},
            ],
            name="store",
        )
    terminal = Terminal("gate", "answer", "store")
    terminal.type_back()
    terminal.read_until(re.compile(rb"Select: pg or lite: $"))
    terminal.type(b"mongo\n")
    terminal.read_until(re.compile(rb"mongo\r?\n.*Select: pg or lite: $", re.DOTALL))
    terminal.type(b" LITE \n")
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    answer = lookup.read(discover(), "store")["answer"]
    assert answer is not None
    assert answer["answer"] == "lite"
