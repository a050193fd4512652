"""Only a person answers a client's question: each way around it that was tried. Nothing gets through, and what tried to
speak for a person is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.answers.answer import ReplyRequest, reply_to
from holdfast.answers.rules import questions as rules
from holdfast.clients.events import PERSONS_COMMANDS
from holdfast.hooks.pre_tool_use import persons_alone
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.rules import Decision, Person
from holdfast.kernel.streams import open_writer
from tests.answers.test_answers import path_of, send
from tests.answers.world import Hook, decision, settled
from tests.cli.conftest import Holdfast
from tests.gates.person import QUESTION, Terminal, at_page
from tests.gates.test_attacks import agent, attempts, left_in_inbox
from tests.web.world import Visitor, World

Asks = Callable[..., Hook]
PERSON: Any = {"name": "ada", "channel": "page", "terminal": "/dev/pts/1", "at": ""}


@pytest.fixture
def hook(asks: Asks) -> Hook:
    """A client that waits; whatever an attack did, it was told nothing, and a person can still answer."""
    return asks(tool_input={"command": "npm publish"})


@pytest.fixture
def question(hook: Hook) -> dict[str, Any]:
    return hook.question()


def still_waits(hook: Hook, world: World, visitor: Visitor, question: dict[str, Any]) -> None:
    assert hook.process.poll() is None, "something answered it"
    send(visitor, world, question, answer="deny", note="a person did")
    assert decision(hook.end().said)["message"] == "a person did"


def forge(question: dict[str, Any], **fields: Any) -> dict[str, Any]:
    shown = rules.digest_of(question)  # type: ignore[arg-type]
    said = {"do": "answer", "id": question["id"], "verdict": "allow", "text": "", "chosen": []}
    return {**said, "shown": shown, "person": PERSON, **fields}


def test_an_agents_command_line(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    refused = agent("gate", "answer", question["id"], "allow")
    assert (refused["code"], refused["error"]["kind"]) == (4, "no_person")
    assert attempts(world.workspace) == [f"answer question {question['id']}"]
    assert "Refused attempts" in visitor.get(path_of(world, question)).text
    still_waits(hook, world, visitor, question)


def test_a_command_line_without_a_terminal(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "gate", "answer", question["id"], "allow"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 4
    still_waits(hook, world, visitor, question)


def test_the_hook_denies_the_command_before_it_runs() -> None:
    assert ("gate", "answer") in PERSONS_COMMANDS

    class Event:
        tool = "Bash"
        command = "holdfast gate answer q-12345678 allow"

    assert persons_alone(Event) == "gate answer"  # type: ignore[arg-type]


def test_a_word_that_was_not_typed_back(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    terminal = Terminal("gate", "answer", question["id"], "allow")
    for _ in range(3):
        terminal.read_until(QUESTION)
        terminal.screen = b""
        terminal.type(b"yes\n")
    assert terminal.leave().code == 4
    still_waits(hook, world, visitor, question)


def test_curl_without_a_sign_in(
    hook: Hook, question: dict[str, Any], world: World, stranger: Visitor
) -> None:
    shown = rules.digest_of(question)  # type: ignore[arg-type]
    path = path_of(world, question)
    assert stranger.get(path).status_code == 401
    assert stranger.get(f"{path}.json").status_code == 401
    assert stranger.get("/waits/s1").status_code == 401
    posted = stranger.send(path, csrf="x", answer="allow", shown=shown)
    assert posted.status_code == 401
    assert f"answer question {question['id']}" in attempts(world.workspace)
    stranger.sign_in()
    still_waits(hook, world, stranger, question)


@pytest.mark.parametrize(
    ("about", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"csrf": "guessed"}, 403),
        ({"csrf": ""}, 403),
    ],
)
def test_a_form_of_another_page(
    hook: Hook,
    question: dict[str, Any],
    world: World,
    visitor: Visitor,
    about: dict[str, str],
    status: int,
) -> None:
    shown = rules.digest_of(question)  # type: ignore[arg-type]
    path = path_of(world, question)
    assert visitor.send(path, answer="allow", shown=shown, **about).status_code == status
    still_waits(hook, world, visitor, question)


def test_a_foreign_host_name_and_a_link_that_answers(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    path = path_of(world, question)
    assert visitor.get(path, host="evil.example:4653").status_code == 421
    assert visitor.get(f"{path}?answer=allow").status_code == 200, "looking changes nothing"
    still_waits(hook, world, visitor, question)


def test_an_answer_for_another_question(
    asks: Asks, hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    """The digest of what another page showed, of a guessed one, and none."""
    other = asks(session_id="s2", tool_input={"command": "ls"}).question()
    for shown in (rules.digest_of(other), "0" * 64, ""):  # type: ignore[arg-type]
        sent = visitor.send(path_of(world, question), answer="allow", shown=shown)
        assert sent.status_code == 409
        assert "something else" in sent.text
    still_waits(hook, world, visitor, question)


def test_a_replayed_answer(asks: Asks, world: World, visitor: Visitor) -> None:
    first = asks()
    question = first.question()
    path = path_of(world, question)
    shown = visitor.data(f"{path}.json")["shown"]
    assert visitor.send(path, answer="allow", shown=shown).status_code == 303
    assert decision(first.end().said) == {"behavior": "allow"}
    second = asks()
    again = second.question()
    assert visitor.send(path, answer="allow", shown=shown).status_code == 409
    assert visitor.send(path_of(world, again), answer="allow", shown=shown).status_code == 409
    still_waits(second, world, visitor, again)


def test_the_question_was_changed_in_between(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    """A record that shows something harmless under the same id: the hook knows what it asked."""
    writer = open_writer(world.workspace)
    harmless = {**question, "text": "ls", "asks": "May Bash run: ls?"}
    changed = Decision([("asked", {name: harmless[name] for name in rules._ASKED})])
    commit(writer, [Order(rules.STREAM, changed)], actor="x", now=clock.now())
    answer = forge({**harmless}, person=Person(PERSON))
    answered = Decision([("answered", {k: v for k, v in answer.items() if k != "do"})])
    commit(writer, [Order(rules.STREAM, answered)], actor="x", now=clock.now())
    assert hook.end().said == {}, "its own dialogue has the question"
    assert settled(question["id"])["ended"] == rules.UNCOUNTED


def test_a_file_in_the_inbox_of_the_work_tree(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor, holdfast: Holdfast
) -> None:
    """A sandboxed agent can write nothing else."""
    root = Path(world.workspace.root)
    left_in_inbox(root, rules.STREAM, forge(question))
    left_in_inbox(root, rules.STREAM, {"do": "end", "id": question["id"], "why": "given"})
    assert holdfast("note", "takes the inbox in").code == 0
    still_waits(hook, world, visitor, question)


def test_files_in_the_work_tree_and_in_the_private_folder(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    text = canonical_json.dumps(forge(question))
    for folder in (world.workspace.root, f"{world.workspace.root}/.holdfast", world.workspace.home, world.workspace.private):  # fmt: skip
        os.makedirs(folder, exist_ok=True)
        for name in ("answers", "answer", question["id"], f"answer-{question['id']}.json"):
            Path(folder, name).write_text(text)
    still_waits(hook, world, visitor, question)


def test_a_person_who_was_made_up(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    shown = rules.digest_of(question)  # type: ignore[arg-type]
    for person in (PERSON, Person(PERSON)):
        request = ReplyRequest(question=question["id"], verdict="allow", person=person, shown=shown)
        with pytest.raises(NotAllowed):
            reply_to(world.workspace, request, now=clock.now())
    order = Order(rules.STREAM, forge(question))
    with pytest.raises(NotAllowed):
        commit(open_writer(world.workspace), [order], actor="x", now=clock.now())
    still_waits(hook, world, visitor, question)


def test_a_person_of_the_page_is_none_in_an_agents_environment(
    hook: Hook,
    question: dict[str, Any],
    world: World,
    visitor: Visitor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as inside:
        inside.setenv("CLAUDECODE", "1")
        person = at_page("/dev/pts/7", now=clock.now())
        shown = rules.digest_of(question)  # type: ignore[arg-type]
        request = ReplyRequest(question=question["id"], verdict="allow", person=person, shown=shown)
        with pytest.raises(NotAllowed):
            reply_to(world.workspace, request, now=clock.now())
    still_waits(hook, world, visitor, question)


PROGRAM = """
import sys
from holdfast.answers.answer import ReplyRequest, reply_to
from holdfast.answers.rules.questions import digest_of
from holdfast.answers.answer import find_question
from holdfast.kernel import clock
from holdfast.kernel.rules import Decision, Person
from holdfast.kernel.workspace import discover
import holdfast
now, id = clock.now(), sys.argv[1]
shown = digest_of(find_question(discover(), id, now=now))
person = Person(name="ada", channel="page", terminal="/dev/pts/1", at=clock.precise(now))
try:
    reply_to(discover(), ReplyRequest(question=id, verdict="allow", person=person, shown=shown), now=now)
finally:
    holdfast.open().questions.answer(id, "allow")
"""


def test_a_few_lines_of_the_library(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), question["id"]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    assert "NotAllowed" in done.stderr
    assert len(attempts(world.workspace)) == 2
    still_waits(hook, world, visitor, question)


def test_with_signers_an_unsigned_answer_does_not_count(
    asks: Asks, world: World, visitor: Visitor, tmp_path: Path
) -> None:
    """What writes the journal itself answers nothing; the page cannot sign, and says where to."""
    signers = tmp_path / "signers"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True
    )
    signers.write_text(f"ada {(tmp_path / 'key.pub').read_text()}")
    os.environ["HOLDFAST_GATE_SIGNERS"] = str(signers)
    try:
        hook = asks()
        question = hook.question()
        refused = send(visitor, world, question, answer="allow")
        assert refused.status_code == 403
        assert f"holdfast gate answer {question['id']} allow" in refused.text
        order = Order(rules.STREAM, forge(question, person=Person(PERSON)))
        commit(open_writer(world.workspace), [order], actor="x", now=clock.now())
        assert hook.end().said == {}
        assert settled(question["id"])["ended"] == rules.UNCOUNTED
    finally:
        del os.environ["HOLDFAST_GATE_SIGNERS"]


def test_no_agent_purges_a_question(
    hook: Hook, question: dict[str, Any], world: World, visitor: Visitor
) -> None:
    (record,) = world.workspace.journal.latest(stream=rules.STREAM, limit=1)
    assert agent("purge", record["id"], "--yes")["code"] == 4
    still_waits(hook, world, visitor, question)
