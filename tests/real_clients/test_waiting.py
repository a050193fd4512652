"""A person is asked in the real client: Holdfast shows it elsewhere, and no longer once it is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.real_clients.conftest import ready
from tests.real_clients.dialects import Answer
from tests.real_clients.world import KINDS, Client

pytestmark = pytest.mark.clients
QUESTION = "Which database?"
OPTIONS = [
    {"label": "SQLite", "description": "a file"},
    {"label": "Postgres", "description": "a server"},
]
ASKED = {"question": QUESTION, "header": "Database", "options": OPTIONS, "multiSelect": False}
SCHEMA = {
    "type": "object",
    "properties": {"database": {"type": "string", "enum": ["SQLite", "Postgres"]}},
    "required": ["database"],
}


class Prompt(NamedTuple):
    """How a client's person is asked. `tool`: what the model says, None for its shell; `told`: what status
    says; `before`: what the person does first; `leave`: how the client is left."""

    words: tuple[str, ...]
    told: str
    leave: tuple[str, ...]
    tool: Answer | None = None
    key: str = "\r"
    before: tuple[dict[str, Any], ...] = ()


CODEX = ("--dangerously-bypass-hook-trust", "-a", "on-request", "-s", "workspace-write")
ESCALATED = {
    "cmd": "touch made.txt",
    "sandbox_permissions": "require_escalated",
    "justification": "as the test says",
}
# Qwen Code asks once about the project's server.
APPROVED = ({"sees": "Untrusted MCP server", "type": ["\r"]},)
QUIT, EXIT, INTERRUPT = ("/quit", "\r"), ("/exit", "\r"), ("\x03", "\x03")
PERMISSIONS = {
    "claude": Prompt(
        ("--permission-mode", "default", "Go."), "May Bash run: touch made.txt?", EXIT
    ),
    "codex": Prompt(
        (*CODEX, "Go."),
        "May Bash run: touch made.txt?",
        INTERRUPT,
        tool={"tool": "exec_command", "input": ESCALATED},
        key="y",
    ),
    "gemini": Prompt(
        ("-m", "gemini-2.5-flash", "--prompt-interactive", "Go."),
        "May a shell run: touch made.txt?",
        QUIT,
    ),
    "opencode": Prompt(("--prompt", "Go."), "May bash run: touch made.txt?", INTERRUPT),
    "qwen": Prompt(
        ("--approval-mode", "default", "--prompt-interactive", "Go."),
        "May run_shell_command run: touch made.txt?",
        QUIT,
        before=APPROVED,
    ),
    "copilot": Prompt(("--interactive", "Go."), "May bash run: touch made.txt?", EXIT),
}
QUESTIONS = {
    "claude": PERMISSIONS["claude"]._replace(
        tool={"tool": "AskUserQuestion", "input": {"questions": [ASKED]}}
    ),
    "gemini": PERMISSIONS["gemini"]._replace(
        tool={"tool": "ask_user", "input": {"questions": [{**ASKED, "type": "choice"}]}}
    ),
    "opencode": PERMISSIONS["opencode"]._replace(
        tool={"tool": "question", "input": {"questions": [ASKED]}}
    ),
    "qwen": PERMISSIONS["qwen"]._replace(
        tool={"tool": "ask_user_question", "input": {"questions": [ASKED]}}, key="\r\r"
    ),
    "copilot": PERMISSIONS["copilot"]._replace(
        tool={"tool": "ask_user", "input": {"message": QUESTION, "requestedSchema": SCHEMA}}
    ),
}


@pytest.fixture
def asking(request: pytest.FixtureRequest, repository: Path, tmp_path: Path) -> Client:
    """A client that asks before it uses its shell, with holdfast installed."""
    kind = next(kind for kind in KINDS if kind.name == request.param)
    client = ready(kind, repository, tmp_path / "home")
    client.install()
    if client.name == "opencode":
        file = client.home / ".config" / "opencode" / "opencode.json"
        settings = json.loads(file.read_text())
        file.write_text(json.dumps({**settings, "permission": {"bash": "ask"}}))
    return client


def look_until(client: Client, told: str, file: Path, *, is_asked: bool) -> dict[str, Any]:
    """A command beside the client: the status, as soon as it says this or no longer does. The client
    shows its prompt while its hook still runs."""
    found = "" if is_asked else "! "
    status = f"{client.program('holdfast')} status --json >{file}"
    look = (
        f"{status}; {found}grep -qF 'waits for you in {client.project}: {told}\"' {file} && break"
    )
    return {"command": ["sh", "-c", f"for i in $(seq 60); do {look}; sleep 0.5; done"]}


def told_by(file: Path) -> list[str]:
    attention = json.loads(file.read_text())["data"]["attention"]
    return [one["what"] for one in attention if "waits for you" in one["what"]]


def story(client: Client, prompt: Prompt, shown: str, told: str, folder: Path) -> None:
    """The client asks, status says so, the person answers, and status says it no longer."""
    while_asked, after = folder / "asked.json", folder / "after.json"
    environment = {**client.environment(), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    answered = {"run": look_until(client, told, while_asked, is_asked=True)}
    gone = {"run": look_until(client, told, after, is_asked=False)}
    run = client.start(
        list(prompt.words),
        [prompt.tool or client.shell("touch made.txt"), {"text": "FINISHED"}],
        environment=environment,
        steps=[
            *prompt.before,
            {"sees": shown, "type": []},
            {**answered, "type": list(prompt.key)},
            {"asked": 2, "again": prompt.key, "type": []},
            {**gone, "type": list(prompt.leave)},
        ],
    )
    assert while_asked.exists(), run.told
    (what,) = told_by(while_asked)
    assert what.endswith(f" waits for you in {client.project}: {told}"), run.told
    assert after.exists(), run.told
    assert not [what for what in told_by(after) if what.endswith(told)], run.told


@pytest.mark.parametrize("asking", PERMISSIONS, indirect=True)
def test_a_permission_prompt_waits_for_the_person_until_it_is_answered(
    asking: Client, tmp_path: Path
) -> None:
    prompt = PERMISSIONS[asking.name]
    story(asking, prompt, "touch made.txt", prompt.told, tmp_path)
    assert (asking.project / "made.txt").exists()


@pytest.mark.parametrize("asking", QUESTIONS, indirect=True)
def test_a_question_of_the_agent_waits_until_it_is_answered(asking: Client, tmp_path: Path) -> None:
    story(asking, QUESTIONS[asking.name], QUESTION, QUESTION, tmp_path)
