"""The real client asks, a person answers on the page, and the client goes on; or the person answers at its terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from holdfast.answers.answer import list_open, read
from holdfast.answers.rules import questions as rules
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.people import page_open
from tests.real_clients import test_waiting
from tests.real_clients.test_waiting import PERMISSIONS, QUESTIONS, Prompt
from tests.real_clients.world import PATIENCE, Client, Run
from tests.web.world import Visitor, World

pytestmark = pytest.mark.clients
asking = test_waiting.asking
BESIDE, HELD = ("claude", "opencode"), ("codex", "qwen", "copilot")
REASON = "Not now: the person reads it first."
Answer = Callable[[Visitor, str, dict[str, Any]], None]


class Answered(NamedTuple):
    """How the client ended, what became of the question, and when it was answered and its next request came."""

    run: Run
    question: dict[str, Any]


@pytest.fixture
def visitor(asking: Client) -> Iterator[Visitor]:
    """A person who is signed in to the page of the project."""
    with Visitor([str(asking.project)]) as visitor:
        visitor.sign_in()
        yield visitor


def press(**fields: str) -> Answer:
    """A person presses a button of the question's page."""

    def act(visitor: Visitor, path: str, data: dict[str, Any]) -> None:
        sent = visitor.send(path, shown=data["shown"], **fields)
        assert sent.status_code == 303, sent.text

    return act


def story(
    client: Client, visitor: Visitor, prompt: Prompt, act: Answer | None, **job: Any
) -> Answered:
    """The client asks; the person answers on the page, or with the keys of `job` at the terminal."""
    key = World(client.project).key
    seen: list[str] = []
    ends = time.monotonic() + PATIENCE

    def answer() -> None:
        while time.monotonic() < ends and not seen:
            workspace = discover(str(client.project))
            page_open.note_open(workspace)
            for one in list_open(workspace, clock.now()):
                seen.append(one["id"])
                path = f"/w/{key}/questions/{one['id']}"
                if act is not None:
                    act(visitor, path, visitor.data(f"{path}.json"))
            workspace.close()
            time.sleep(0.1)

    page_open.note_open(discover(str(client.project)))
    person = threading.Thread(target=answer)
    person.start()
    environment = {**client.environment(), "TERM": "xterm-256color", **job.pop("variables", {})}
    environment.pop("NO_COLOR", None)
    steps = job.pop("steps", [])
    run = client.start(
        list(prompt.words),
        [prompt.tool or client.shell("touch made.txt"), {"text": "FINISHED"}],
        environment=environment,
        steps=[
            *prompt.before,
            *steps,
            {"asked": 2, "type": []},
            {"sees": "FINISHED", "type": list(prompt.leave)},
        ],
    )
    person.join()
    assert seen, run.told
    known = rules.find(read(discover(str(client.project))), seen[0])
    assert known is not None, run.told
    return Answered(run, {**known})


def variables(client: Client) -> dict[str, str]:
    return {"HOLDFAST_ANSWERS_HOLD_SECONDS": "60"} if client.name in HELD else {}


@pytest.mark.parametrize("asking", [*BESIDE, *HELD], indirect=True)
def test_allowed_on_the_page_the_client_goes_on(asking: Client, visitor: Visitor) -> None:
    done = story(
        asking,
        visitor,
        PERMISSIONS[asking.name],
        press(answer="allow"),
        variables=variables(asking),
    )
    assert (asking.project / "made.txt").exists(), done.run.told
    assert done.question["ended"] == rules.GIVEN, done.question


@pytest.mark.parametrize("asking", [*BESIDE, *HELD], indirect=True)
def test_denied_on_the_page_the_agent_reads_the_reason(asking: Client, visitor: Visitor) -> None:
    act = press(answer="deny", note=REASON)
    done = story(asking, visitor, PERMISSIONS[asking.name], act, variables=variables(asking))
    assert not (asking.project / "made.txt").exists(), done.run.told
    assert REASON in done.run.asked[1], done.run.told


@pytest.mark.parametrize("asking", ["claude"], indirect=True)
def test_the_page_shows_the_request_under_way(asking: Client, visitor: Visitor) -> None:
    def act(visitor: Visitor, path: str, data: dict[str, Any]) -> None:
        ends = time.monotonic() + PATIENCE
        while visitor.data(f"{path}.json")["request"] != "Go.":
            assert time.monotonic() < ends
            time.sleep(0.2)
        press(answer="allow")(visitor, path, data)

    done = story(asking, visitor, PERMISSIONS["claude"], act)
    assert done.question["ended"] == rules.GIVEN, done.question


@pytest.mark.parametrize("asking", BESIDE, indirect=True)
def test_an_option_chosen_on_the_page_is_the_agents_answer(
    asking: Client, visitor: Visitor
) -> None:
    act = press(answer="choose-1")
    done = story(asking, visitor, QUESTIONS[asking.name], act)
    assert "Postgres" in done.run.asked[1].rpartition("Which database?")[2], done.run.told


@pytest.mark.parametrize("asking", BESIDE, indirect=True)
def test_answered_at_the_terminal_first_the_page_says_so(asking: Client, visitor: Visitor) -> None:
    prompt = PERMISSIONS[asking.name]
    sees = {"sees": "touch made.txt", "type": []}
    waits = {"command": ["sleep", "2"]}
    steps = [
        sees,
        {"run": waits, "type": [prompt.key]},
        {"asked": 2, "again": prompt.key, "type": []},
    ]
    done = story(asking, visitor, prompt, None, steps=steps)
    assert (asking.project / "made.txt").exists(), done.run.told
    assert done.question["ended"] == rules.WENT_ON, done.question


@pytest.mark.parametrize("asking", ["claude"], indirect=True)
def test_nobody_is_waited_for_where_no_dialogue_is_open(asking: Client) -> None:
    """`claude -p` denies at once, as without Holdfast."""
    page_open.note_open(discover(str(asking.project)))
    script = [asking.shell("touch made.txt"), {"text": "FINISHED"}]
    began = time.monotonic()
    run = asking.start(["-p", "Go.", "--permission-mode", "default"], script)
    assert run.code == 0, run.told
    assert time.monotonic() - began < page_open.MAX_AGE
    assert not (asking.project / "made.txt").exists()
    assert read(discover(str(asking.project)))["settled"] == []


@pytest.mark.parametrize("asking", HELD, indirect=True)
def test_when_nobody_answers_the_clients_own_dialogue_comes(
    asking: Client, visitor: Visitor
) -> None:
    prompt = PERMISSIONS[asking.name]
    steps = [{"sees": "touch made.txt", "type": []}, {"asked": 2, "again": prompt.key, "type": []}]
    done = story(
        asking,
        visitor,
        prompt,
        None,
        steps=steps,
        variables={"HOLDFAST_ANSWERS_HOLD_SECONDS": "3"},
    )
    assert (asking.project / "made.txt").exists(), done.run.told
    assert done.question["ended"] == rules.TIMED_OUT, done.question
