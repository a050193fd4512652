"""The door: whatever a person or an agent reads of a project, through every face of holdfast."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.api import open as open_workspace
from tests.mcp.world import Face
from tests.session import world
from tests.session.world import TRANSCRIPT, Conversation, Holdfast, hook, said
from tests.trusting import trust_settings
from tests.web.world import Visitor

holdfast = world.holdfast
home = world.home
conversation = world.conversation

# What a tool printed, and the part of it that nobody may read again. Put together here, so that no scanner
# takes this file for a leak.
AWS = "AKIA" + "Q3EGRLT7XWZ5MNB2"
PASSWORD = "Tr0ub4dorAnd3Horses"
BEARER = "q9Xk2LmZ7vRt4Wn8Yb3Pc6"
CHAT_TAIL = "aB3dE5fG7hJ9kL1mN2pQ"
LEAKS = {
    "a cloud key": (f"key {AWS} is used", AWS),
    "the password of a database": (f"postgres://app:{PASSWORD}@db.internal/main", PASSWORD),
    "a bearer token": (f"Authorization: Bearer {BEARER}", BEARER),
    "a chat token": (f"xoxb-2912345678-3912345678-{CHAT_TAIL}", CHAT_TAIL),
}
Shown = Callable[[], dict[str, str]]


@pytest.fixture
def shown(holdfast: Holdfast, repository: Path, home: Path) -> Shown:
    """Everything that the faces show of this repository, by face."""

    def look() -> dict[str, str]:
        texts: dict[str, str] = {}
        commands = (
            *(("resume",), ("resume", "--json"), ("resume", "--prompt-only"), ("resume", "--list")),
            *(("resume", "--list", "--json"), ("status",), ("status", "--json"), ("history",)),
            *(("history", "--json"), ("edits",), ("edits", "--json"), ("agent", "list"), ()),
            *(("gate", "list"), ("gate", "list", "--json"), ("resume", "--in", "codex", "--json")),
        )
        for words in commands:
            answer = holdfast(*words)
            texts[" ".join(("holdfast", *words))] = answer.out + answer.err
        if (repository / ".git/holdfast/journal.db").exists():
            for record in json.loads(texts["holdfast history --json"])["data"]["records"]:
                answer = holdfast("show", record["id"])
                texts[f"holdfast show {record['kind']}"] = answer.out + answer.err
        texts["MCP resume"] = repr(Face(repository).call("resume"))
        texts["MCP gate_status"] = repr(Face(repository).call("gate_status"))
        with open_workspace(str(repository)) as ws:
            texts["library"] = json.dumps(ws.resume())
        texts["start of a session"] = json.dumps(
            said(hook("SessionStart", "SessionStart.startup", session_id="another"))
        )
        with Visitor([str(repository)]) as visitor:
            visitor.sign_in()
            pages = ("/board", "/work", "/fleet", "/history", "/doctor")
            for path in (*pages, f"/w/{repository.name}/sessions/{TRANSCRIPT}"):
                answer = visitor.get(path)
                assert answer.status_code == 200
                texts[f"page {path}"] = answer.text
                texts[f"page {path}.json"] = visitor.get(f"{path}.json").text
        return texts

    return look


def assert_hidden(secret: str, texts: dict[str, str]) -> None:
    assert [face for face, text in texts.items() if secret in text] == []


@pytest.mark.parametrize("form", LEAKS)
@pytest.mark.parametrize("is_initialised", [False, True], ids=["bare", "journal"])
def test_no_face_names_a_secret_that_a_tool_printed(
    form: str, is_initialised: bool, conversation: Conversation, holdfast: Holdfast, shown: Shown
) -> None:
    printed, secret = LEAKS[form]
    if is_initialised:
        holdfast("note", "begun")
    conversation.call("Bash", {"command": "deploy --dry-run"}, None)
    result = {"type": "tool_result", "content": printed, "is_error": True}
    id = conversation.lines[-1]["message"]["content"][0]["id"]
    conversation.add("user", {"role": "user", "content": [{**result, "tool_use_id": id}]})
    conversation.leave()
    texts = shown()
    assert "deploy --dry-run" in texts["holdfast resume"]
    assert_hidden(secret, texts)


def test_no_face_shows_what_became_secret_after_it_was_stored(
    conversation: Conversation, holdfast: Holdfast, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "blue-Kestrel-4417"
    conversation.add("user", {"role": "user", "content": f"Use the door code {secret} for it."})
    conversation.plan(**{f"Try {secret} at the door": "in_progress"})
    conversation.leave()
    holdfast("note", f"the code is {secret}")
    holdfast("checkpoint", "--task", f"open it with {secret}", "--next", f"type {secret}")
    holdfast("gate", "verify", "--name", "door", "Door", "--how", f"Type {secret}")
    assert secret in holdfast("resume").out
    monkeypatch.setenv("DOOR_PASSWORD", secret)
    assert_hidden(secret, shown())


def test_a_rule_of_the_settings_counts_for_a_transcript_of_elsewhere(
    conversation: Conversation, holdfast: Holdfast, repository: Path
) -> None:
    conversation.add("user", {"role": "user", "content": "Look at ticket_Zebra77_inner please."})
    conversation.leave()
    (repository / "holdfast.toml").write_text('[redact.rules]\nticket = "Zebra[0-9]+"\n')
    trust_settings()
    assert "Zebra77" not in holdfast("resume", "--transcript", conversation.path).out
