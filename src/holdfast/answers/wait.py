"""Put a client's question where its person can answer it elsewhere, and wait for the answer.

This runs in a hook of the client. Whatever goes wrong, it says nothing, and the client's own dialogue has the question.
"""

from __future__ import annotations

import os
import time
from select import POLLERR, poll
from signal import alarm

from holdfast import registry
from holdfast.answers.rules import questions as rules
from holdfast.clients.table import capability
from holdfast.hooks import marks
from holdfast.kernel import canonical_json, clock, config, latch
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.digest import new_id
from holdfast.kernel.door import Door
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.trust import signers_of
from holdfast.people.page_open import is_open
from holdfast.processes.agent_process import process_of
from holdfast.session import client_questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.answers.rules.questions import Answer, Choice, Question
    from holdfast.clients.events import HookEvent, HookOutcome
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer

# Beside its own dialogue a client may wait for long; one that shows nothing meanwhile may not. `init` gives its hook more.
MAX_SECONDS, MAX_HELD_SECONDS = 3600, 600
# Milliseconds between two looks at the files; seconds after which the journal and the page are looked at anyway.
LOOK_EVERY, LOOK_AGAIN = 100, 1.0
# What a person can read on a telephone. What is longer can be denied there, and allowed where all of it is shown.
LONGEST_TEXT = 20_000
LONGEST_LABEL, MOST_OPTIONS = 300, 20
# Seconds that the hook has for all but waiting; then it ends, whatever holds it up.
WATCHDOG_SECONDS = 15
ID_LENGTH = 8


def put_and_wait(event: HookEvent, client: str, workspace: Workspace, now: int) -> HookOutcome:
    """Ask, and return the answer that a person gave elsewhere; empty where no person did."""
    facts = capability(client, "answered elsewhere")
    settings = config.settings_of(workspace)
    if event.has_dialogue_beside:
        seconds = min(settings["answers.wait_seconds"], MAX_SECONDS)
    else:
        seconds = min(settings["answers.hold_seconds"], MAX_HELD_SECONDS)
    choices = _list_choices(event)
    if seconds <= 0 or (choices and not facts.OBEYS_CHOICES):
        return {}
    _set_watchdog(seconds)
    # The launcher would answer the next event, which says that the person answered there, without Python.
    marks.drop(client, event.session)
    writer = open_writer(workspace)
    question = _ask(writer, event, client, choices, seconds, now)
    why, answer = _wait(workspace, question, seconds, is_held=not event.has_dialogue_beside)
    _set_watchdog(0)
    try:
        command = {"do": "end", "id": question["id"], "why": why}
        commit(writer, [Order(rules.STREAM, command)], actor=client, now=clock.now())
    except HoldfastError:
        pass  # the page sees that this process is gone
    if answer is None or why != rules.GIVEN:
        return {}
    client_questions.forget(workspace, event.session)
    return {
        "permit": {
            "allow": answer["verdict"] != rules.DENY,
            "message": Door(workspace, opens=True).text(answer["text"]),
            "chosen": answer["chosen"],
        }
    }


def _set_watchdog(seconds: float) -> None:
    if registry.is_closed():  # this process is a hook
        alarm(int(seconds) + WATCHDOG_SECONDS)


def _ask(
    writer: Writer, event: HookEvent, client: str, choices: list[Choice], seconds: int, now: int
) -> Question:
    """Record the question. Return it as a person will be shown it."""
    text = "" if choices else _describe(event.given)
    asked: Any = {
        "id": f"q-{new_id()[:ID_LENGTH]}",
        "client": client,
        "session": event.session,
        "worktree": writer.workspace.root,
        "folder": event.folder or writer.workspace.root,
        "asks": event.asks,
        "tool": event.tool,
        "text": text[:LONGEST_TEXT],
        "is_whole": len(text) <= LONGEST_TEXT,
        "choices": choices,
        "process": process_of(os.getpid()),
        "at": clock.precise(now),
        "until": clock.precise(now + seconds * 1000),
    }
    # Cleaned here: what is shown has to be what is kept.
    question: Question = writer.redactor.value(asked, canonical_json.dumps(asked))
    order = Order(rules.STREAM, {"do": "ask", **question})
    commit(writer, [order], actor=client, now=now)
    return question


def _describe(given: dict[str, Any]) -> str:
    """Return a tool's input as a person reads it, all of it: a shell's command first."""
    parts = [given["command"]] if isinstance(given.get("command"), str) else []
    for name, value in given.items():
        if name == "command" and parts:
            continue
        text = value if isinstance(value, str) else canonical_json.dumps(value)
        parts.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n\n".join(parts)


def _list_choices(event: HookEvent) -> list[Choice]:
    """Return the questions that an agent asks with options; none for a permission."""
    questions = event.given.get("questions")
    found: list[Choice] = []
    for one in questions if isinstance(questions, list) else ():
        if not isinstance(one, dict) or not isinstance(one.get("question"), str):
            return []
        options = [
            {
                "label": option["label"][:LONGEST_LABEL],
                "description": str(option.get("description") or "")[:LONGEST_LABEL],
            }
            for option in one.get("options") or ()
            if isinstance(option, dict) and isinstance(option.get("label"), str)
        ][:MOST_OPTIONS]
        several = bool(one.get("multiSelect") or one.get("multiple"))
        found.append({"question": one["question"], "options": options, "several": several})
    return found


def _wait(
    workspace: Workspace, question: Question, seconds: float, *, is_held: bool
) -> tuple[str, Answer | None]:
    """Return what became of the question. `is_held`: the client shows nothing while this waits."""
    asked_there = client_questions.path_of(workspace, question["session"])
    ears, deadline = poll(), time.monotonic() + seconds
    # Told when nobody reads any more what this hook says: the client has ended.
    ears.register(1, POLLERR)
    seen, look_again = (0, 0), 0.0
    while True:
        now = time.monotonic()
        if not os.path.exists(asked_there):
            return rules.WENT_ON, None
        written = _journal_state(workspace)
        if written != seen or now >= look_again:
            # Twice after a change: two writes can have one time.
            look_again = now + (LOOK_AGAIN if written == seen else 0)
            seen = written
            why, answer = _look(workspace, question)
            if why:
                return why, answer
            if is_held and not is_open(workspace):
                return rules.CLOSED, None
        if now >= deadline:
            return rules.TIMED_OUT, None
        if ears.poll(LOOK_EVERY):
            return rules.GONE, None


def _journal_state(workspace: Workspace) -> tuple[int, int]:
    """Return what changes in the journal's file with each record. It is not opened: that would drop its locks."""
    try:
        found = os.stat(f"{workspace.journal_path}-wal")
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _look(workspace: Workspace, question: Question) -> tuple[str, Answer | None]:
    """Return what the records say: nothing while nobody answered."""
    state = load(workspace.journal, rules, rules.STREAM)[0]
    known = rules.find(state, question["id"])
    if known is None:
        return rules.UNCOUNTED, None  # purged, or another journal
    if known["ended"]:
        return known["ended"], None
    answer = known["answer"]
    if answer is None:
        return "", None
    if not _counts(workspace, question, answer):
        return rules.UNCOUNTED, None
    if answer["verdict"] == rules.LEAVE:
        return rules.LEFT, None
    if answer["verdict"] != rules.DENY and latch.read(workspace) is not None:
        return rules.STOPPED, None
    return rules.GIVEN, answer


def _counts(workspace: Workspace, question: Question, answer: Answer) -> bool:
    """Return whether a person answered what this hook asked, and signed that where signatures are wanted."""
    if answer["shown"] != rules.digest_of(question):
        return False
    if not signers_of(workspace):
        return True
    from holdfast.kernel.signatures import counts

    purpose, said = rules.purpose_of(question["id"]), rules.said_of(answer)
    return counts(workspace, answer["person"], purpose, rules.subject_of(question), said)
