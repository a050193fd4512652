"""A session that follows another one, in the real clients: what the agent is told at its start.

No agent in these stories calls holdfast, except where a story says so: everything comes from what
the clients write down themselves.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Git
from tests.real_clients.dialects import Answer
from tests.real_clients.world import Client, Run

pytestmark = pytest.mark.clients

REQUEST = "Make parse in words.py keep quoted words together. Do not add a dependency."
BROKEN = '    return line.split(" ")'
HALF = """    return [word.strip('"') for word in line.split(" ")]"""
RIGHT = "    return shlex.split(line)"
WORDS = f"import shlex\n\n\ndef parse(line):\n{BROKEN}\n"
CHECK = """\
from words import parse

words = parse('a "b c"')
assert words == ["a", "b c"], f"parse gave {words}"
"""
COMMAND = "python3 check_words.py"
ERROR = "AssertionError: parse gave ['a', 'b', 'c']"
NEXT = "Next I would use shlex.split in parse"
PATIENCE = 60.0


@pytest.fixture
def project(repository: Path, git: Git) -> Path:
    (repository / "words.py").write_text(WORDS)
    (repository / "check_words.py").write_text(CHECK)
    (repository / "other.py").write_text("LIMIT = 1\n")
    (repository / ".gitignore").write_text("__pycache__/\n")
    git("add", ".", at=repository)
    git("commit", "--quiet", "--message", "words", at=repository)
    return repository


def half_of_the_work(client: Client, change: str = HALF) -> list[Answer]:
    """Read, edit, and run the check."""
    return [
        client.read("words.py"),
        client.edit("words.py", BROKEN, change),
        client.shell(COMMAND),
    ]


def begin(client: Client) -> Run:
    """The first session, to its end."""
    client.install()
    said = {"text": f"The quotes go, but words are still torn. {NEXT}."}
    run = client.run(REQUEST, [*half_of_the_work(client), said])
    assert run.code == 0, run.told
    assert len(run.asked) == 4, run.told
    assert ERROR in run.asked[3], "the check failed before the agent's eyes"
    return run


def told_to(client: Client) -> str:
    """What the first request of a new session contains."""
    run = client.run("go on")
    assert run.code == 0, run.told
    return as_read(run, 0)


def as_read(run: Run, number: int) -> str:
    """The texts of a request as its model reads them."""
    agents = [request["body"] for request in run.requests if request["agent"]]
    return "\n".join(_texts(agents[number]))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key in value if key != "tools" for text in _texts(value[key])]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return []


def section(told: str, title: str) -> list[str]:
    """The lines of a section of the pack, whose heading begins so."""
    lines = told.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith(f"## {title}")), None)
    assert start is not None, f"no section {title!r} in:\n{told[-6000:]}"
    found = []
    for line in lines[start + 1 :]:
        if line.startswith(("## ", "```")):
            break
        found.append(line.strip())
    return found


def assert_handed_over(told: str) -> None:
    """The request, the edited file, what fails with its error, and the next step."""
    assert section(told, "Request under way") == [REQUEST]
    assert any(line.startswith("- words.py") for line in section(told, "Files edited"))
    failing = section(told, "Still failing")
    assert failing[0].startswith(f"- {COMMAND} (failed ")
    assert failing[-1] == ERROR
    assert NEXT in " ".join(section(told, "Last words of the agent"))
    assert told.count("Holdfast: ") == 1, "one verdict"
    assert "unknown issue" not in told.lower()


def wait_until_observed(client: Client) -> None:
    """Until what runs behind the client has read the transcript and looked at the work tree."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = json.loads(client.holdfast("resume", "--json"))["data"]
        if found["verdict"] == "CLEAN":
            return
        time.sleep(0.2)
    pytest.fail(f"nobody looked at the work tree: {found['reasons']}")


# 1. A session that ended


def test_a_new_session_knows_what_the_one_before_it_did(client: Client, project: Path) -> None:
    begin(client)
    assert_handed_over(told_to(client))


# 2. A client that was killed: no stop hook ran


def test_a_new_session_knows_what_a_killed_client_did(client: Client, project: Path) -> None:
    client.install()
    words = f"The quotes go, but words are still torn. {NEXT}."
    at_work = {**client.shell("sleep 20"), "text": words}
    run = client.run(REQUEST, [*half_of_the_work(client), at_work], killed_at=4)
    assert run.code == -9, run.told
    assert_handed_over(told_to(client))


def test_a_new_session_knows_what_a_client_did_that_was_killed_while_its_model_thought(
    client: Client, project: Path
) -> None:
    client.install()
    script = [*half_of_the_work(client), {"text": "Never said.", "silent": 20}]
    run = client.run(REQUEST, script, killed_at=4)
    assert run.code == -9, run.told
    told = told_to(client)
    assert section(told, "Request under way") == [REQUEST]
    assert any(line.startswith("- words.py") for line in section(told, "Files edited"))
    assert section(told, "Still failing")[-1] == ERROR
