"""Sessions that go on with the work of others, through the clients' own transcripts and through the hooks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.claude import sessions as claude
from holdfast.kernel import clock
from holdfast.session.client_start import first_prompt
from holdfast.session.session_files import HANDED_OVER_VARIABLE
from tests.session import world
from tests.session.world import Holdfast, hook

holdfast, home = world.holdfast, world.home

REQUEST = "Rewrite the totals of the basket so that every line keeps its own rounding, and test it."
RULE = "Never touch the schema of orders."


class Sessions:
    """Claude Code's sessions in a repository, one after the other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.number = 0

    def leave(self, *prompts: str, works: bool = True) -> tuple[str, str]:
        """A session with these prompts that was killed; its id and its transcript."""
        self.number += 1
        id = f"{self.number:08d}-0000-4000-8000-000000000000"
        path = Path(claude.folder_of(str(self.root))) / f"{id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        content: list[tuple[str, Any]] = [("user", prompt) for prompt in prompts]
        if works:
            given = {"command": f"pytest tests/{self.number}"}
            call = {"type": "tool_use", "id": f"t{self.number}", "name": "Bash", "input": given}
            ended = {"type": "tool_result", "tool_use_id": f"t{self.number}", "content": "ok"}
            content += [("assistant", [call]), ("user", [ended])]
        written = clock.now() - clock.HOUR + self.number * clock.MINUTE
        head = {"cwd": str(self.root), "sessionId": id, "timestamp": clock.precise(written)}
        lines = [
            {**head, "type": kind, "message": {"role": kind, "id": f"m{place}", "content": said}}
            for place, (kind, said) in enumerate(content)
        ]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        os.utime(path, (written / 1000, written / 1000))
        return id, str(path)


@pytest.fixture
def sessions(repository: Path, home: Path) -> Sessions:
    return Sessions(repository)


def test_grandchildren(sessions: Sessions, holdfast: Holdfast) -> None:
    """Without any set-up: ten sessions that were each told to go on still know the request and the rule."""
    sessions.leave(f"{REQUEST} {RULE}")
    for word in ("Go on where you stopped.", "continue", "weiter", "yes do that") * 2:
        sessions.leave(word)
    sessions.leave("Go on where you stopped.")
    pack = holdfast("resume").out
    assert f"## Request under way\n  {REQUEST}" in pack
    assert "then: Go on where you stopped." in pack
    assert RULE in pack


def test_what_the_sessions_before_found_is_told(sessions: Sessions, holdfast: Holdfast) -> None:
    """Each finding stands under the word to go on of its own session."""
    found = [
        "The rounding is lost because the totals are kept as cents.",
        "The invoice adds the tax twice, once for each line.",
    ]
    for word, said in ((f"{REQUEST} {RULE}", found[0]), ("continue, please", found[1])):
        _, path = sessions.leave(word)
        line = json.loads(Path(path).read_text().splitlines()[-1])
        line |= {"type": "assistant"}
        line["message"] = {
            "role": "assistant",
            "id": "m9",
            "content": [{"type": "text", "text": said}],
        }
        modified = os.stat(path).st_mtime
        with Path(path).open("a") as file:
            file.write(json.dumps(line) + "\n")
        os.utime(path, (modified, modified))
    for _ in range(2):
        sessions.leave("Go on where you stopped.")
    told = holdfast("resume").out.partition("## What happened")[2]
    assert found[0] in told
    assert f"- Person: continue, please\n  {found[1]}" in told


def test_a_request_of_its_own_is_the_one_under_way(sessions: Sessions, holdfast: Holdfast) -> None:
    sessions.leave(f"{REQUEST} {RULE}")
    own = "Write the notes of the release, with all that changed since the last one."
    sessions.leave("continue", own)
    pack = holdfast("resume").out
    assert f"## Request under way\n  {own}" in pack
    assert RULE in pack, "rules hold until they are taken back"
    sessions.leave(own)
    assert RULE not in holdfast("resume").out, "it did not go on with the work of another"


@pytest.mark.parametrize("asked", ["Where are we with the totals of the basket, and what is left?"])
def test_a_trivial_session_is_not_the_work(
    asked: str, sessions: Sessions, holdfast: Holdfast
) -> None:
    worked, _ = sessions.leave(f"{REQUEST} {RULE}")
    sessions.leave(asked, works=False)
    found = holdfast("resume", "--json").data
    assert found["session"] == worked
    assert f"## Request under way\n  {REQUEST}" in found["pack"]
    assert f"## Asked since, in sessions without a tool call\n- {asked}" in found["pack"]


def test_where_nothing_was_done_in_any_the_newest_is_shown(
    sessions: Sessions, holdfast: Holdfast
) -> None:
    sessions.leave(REQUEST, works=False)
    newest, _ = sessions.leave("Where are we?", works=False)
    assert holdfast("resume", "--json").data["session"] == newest


def test_grandchildren_through_the_hooks(sessions: Sessions, holdfast: Holdfast) -> None:
    """With set-up: each session is given the pack of the one before, and dies."""
    holdfast("init")
    for prompt in (f"{REQUEST} {RULE}", "Go on where you stopped.", "continue"):
        id, path = sessions.leave(prompt)
        hook("SessionStart", "SessionStart.startup", session_id=id, transcript_path=path)
        hook("PreCompact", "PreCompact.auto", session_id=id, transcript_path=path)
        hook("SessionEnd", "SessionEnd.other", session_id=id, transcript_path=path)
    pack = holdfast("resume").out
    assert REQUEST in pack
    assert RULE in pack


def test_our_own_text_is_no_word_of_a_person(sessions: Sessions, holdfast: Holdfast) -> None:
    """A pack that was handed over, or pasted, is neither a request nor a title."""
    sessions.leave(f"{REQUEST} {RULE}")
    prompt = first_prompt(holdfast("resume", "--json").data)
    assert prompt.startswith(f"Continue this work: {REQUEST}")
    sessions.leave(prompt)
    found = holdfast("resume", "--json").data
    assert f"## Request under way\n  {REQUEST}" in found["pack"]
    assert "Holdfast: " not in found["pack"].partition("```data")[2]
    assert found["request"] == f"{REQUEST} {RULE}"
    title = holdfast("resume", "--list", "--json").data["sessions"][0]["request"]
    assert title == f"{REQUEST} {RULE}"
    sessions.leave(f"{found['pack']}\nNow write the notes of the release, and nothing else at all.")
    pasted = holdfast("resume", "--json").data
    assert pasted["request"] == "Now write the notes of the release, and nothing else at all."
    assert "Holdfast: " not in pasted["pack"].partition("```data")[2]


def test_a_session_that_was_handed_over_is_not_told_twice(
    sessions: Sessions, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("init")
    first, _ = sessions.leave(f"{REQUEST} {RULE}")
    newest, _ = sessions.leave("Write the notes of the release, with all that changed since then.")
    monkeypatch.setenv(HANDED_OVER_VARIABLE, first)
    told = hook("SessionStart", "SessionStart.startup", session_id="the-one-after").stdout.decode()
    assert "Request under way" not in told
    assert "holdfast checkpoint" in told
    listed = {
        one["session"]: one for one in holdfast("resume", "--list", "--json").data["sessions"]
    }
    assert listed[newest]["checkpoint"] == "", "the order of the person counts, not the newest"
    # An agent's own session within it is another one.
    told = hook("SessionStart", "SessionStart.startup", session_id="one-within").stdout.decode()
    assert "Write the notes of the release" in told


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "killed"])
def test_a_trivial_session_is_not_the_work_through_the_hooks(
    ends: bool, sessions: Sessions, holdfast: Holdfast
) -> None:
    """It took the work over at its start, asked where things stand, and did nothing."""
    holdfast("init")
    asked = "Where are we with the totals of the basket, and what is left?"
    worked, _ = sessions.leave(f"{REQUEST} {RULE}")
    for number in (1, 2):
        id = f"{number + 1:08d}-0000-4000-8000-000000000000"
        hook("SessionStart", "SessionStart.startup", session_id=id, transcript_path="")
        _, path = sessions.leave(asked if number == 1 else "continue", works=False)
        if ends:
            hook("SessionEnd", "SessionEnd.other", session_id=id, transcript_path=path)
    done = hook("SessionStart", "SessionStart.startup", session_id="the-last-one")
    told = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert f"Session {worked[:12]} of Claude Code" in told
    assert f"## Request under way\n  {REQUEST}" in told
    assert f"## Asked since, in sessions without a tool call\n- {asked}" in told
