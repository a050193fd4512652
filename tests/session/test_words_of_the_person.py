"""What the person says by other ways than a prompt, and task lists in every form."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.clients.claude import transcript as claude_code
from holdfast.hooks.handlers import ASK
from holdfast.observe.fold import observe
from holdfast.pack.pack import render
from tests.clients.transcripts.lines import call, claude, events_of, packed, result

ASKED = claude(
    "user", "Rewrite the totals of the basket so that every line keeps its own rounding."
)


def queue(operation: str, content: str = "", *, at: str = "2026-11-18T14:02:10.000Z") -> bytes:
    line = {"type": "queue-operation", "operation": operation, "timestamp": at}
    return packed({**line, "content": content} if content else line)


def told(*lines: bytes, budget: int = 6000) -> str:
    parts: Any = {"seen": observe(None, events_of(claude_code, *lines))}
    return render(parts, budget)


def test_a_word_in_between() -> None:
    """What was typed while the agent worked stands beside the request, and is a rule if it is one."""
    pack = told(ASKED, queue("enqueue", "please don't amend commits"), queue("remove"))
    assert "then, while the agent worked: please don't amend commits" in pack
    later = claude("user", "Now write the notes of the release for all of it, with the new totals.")
    pack = told(ASKED, queue("enqueue", "please don't amend commits"), queue("remove"), later)
    assert pack.count("- please don't amend commits") == 1


def test_what_comes_again_as_a_prompt_is_told_once() -> None:
    words = "open up an appropriate branch off main"
    pack = told(ASKED, queue("enqueue", words), queue("dequeue"), claude("user", words))
    assert pack.count(words) == 1


def test_what_was_taken_back_was_not_said() -> None:
    pack = told(ASKED, queue("enqueue", "never touch the schema of orders"), queue("popAll"))
    assert "never touch" not in pack


def test_a_word_that_was_given_to_the_agent_cannot_be_taken_back() -> None:
    earlier = queue("enqueue", "keep the old names", at="2026-11-18T14:00:00.000Z")
    later = queue("enqueue", "drop the old names", at="2026-11-18T14:01:00.000Z")
    pack = told(ASKED, earlier, queue("remove"), later, queue("popAll"))
    assert "keep the old names" in pack
    assert "drop the old names" not in pack


def test_a_slash_command_that_starts_a_turn_is_a_request() -> None:
    name = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    pack = told(ASKED, claude("user", name))
    assert "## Request under way\n  /review\n" in pack
    assert "the longer request before it: Rewrite the totals" in pack
    assert "/model" not in told(ASKED, claude("user", "<command-name>/model</command-name>"))


def test_a_word_to_go_on_stands_below_what_goes_on() -> None:
    for word in ("continue", "yes do that", "weiter", "Go on where you stopped."):
        pack = told(ASKED, claude("user", word))
        assert pack.count("Rewrite the totals") == 1
        assert f"## Request under way\n  Rewrite the totals of the basket so that every line keeps its own rounding.\n  then: {word}\n" in pack  # fmt: skip


def test_the_next_step_is_no_finished_task() -> None:
    """A list that the client printed is the newest word on its tasks; they keep their numbers."""
    pack = told(
        ASKED,
        call("1", "TaskCreate", subject="Read the rounding rules"),
        result("1", "Task #9 created successfully"),
        call("2", "TaskList"),
        result("2", "#9 [completed] Read the rounding rules\n#10 [pending] Move the totals [blocked by #9]"),
    )  # fmt: skip
    assert (
        "## Tasks, 1 of 2 done\n- [ ] #10 Move the totals\n- [x] #9 Read the rounding rules" in pack
    )
    assert "## Next step\n- Move the totals (its first open task)" in pack


@pytest.mark.parametrize(
    "said", ["Stop now, checkpoint: Cost at $5, the limit is $4 (guard)", ASK.format(percent=60)]
)
def test_what_a_hook_says_at_a_stop_is_no_request_of_the_person(said: str) -> None:
    """opencode puts it in as a prompt."""
    pack = told(ASKED, claude("user", said))
    assert "Rewrite the totals" in pack
    assert said[:20] not in pack
