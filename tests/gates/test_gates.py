"""A gate is a row: asked once, answered once, by a person or, where it says so, by time."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast as library
from holdfast.gates import ask as asking
from holdfast.gates import lookup, wait
from holdfast.gates.answer import AnswerRequest
from holdfast.gates.answer import answer as answering
from holdfast.gates.ask import AskRequest
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as words
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import decline, understand
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import clock, latch
from holdfast.kernel.errors import (
    Conflict,
    Declined,
    HoldfastError,
    NotFound,
    Stopped,
    Usage,
    Waiting,
)
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import discover
from tests import warm
from tests.gates.person import seen
from tests.gates.samples import BOTH, NO_TO_ALL

NOW = 1_794_770_490_000
VERIFY = words.verify("Dashboard", ["Cards show data"], url="http://localhost:3000")
DECISION = words.decision("Select a store", BOTH, context="Where the data goes.")  # type: ignore[arg-type]
ACTION = words.action("Confirm the mail", ["Click it"], why="In your inbox", checklist=NO_TO_ALL)
PERSON = Person(name="ada", channel="terminal", terminal="/dev/pts/1", at=clock.precise(NOW))


def ask(content: words.Content = VERIFY, now: int = NOW, **terms: object) -> str:
    request = AskRequest(content=content, **terms)  # type: ignore[arg-type]
    return asking.ask(GateContext(discover(), "agent", now), request)["id"]


def answer(id: str, text: str, *, no: bool = False) -> rules.GateState:
    """As a person whom the terminal has seen; that itself is tested with real terminals."""
    now = clock.now()
    person = seen(Person(PERSON, at=clock.precise(now)))
    request = AnswerRequest(gate=id, text=text, no=no, person=person, saw="what was shown")
    return answering(GateContext(discover(), "ada", now), request)


def received(id: str) -> words.GateAnswer:
    """What the asker gets that waits for it."""
    (state,) = wait.wait(discover(), [id], seconds=0)
    assert state["answer"] is not None
    return state["answer"]


def look(id: str, now: int = NOW) -> rules.GateState:
    return lookup.read_now(discover(), id, now=now)


@pytest.mark.clause("AMB-PILOT-20")
@pytest.mark.parametrize("text", ["approved", " APPROVED\n", "Approved"])
def test_approved_is_a_yes_whatever_its_case(text: str) -> None:
    assert understand(VERIFY, text)["verdict"] == "yes"


@pytest.mark.clause("AMB-PILOT-20")
@pytest.mark.parametrize("text", ["The sidebar overlaps", "approved, but slow", "yes", "done"])
def test_everything_else_is_what_is_wrong(text: str) -> None:
    read = understand(VERIFY, text)
    assert (read["verdict"], read["answer"], read["text"]) == ("no", "issues", text)


def test_an_answer_loads_its_gate_once(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id, loads, load = ask(VERIFY), [], SqliteJournal.load

    def count(journal: SqliteJournal, stream: str, **known: Any) -> Any:
        loads.append(stream)
        return load(journal, stream, **known)

    monkeypatch.setattr(SqliteJournal, "load", count)
    assert answer(id, "approved")["answer"] is not None
    assert loads.count(rules.stream_of(id)) == 1


@pytest.mark.clause("PILOT-16", "PILOT-10", "AMB-PILOT-20")
def test_every_option_is_a_valid_answer_and_nothing_else_is() -> None:
    for option in BOTH:
        for text in (option["id"], f" {option['id'].upper()} "):
            assert understand(DECISION, text)["answer"] == option["id"]
    for text in ("mongo", "PostgreSQL", "p", "pg, lite"):
        with pytest.raises(Usage, match="not one of the options") as refused:
            understand(DECISION, text)
        assert refused.value.hint == "Select: pg or lite"


@pytest.mark.clause("AMB-PILOT-20")
def test_done_is_the_only_word_that_goes_on_after_a_manual_step() -> None:
    assert understand(ACTION, "Done ")["verdict"] == "yes"
    assert understand(ACTION, "almost")["answer"] == "not done"


@pytest.mark.parametrize("content", [VERIFY, DECISION, ACTION], ids=words.TYPES)
def test_an_empty_answer_is_none(content: words.Content) -> None:
    for text in ("", "  \n"):
        with pytest.raises(Usage):
            understand(content, text)
    with pytest.raises(Usage):
        decline(" ")


def test_the_same_question_is_one_gate_until_it_is_answered(repository: Path) -> None:
    first, again = ask(), ask(now=NOW + 5000)
    assert first == again
    assert len(discover().journal.read(f"gate:{first}")) == 1
    answer(first, "The cards are empty")
    received(first)
    after_a_fix = ask(now=NOW + 9000)
    assert after_a_fix == f"{first}.2"
    assert lookup.find_gate(discover(), first) == after_a_fix
    assert rules.is_open(look(after_a_fix))


def test_an_answer_that_no_asker_received_is_delivered_to_the_next_same_question(
    repository: Path,
) -> None:
    """The asker died, the person answered, the asker starts again."""
    first = ask(DECISION)
    answer(first, "lite")
    assert ask(DECISION) == first
    assert received(first)["answer"] == "lite"
    assert ask(DECISION) == f"{first}.2", "received once; the next same question is a new one"
    assert rules.is_open(look(f"{first}.2"))


def test_another_question_under_the_same_name_gets_no_answer_of_the_first(repository: Path) -> None:
    ask(DECISION, name="store")
    answer("store", "lite")
    assert ask(VERIFY, name="store") == "store.2"
    assert rules.is_open(look("store.2"))


def test_a_question_for_good_keeps_its_answer(repository: Path) -> None:
    assert ask(DECISION, name="send-17", once=True) == "send-17"
    answer("send-17", "lite")
    for _ in range(2):
        assert ask(DECISION, name="send-17", once=True) == "send-17"
        assert received("send-17")["answer"] == "lite"
    with pytest.raises(Conflict, match="asks something else"):
        ask(VERIFY, name="send-17", once=True)


@pytest.mark.parametrize(("session", "round"), [("session-1", ".2"), ("session-2", "")])
def test_a_session_that_asks_again_asks_anew_and_the_next_one_receives_the_answer(
    repository: Path, monkeypatch: pytest.MonkeyPatch, session: str, round: str
) -> None:
    """Its hooks told the session the answer. An approval of the first build is none of the second."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "session-1")
    first = ask()
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    answer(first, "approved")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
    assert ask() == first + round


def test_a_name_is_for_later_use(repository: Path) -> None:
    assert ask(DECISION, name="store") == "store"
    answer("store", "LITE")
    found = look(lookup.find_gate(discover(), "sto"))["answer"]
    assert found is not None
    assert found["answer"] == "lite"
    with pytest.raises(Usage):
        ask(name="../etc")
    ask(VERIFY, name="look")
    with pytest.raises(Conflict, match="asks something else"):
        ask(ACTION, name="look")


def test_an_id_is_known_by_a_unique_beginning(repository: Path) -> None:
    ask(VERIFY, name="alpha")
    ask(DECISION, name="alpine")
    assert lookup.find_gate(discover(), "alph") == "alpha"
    with pytest.raises(NotFound, match="2 gates begin with alp"):
        lookup.find_gate(discover(), "alp")
    with pytest.raises(NotFound, match="no gate beta"):
        lookup.find_gate(discover(), "beta")


def test_the_same_words_in_another_worktree_are_another_question(
    repository: Path, tmp_path: Path, git: object
) -> None:
    import subprocess

    first = ask()
    other = tmp_path / "other"
    subprocess.run(["git", "worktree", "add", "-q", str(other)], check=True, capture_output=True)
    there = asking.ask(GateContext(discover(str(other)), "agent", NOW), AskRequest(content=VERIFY))
    assert there["id"] != first
    assert len(lookup.open_gates(discover())) == 2


def test_a_secret_in_a_gate_is_redacted_and_the_question_still_the_same(repository: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    content = words.verify("Shop", [f"Sign in with {secret}"], url="http://localhost:1")
    first = ask(content)
    assert ask(content) == first
    assert secret not in str(look(first))


def test_an_answer_is_final_and_the_second_is_told_who_was_first(repository: Path) -> None:
    id = ask()
    answer(id, "approved")
    with pytest.raises(Conflict) as refused:
        answer(id, "no, wait")
    assert refused.value.kind == "gate_answered"
    assert "answered by ada" in refused.value.message
    assert "Yours does not count" in refused.value.message
    assert not discover().journal.refusals()


# Two processes that go on when a line is given to each.
AT_ONCE = """
import sys
from holdfast.gates import ask
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.people.person import at_page, open_page
from holdfast.gates.rules import content
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict
from holdfast.kernel.workspace import discover

now = clock.now()
context = GateContext(discover(), "ada", now)
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[1] == "ask":
    verify = content.verify("Dashboard", ["Cards show data"], url="http://localhost:3000")
    print(ask.ask(context, ask.AskRequest(content=verify))["id"])
else:
    _, id, text = sys.argv[1:]
    open_page()
    person = at_page("/dev/pts/1", now=now)
    try:
        answer(context, AnswerRequest(gate=id, text=text, person=person, saw="what was shown"))
        print(text)
    except Conflict as told:
        print(told.kind)
"""


def said_at_once(*each: tuple[str, ...]) -> list[str]:
    """What the processes say that were started with these words."""
    both = [
        warm.start(
            [sys.executable, "-c", AT_ONCE, *words],
            stdin=warm.PIPE,
            stdout=warm.PIPE,
            text=True,
        )
        for words in each
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0].strip() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    return sorted(said)


def test_of_two_answers_at_once_one_wins_and_the_other_is_told(repository: Path) -> None:
    id = ask()
    said = said_at_once(("answer", id, "approved"), ("answer", id, "The cards are empty"))
    assert "gate_answered" in said
    assert len(discover().journal.latest(stream=f"gate:{id}", kind="answered")) == 1
    found = look(id)["answer"]
    assert found is not None
    assert (found["text"] or found["answer"]) in said


def test_two_who_ask_the_same_at_once_open_one_gate(repository: Path) -> None:
    assert len(set(said_at_once(("ask",), ("ask",)))) == 1
    assert len(lookup.open_gates(discover())) == 1


def test_a_gate_outlives_every_process(repository: Path) -> None:
    """It is asked by a process that dies at once, and answered before any other waits for it."""
    program = (
        "import holdfast, os\n"
        "holdfast.open().gates.verify(built='A', how=['b'], url='http://c', name='kept')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert warm.run([sys.executable, "-c", program]).returncode == -9
    answer("kept", "approved")
    with library.open() as workspace:
        assert workspace.gates.named("kept").wait(0)["answer"] == "approved"


def test_a_received_gate_no_longer_needs_to_be_looked_at(repository: Path) -> None:
    id = ask()
    answer(id, "approved")
    assert lookup.open_gates(discover()) == []
    received(id)
    head = discover().journal.head(f"gate:{id}")
    assert head is not None
    assert head["closed_at"] is not None
    assert lookup.open_gates(discover()) == []


def test_waiting_ends_in_yes_no_not_yet_or_stopped(repository: Path) -> None:
    workspace = discover()
    id = ask()
    with pytest.raises(Waiting) as not_yet:
        wait.conclude(wait.wait(workspace, [id], seconds=0))
    assert not_yet.value.exit_code == 8
    assert not_yet.value.retryable
    answer(id, "The cards are empty")
    with pytest.raises(Declined, match="The cards are empty") as no:
        wait.conclude(wait.wait(workspace, [id], seconds=0))
    assert no.value.exit_code == 9
    second = ask()
    answer(second, "approved")
    wait.conclude(wait.wait(workspace, [second], seconds=0))
    latch.engage(workspace, "Out of money", by="ada", now=NOW)
    with pytest.raises(Stopped):
        wait.wait(workspace, [ask(now=NOW + 1)], seconds=1)


def test_a_decision_can_be_refused_as_a_whole(repository: Path) -> None:
    id = ask(DECISION)
    answer(id, "Neither: we drop it", no=True)
    with pytest.raises(Declined, match="Neither: we drop it"):
        wait.conclude([look(id)])


def test_a_waiting_process_sees_the_answer_when_it_comes(repository: Path) -> None:
    import threading

    id = ask()
    timer = threading.Timer(0.3, answer, (id, "approved"))
    timer.start()
    with library.open() as workspace:
        assert workspace.gates.named(id).wait(60)["answer"] == "approved"
    timer.join()


def test_time_answers_only_where_the_gate_says_so(repository: Path) -> None:
    forever = ask(VERIFY)
    hour = clock.stamp(NOW + clock.HOUR)
    id = ask(DECISION, expires_at=hour, default="lite")
    assert look(id, NOW + clock.HOUR - 1000)["answer"] is None
    found = look(id, NOW + clock.HOUR)["answer"]
    assert found is not None
    assert (found["answer"], found["person"]) == ("lite", None)
    (record,) = discover().journal.latest(stream=f"gate:{id}", kind="expired")
    assert record["body"]["person"] is None
    assert look(forever, NOW + 1000 * clock.DAY)["answer"] is None
    with pytest.raises(Conflict, match="its own expiry"):
        answer(id, "pg")


@pytest.mark.parametrize(("content", "default"), [(VERIFY, "approved"), (ACTION, "DONE ")])
def test_silence_approves_nothing(repository: Path, content: words.Content, default: str) -> None:
    hour = clock.stamp(NOW + clock.HOUR)
    with pytest.raises(HoldfastError, match="no person would have looked"):
        ask(content, expires_at=hour, default=default)
    id = ask(content, expires_at=hour, default="Nobody looked in time")
    found = look(id, NOW + clock.HOUR)["answer"]
    assert found is not None
    assert found["verdict"] == "no"


def test_an_expiry_and_its_default_belong_together(repository: Path) -> None:
    hour = clock.stamp(NOW + clock.HOUR)
    for terms in ({"expires_at": hour}, {"default": "lite"}):
        with pytest.raises(Usage, match="belong together"):
            ask(DECISION, NOW, **terms)
    with pytest.raises(Usage, match="not one of the options"):
        ask(DECISION, expires_at=hour, default="mongo")
    with pytest.raises(Usage, match="expire at once"):
        ask(DECISION, expires_at=clock.stamp(NOW), default="lite")


def test_batched_gates_wait_for_the_end_of_their_phase(repository: Path) -> None:
    ids = [
        ask(VERIFY, batch=True, phase="3", name="look"),
        ask(DECISION, batch=True, phase="3", name="store"),
    ]
    ask(ACTION, batch=True, phase="4", name="mail")
    assert all(not look(id)["presented_at"] for id in ids)
    workspace = discover()
    assert sorted(wait.present(GateContext(workspace, "agent", NOW + 1), "3")) == ids
    assert all(look(id)["presented_at"] for id in ids)
    assert not look("mail")["presented_at"]
    answer("look", "approved")
    with pytest.raises(Waiting, match="store"):
        wait.conclude(wait.wait(workspace, ids, seconds=0))
    answer("store", "pg")
    wait.conclude(wait.wait(workspace, ids, seconds=0))
    with pytest.raises(NotFound, match="phase '3'"):
        wait.present(GateContext(workspace, "agent", NOW + 2), "3")


def test_a_sandboxed_agent_can_ask_and_a_gate_that_breaks_the_rule_is_refused_at_once(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with library.open() as workspace:
        workspace.note("There is a journal.")
    from holdfast.kernel import lock

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Read-only file system")

    with monkeypatch.context() as sandbox:
        sandbox.setattr(lock.WorkspaceLock, "acquire", refuse)
        opened = asking.ask(
            GateContext(discover(), "agent", NOW), AskRequest(content=VERIFY, name="boxed")
        )
        assert Path(opened["queued"]).parent == repository / ".holdfast" / "inbox"
        assert lookup.find_gate(discover(), "box") == "boxed"
        assert rules.is_open(look("boxed"))
        with pytest.raises(HoldfastError, match="asks a person to run a command"):
            ask(words.verify("A", ["Run npm test"], url="http://b"))
    answer("boxed", "approved")
    assert not rules.is_open(look("boxed"))


def test_a_command_that_is_no_gate_is_refused(repository: Path) -> None:
    good = {
        "do": "open",
        "content": VERIFY,
        "batch": False,
        "phase": "",
        "holds": "",
        "cost_tokens": None,
        "expires_at": "",
        "default": "",
        "strict": False,
        "asked": {"by": "a", "session": "", "agent": "", "worktree": "/"},
    }
    start = rules.initial("gate:x")
    assert rules.decide(start, good, NOW).records
    for name, value in {
        "content": {**VERIFY, "items": [1]},
        "batch": "yes",
        "phase": 3,
        "cost_tokens": -1,
        "asked": {"by": None, "session": "", "agent": "", "worktree": "/"},
    }.items():
        with pytest.raises(Usage):
            rules.decide(start, {**good, name: value}, NOW)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("answer"), st.sampled_from(["pg", "lite", "mongo", ""])),
            st.tuples(st.just("expire"), st.integers(0, 7200)),
            st.tuples(st.just("notify"), st.integers(0, 7200)),
            st.tuples(st.just("open"), st.just(0)),
        ),
        max_size=12,
    )
)
def test_whatever_happens_a_gate_has_one_answer_and_it_never_changes(
    steps: list[tuple[str, object]],
) -> None:
    command = {
        "do": "open",
        "content": DECISION,
        "batch": False,
        "phase": "",
        "holds": "",
        "cost_tokens": None,
        "expires_at": clock.stamp(NOW + clock.HOUR),
        "default": "lite",
        "strict": True,
        "asked": {"by": "a", "session": "", "agent": "", "worktree": "/"},
    }
    state = rules.initial("gate:x")
    answered: object = None
    now, told = NOW, []
    for do, value in [("open", 0), *steps]:
        now += 1000 * value if isinstance(value, int) else 0
        one = {
            "answer": {"do": "answer", "answer": value, "person": PERSON, "saw": ""},
            "notify": {"do": "notify", "interval": clock.HOUR, "addresses": 1},
        }.get(do, command if do == "open" else {"do": do})
        try:
            decision = rules.decide(state, one, now)
        except HoldfastError:
            continue
        told += [now] * len(decision.effects)
        for kind, body in decision.records:
            state = rules.apply(
                state, {"id": "", "kind": kind, "body": body, "at": clock.precise(now), "actor": ""}
            )
        if answered is not None:
            assert state["answer"] == answered
        answered = state["answer"]
        if state["answer"] is not None and state["answer"]["person"] is None:
            assert now >= NOW + clock.HOUR
    assert all(later - earlier >= clock.HOUR for earlier, later in itertools.pairwise(told))
