"""What clients asked their person, and what people answered: the one `questions:workspace` stream.

A question is asked by the hook of a client, which waits for the answer. It is answered once, by a person, and the answer
names the digest of what that person was shown: an answer to anything else is none.
"""

from __future__ import annotations

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import Conflict, NotAllowed, NotFound, Usage
from holdfast.kernel.rules import Decision, Person
from holdfast.kernel.text import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change
    from holdfast.processes.agent_process import AgentProcess

    class Choice(TypedDict):
        """One question with options; `several` of them may be chosen."""

        question: str
        options: list[dict[str, str]]
        several: bool

    class Answer(TypedDict):
        """`chosen` are the labels for each choice, `text` is the reason of a denial. `shown` is the digest of what
        the person saw."""

        verdict: str
        text: str
        chosen: list[list[str]]
        shown: str
        person: dict[str, str]
        at: str

    class Question(TypedDict):
        """`text` is what the client wants to do, `is_whole` says that none of it is left out; `choices` are there if
        the agent asks. `process` is the hook that waits until `until`. `ended` says what became of it."""

        id: str
        client: str
        session: str
        worktree: str
        folder: str
        asks: str
        tool: str
        text: str
        is_whole: bool
        choices: list[Choice]
        process: AgentProcess | None
        at: str
        until: str
        answer: Answer | None
        ended: str
        ended_at: str

    class QuestionsState(TypedDict):
        """`settled` are the latest that were answered or ended, the newest last."""

        open: list[Question]
        settled: list[Question]


# Its state is made from records alone; see `kernel.state`.
PROVEN = True
STREAM = "questions:workspace"
# So many settled ones stay in the state, each with the beginning of its text; all of it is in the records.
KEPT, KEPT_TEXT = 30, 2000
LONGEST_REASON = 2000
ALLOW, DENY, CHOOSE, LEAVE = "allow", "deny", "choose", "leave"
# What became of a question: its client was given the answer; a person left it to the terminal; the session went on at
# its own terminal; nobody answered in time; the hook, the client, or the page was gone; a stop holds; or the answer does
# not count.
GIVEN, LEFT, WENT_ON, TIMED_OUT, GONE, CLOSED, STOPPED, UNCOUNTED = (
    "given",
    "left",
    "went on",
    "timed out",
    "gone",
    "closed",
    "stopped",
    "uncounted",
)
ENDS = (GIVEN, LEFT, WENT_ON, TIMED_OUT, GONE, CLOSED, STOPPED, UNCOUNTED)
# What a person is shown: an answer is for exactly this.
_SHOWN = [
    "id",
    "client",
    "session",
    "worktree",
    "folder",
    "asks",
    "tool",
    "text",
    "is_whole",
    "choices",
    "at",
]
_ASKED = (*_SHOWN, "process", "until")


def initial(stream: str) -> QuestionsState:
    return {"open": [], "settled": []}


def digest_of(question: Question) -> str:
    """Return the digest of what a person is shown."""
    shown = {name: question[name] for name in _SHOWN}  # type: ignore[literal-required]
    return digest(canonical_json.dumps(shown).encode()).hex()


def find(state: QuestionsState, id: str) -> Question | None:
    """Return a question by its id; None where it is not known any more."""
    return next((one for one in (*state["open"], *state["settled"]) if one["id"] == id), None)


def decide(state: QuestionsState, command: Any, now: int) -> Decision:
    """`ask` and `end` of a hook; and as a person: `answer`."""
    if command["do"] == "ask":
        return _ask(state, command, now)
    if command["do"] == "end":
        known = find(state, command["id"])
        if known is None or known["ended"] or command["why"] not in ENDS:
            return Decision()
        return Decision([("ended", {"id": known["id"], "why": command["why"]})])
    if not isinstance(command.get("person"), Person):
        raise NotAllowed("Only a person may answer a client's question.", kind="no_person")
    return _answer(state, command, now)


def _ask(state: QuestionsState, command: Any, now: int) -> Decision:
    if find(state, command["id"]) is not None:
        raise Conflict(f"There is a question {command['id']} already.")
    late = [one["id"] for one in state["open"] if clock.parse(one["until"]) < now]
    records: list[tuple[str, Any]] = [("ended", {"id": id, "why": GONE}) for id in late]
    return Decision([*records, ("asked", {name: command[name] for name in _ASKED})])


def _answer(state: QuestionsState, command: Any, now: int) -> Decision:
    question = find(state, command["id"])
    if question is None:
        raise NotFound(f"There is no question {command['id']}.", hint="holdfast gate list")
    if question["answer"] is not None or question["ended"]:
        raise already(question)
    if clock.parse(question["until"]) < now:
        raise Conflict(
            f"Question {question['id']} waits no longer.",
            hint="Answer at the client's own terminal.",
            kind="question_over",
        )
    if command["shown"] != digest_of(question):
        raise Conflict(
            "This answer is for something else than what the client asks now.",
            hint="Look at the question again.",
            kind="question_changed",
        )
    verdict, chosen = command["verdict"], command["chosen"]
    _refuse_unfit(question, verdict, command["text"], chosen)
    body = {name: command[name] for name in ("id", "verdict", "text", "chosen", "shown", "person")}
    return Decision([("answered", body)])


def _refuse_unfit(question: Question, verdict: str, text: str, chosen: list[list[str]]) -> None:
    allowed = (CHOOSE, LEAVE) if question["choices"] else (ALLOW, DENY, LEAVE)
    if verdict not in allowed:
        said = ", ".join(allowed)
        raise Usage(f"{verdict!r:.40} is no answer to this question.", hint=f"One of: {said}.")
    if verdict == DENY and not text.strip():
        raise Usage("Why not?", hint="The agent reads the reason.")
    if len(text) > LONGEST_REASON:
        raise Usage(f"A reason has at most {LONGEST_REASON} characters.")
    if verdict == ALLOW and not question["is_whole"]:
        raise Usage(
            "This is too long to be shown as a whole, so it cannot be allowed from here.",
            hint="Allow it at the client's own terminal, where all of it can be read.",
        )
    if verdict != CHOOSE:
        return
    is_complete = len(chosen) == len(question["choices"]) and all(chosen)
    if not is_complete or sum(len(one) for row in chosen for one in row) > LONGEST_REASON:
        raise Usage("Each of its questions needs an answer.", hint="Choose, or write your own.")
    for row, choice in zip(chosen, question["choices"], strict=True):
        if len(row) > 1 and not choice["several"]:
            raise Usage(f"Only one answer fits: {choice['question']:.100}")


def said_of(answer: Any) -> dict[str, Any]:
    """Return what a signature says about a question."""
    return {name: answer[name] for name in ("verdict", "text", "chosen")}


def subject_of(question: Question) -> dict[str, str]:
    """Return which question a signature is about."""
    return {"question": question["id"], "shown": digest_of(question)}


def purpose_of(id: str) -> str:
    """Return what a person does who answers, in a signature and in the record of a refused attempt."""
    return f"answer question {id}"


def already(question: Question) -> Conflict:
    """Say what became of a question before this answer came."""
    return Conflict(
        f"Question {question['id']} waits no longer: {outcome_of(question)}",
        hint=f"holdfast gate show {quote(question['id'])}",
        kind="question_answered" if question["answer"] else "question_over",
    )


OUTCOMES = {
    GIVEN: "the client was given it.",
    LEFT: "the client's own dialogue has the question.",
    WENT_ON: "it was answered at the client's own terminal, or the session went on.",
    TIMED_OUT: "nobody answered here in time. The client's own dialogue has the question.",
    GONE: "the client no longer waits for it.",
    CLOSED: "the page was closed. The client's own dialogue has the question.",
    STOPPED: "a stop holds, so nothing was allowed.",
    UNCOUNTED: "the answer did not count (gate.signers, or it was for something else).",
}


def outcome_of(question: Question) -> str:
    """Return what became of a question, in words; empty while it waits."""
    answer = question["answer"]
    after = OUTCOMES.get(question["ended"], "")
    if answer is None:
        return after
    words = {
        ALLOW: "allowed once",
        DENY: f"denied: {answer['text']}",
        CHOOSE: "; ".join(", ".join(row) for row in answer["chosen"]),
        LEAVE: "left to the terminal",
    }
    said = f"{words[answer['verdict']]}, by {answer['person'].get('name', '')}"
    return f"{said}; {after}" if after else f"{said}."


def apply(state: QuestionsState, event: Event) -> QuestionsState:
    body = event["body"]
    if event["kind"] == "asked":
        fresh: Any = {**body, "answer": None, "ended": "", "ended_at": ""}
        return {**state, "open": [*state["open"], fresh]}
    if event["kind"] not in ("answered", "ended"):
        return state
    known = find(state, body["id"])
    if known is None:
        return state
    if event["kind"] == "answered":
        names = ("verdict", "text", "chosen", "shown", "person")
        given: Any = {**{name: body[name] for name in names}, "at": event["at"]}
        changed: Question = {**known, "answer": given}
    else:
        changed = {**known, "ended": body["why"], "ended_at": event["at"]}
    changed["text"] = changed["text"][:KEPT_TEXT]
    others = [one for one in state["settled"] if one["id"] != known["id"]]
    return {
        "open": [one for one in state["open"] if one["id"] != known["id"]],
        "settled": [*others, changed][-KEPT:],
    }


def absorb(
    state: QuestionsState, base: QuestionsState, change: Change, now: int
) -> list[tuple[str, Any]]:
    return []


def render(state: QuestionsState) -> dict[str, str]:
    return {}
