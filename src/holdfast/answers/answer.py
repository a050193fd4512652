"""The side of the person: show what a client asks, identify the person, and record the answer once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.answers.rules import questions as rules
from holdfast.clients.table import title_of
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import NotFound
from holdfast.kernel.rules import Person
from holdfast.kernel.signatures import sign, text_of
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import command as command_line
from holdfast.kernel.text import harmless
from holdfast.kernel.workspace import Workspace
from holdfast.people import person as people
from holdfast.people.rules import people as refusal
from holdfast.processes.agent_process import process_state

if TYPE_CHECKING:
    from holdfast.answers.rules.questions import Question, QuestionsState
    from holdfast.people.rules.people import PeopleState, Refused


@dataclass(frozen=True, kw_only=True)
class ReplyRequest:
    """An answer to a question: `allow`, `deny` with a `text`, `choose` with the labels that are `chosen` for each choice,
    or `leave`.

    Without a `person`, the one at the terminal of this process is asked to identify themselves, and sees the question
    there. A page names its person, and the digest of what it has `shown`."""

    question: str
    verdict: str
    text: str = ""
    chosen: Sequence[Sequence[str]] = ()
    person: Person | None = None
    shown: str = ""


def read(workspace: Workspace) -> QuestionsState:
    """Return the questions that wait, and the latest that were settled."""
    if not workspace.exists() or workspace.journal.head(rules.STREAM) is None:
        return rules.initial(rules.STREAM)
    state: QuestionsState = load(workspace.journal, rules, rules.STREAM)[0]
    return state


def find_question(workspace: Workspace, word: str, *, now: int) -> Question:
    """Return a question by its id, or by a beginning of it that no other has, as it stands now."""
    state = read(workspace)
    known = [one for one in (*state["open"], *state["settled"]) if one["id"].startswith(word)]
    exact = [one for one in known if one["id"] == word]
    if len(exact or known) != 1:
        raise NotFound(f"There is no question {word:.40}.", hint="`holdfast gate list` lists them.")
    return as_it_stands((exact or known)[0], now)


def list_open(workspace: Workspace, now: int) -> list[Question]:
    """Return the questions that wait, the longest waiting first. One whose hook is gone waits no longer."""
    found = [as_it_stands(one, now) for one in read(workspace)["open"]]
    return [one for one in found if not one["ended"]]


def as_it_stands(question: Question, now: int) -> Question:
    """Return a question whose hook was killed as one that has ended; nobody recorded that."""
    if question["answer"] is not None or question["ended"]:
        return question
    is_late = clock.parse(question["until"]) < now
    if is_late or process_state(question["process"]) == "gone":
        return {**question, "ended": rules.GONE, "ended_at": question["until"] if is_late else ""}
    return question


def reply_to(workspace: Workspace, request: ReplyRequest, *, now: int) -> Question:
    """Record a person's answer to a client's question."""
    writer = open_writer(workspace)
    question = find_question(workspace, request.question, now=now)
    purpose, person = rules.purpose_of(question["id"]), request.person
    if person is not None:
        person = people.refuse_made_up(workspace, purpose, person, now=now)
        shown = request.shown
    else:
        chosen = "; ".join(", ".join(row) for row in request.chosen)
        said = " ".join(filter(None, (request.verdict, chosen, request.text)))
        lines = [*describe(question), f"Your answer: {harmless(said)}"]
        person = people.require(workspace, purpose, lines, now=now)
        shown = rules.digest_of(question)
        question = find_question(workspace, question["id"], now=clock.parse(person["at"]))
    if question["ended"]:
        raise rules.already(question)
    chosen_rows = [list(row) for row in request.chosen]
    command = {
        "do": "answer",
        "verdict": request.verdict,
        "text": request.text,
        "chosen": chosen_rows,
    }
    # Cleaned here: what is signed has to be what is kept.
    command = writer.redactor.value(command, canonical_json.dumps(command))
    subject = {"question": question["id"], "shown": shown}
    signed = text_of(purpose, subject, rules.said_of(command), "\n".join(describe(question)))
    typed = command_line("gate", "answer", question["id"], request.verdict)
    person = sign(workspace, person, signed, command=typed)
    order = Order(rules.STREAM, {**command, "id": question["id"], "shown": shown, "person": person})
    # Not through `execute`: an answer is never left in an inbox.
    commit(writer, [order], actor=person["name"], now=clock.parse(person["at"]))
    return find_question(workspace, question["id"], now=now)


def describe(question: Question) -> list[str]:
    """Return a question as lines for a person."""
    lines = [
        f"{title_of(question['client'])} {question['session'][:8]} in {question['folder']} asks:",
        question["asks"],
    ]
    if question["text"]:
        lines += ["", *question["text"].split("\n")]
    if not question["is_whole"]:
        lines.append("(the rest is too long to be shown here)")
    for choice in question["choices"]:
        lines += ["", choice["question"]]
        lines += [f"  {one['label']}: {one['description']}" for one in choice["options"]]
    return [harmless(line) for line in lines]


def refused_attempts(workspace: Workspace, id: str) -> list[Refused]:
    """Return who tried to answer this question without being a person, of the latest attempts."""
    if not workspace.exists() or workspace.journal.head(refusal.STREAM) is None:
        return []
    state: PeopleState = load(workspace.journal, refusal, refusal.STREAM)[0]
    return [one for one in state["latest"] if one["purpose"] == rules.purpose_of(id)]
