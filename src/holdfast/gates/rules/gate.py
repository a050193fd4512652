"""Gates: a question for a person is a row, never a parked process. The rules of `gate:<id>` streams.

What was asked never changes; it is answered once, by a person or, where the gate says so, by time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from holdfast.gates.rules.content import (
    DECISION,
    Content,
    GateAnswer,
    decline,
    inert,
    is_sound,
    understand,
)
from holdfast.gates.rules.picture import are_sound
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.blank import blank
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import Conflict, HoldfastError, NotAllowed, Usage
from holdfast.kernel.rules import Decision, Person, absorb_nothing, render_nothing
from holdfast.kernel.text import one_line, quote

if TYPE_CHECKING:
    from holdfast.gates.rules.picture import Picture
    from holdfast.journal.interface import Event
    from holdfast.kernel.rules import Wish

    class Asker(TypedDict):
        """Who asks, from where, and when."""

        by: str
        session: str
        agent: str
        worktree: str
        at: str

    class Withdrawn(TypedDict):
        """Who took a question back, and why. Records of earlier versions have no `person`."""

        by: str
        why: str
        at: str
        person: NotRequired[dict[str, str]]


class GateState(TypedDict):
    """One gate; before it is asked, `content` and `asked` are None. `phase` collects it for the end of that
    phase when it is a `batch` one; `presented_at` is when a person could first be asked. `pictures` stand
    beside the question."""

    id: str
    content: Content
    digest: str
    pictures: list[Picture]
    asked: Asker
    batch: bool
    phase: str
    holds: str
    cost_tokens: int | None
    expires_at: str
    default: str
    presented_at: str
    notified: int
    notified_at: str
    answer: GateAnswer | None
    withdrawn: Withdrawn | None
    # An answer that lacks the signature which `gate.signers` asks for; set by readers.
    uncounted: NotRequired[GateAnswer]
    uncounted_why: NotRequired[str]


# Its state is made from records alone; see `kernel.state`.
PROVEN = True
NOTICE = "gate_notice"
# A client's dialogue. Programs can answer those, too.
ELICITATION = "elicitation"
LONGEST_ID = 64
LARGEST_CONTENT = 100_000
NOTICE_TITLE = 120
LONGEST_WHY = 500
# What only a person does to a gate.
ANSWERS = ("answered", "expired")
PERSONS = ("answer", "withdraw")


def stream_of(id: str) -> str:
    """The stream of a gate; an id that could not be one is refused."""
    plain = id.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isascii() or not plain.isalnum() or id.startswith(".") or len(id) > LONGEST_ID:
        raise Usage(
            f"{id!r} cannot name a gate.",
            hint=f"Letters, digits, '-', '_' and '.', at most {LONGEST_ID}, no '.' in front.",
        )
    return f"gate:{id}"


def initial(stream: str) -> GateState:
    return blank(GateState, id=stream.partition(":")[2])


def is_asked(state: GateState) -> bool:
    """Return whether there is such a gate; its state before it was asked has no content."""
    return state["content"] is not None


def is_open(state: GateState) -> bool:
    return is_asked(state) and not is_over(state)


def is_over(state: GateState) -> bool:
    """Whether a gate was answered, or its question taken back."""
    return state["answer"] is not None or state.get("withdrawn") is not None


def withdrawn_of(state: GateState) -> Withdrawn | None:
    """None of a gate whose state was kept before there was such a thing."""
    return state.get("withdrawn")


def pictures_of(state: GateState) -> list[Picture]:
    """None of a gate whose state was kept before there were any."""
    return state.get("pictures", [])


def is_blocking(state: GateState) -> bool:
    """Whether something waits for the answer: all but what is collected for later, and holds nothing
    up until then."""
    return not state["batch"] or bool(state["presented_at"]) or bool(state["holds"])


def decide(state: GateState, command: Any, now: int) -> Decision:
    """`open`, `present`, `notify`, `expire`; and as a person: `answer`, `withdraw`."""
    if command["do"] == "open":
        return _open(state, command, now)
    if command["do"] in PERSONS and not isinstance(command.get("person"), Person):
        raise NotAllowed(f"Only a person may {command['do']} a gate.", kind="no_person")
    if command["do"] == "answer":
        return _answer(state, command, now)
    if command["do"] == "withdraw" and state["answer"] is not None:
        raise already(state)
    if not is_open(state):
        return Decision()
    if command["do"] == "withdraw":
        why, person = str(command["why"])[:LONGEST_WHY], command["person"]
        body = {"by": person["name"], "why": why, "at": clock.stamp(now), "person": person}
        return Decision([("withdrawn", body)])
    if command["do"] == "present":
        return Decision([] if state["presented_at"] else [("presented", {"at": clock.stamp(now)})])
    if command["do"] == "notify":
        return _notify(state, command, now)
    return _expire(state, now)


def _open(state: GateState, command: Any, now: int) -> Decision:
    refuse_unsound(command)
    content: Content = command["content"]
    refuse_unfit(content, strict=command["strict"])
    digest = digest_of(content)
    if is_asked(state):
        if state["digest"] == digest and not is_over(state):
            return Decision()
        raise taken(state["id"])
    if len(canonical_json.dumps(content)) > LARGEST_CONTENT:
        raise Usage(
            f"The gate has more than {LARGEST_CONTENT} characters.",
            hint="A person should be able to read it in a minute.",
        )
    default = _default_of(content, command["expires_at"], command["default"], now)
    names = ("by", "session", "agent", "worktree")
    asked = {**{name: command["asked"][name] for name in names}, "at": clock.stamp(now)}
    kept = ("batch", "phase", "holds", "cost_tokens", "expires_at")
    body = {name: command[name] for name in kept}
    body.update(content=content, digest=digest, default=default, asked=asked)
    body.update(pictures=command.get("pictures", []))
    return Decision([("opened", body)])


def taken(id: str) -> Conflict:
    return Conflict(
        f"There is a gate {id} that asks something else, or is over.",
        hint="Give this one another name.",
        kind="gate_taken",
    )


def refuse_unsound(command: Any) -> None:
    texts = [command[name] for name in ("phase", "holds", "expires_at", "default")]
    texts += [command["asked"][name] for name in ("by", "session", "agent", "worktree")]
    cost = command["cost_tokens"]
    if not (
        is_sound(command["content"])
        and all(isinstance(text, str) for text in texts)
        and isinstance(command["batch"], bool)
        and are_sound(command.get("pictures", []))
        and (cost is None or (type(cost) is int and cost >= 0))
    ):
        raise Usage("This is no gate.", kind="bad_gate")


def digest_of(content: Content) -> str:
    """Of what was asked, before anything in it was redacted."""
    return id_of(canonical_json.dumps(content))


def refuse_unfit(content: Content, *, strict: bool) -> None:
    """A gate that breaks the automation-first rule is not opened."""
    from holdfast.gates.rules.lint import findings

    wrong = [one for one in findings(content, strict=strict) if one["level"] == "error"]
    if wrong:
        said = "; ".join(one["what"] for one in wrong)
        instead = " ".join(dict.fromkeys(one["instead"] for one in wrong))
        raise HoldfastError(f"Not a gate: {said}.", hint=instead, kind="gate_refused")


def _default_of(content: Content, expires_at: str, default: str, now: int) -> str:
    """What silence means, where the gate says so. Silence is not a look: it approves nothing."""
    if not expires_at and not default:
        return ""
    if not expires_at or not default:
        raise Usage(
            "An expiry and a default belong together.", hint="Give both --expires and --default."
        )
    if clock.parse(expires_at) <= now:
        raise Usage("The gate would expire at once.", hint="Give --expires a time to come.")
    read = understand(content, default)
    if content["type"] != DECISION and read["verdict"] == "yes":
        raise HoldfastError(
            f"Silence cannot mean {read['answer']}: no person would have looked.",
            hint="A default may be an issue's text here; of a decision, one of its options.",
            kind="gate_refused",
        )
    return default


def _answer(state: GateState, command: Any, now: int) -> Decision:
    if not is_asked(state):
        raise Usage(f"There is no gate {state['id']}.")
    if is_over(state):
        raise already(state)
    if command["person"]["channel"] == ELICITATION and is_blocking(state):
        raise NotAllowed(
            f"Gate {state['id']} holds work up: what a client's dialogue says does not answer it.",
            hint=f"A person answers in a terminal of their own: holdfast gate answer {quote(state['id'])}",
            kind="no_person",
        )
    given = {"person": command["person"], "saw": command["saw"], "at": clock.stamp(now)}
    return Decision([("answered", {**read_answer(state["content"], command), **given})])


def read_answer(content: Content, command: Any) -> GateAnswer:
    """What a person's command answers."""
    no = command.get("no")
    read = decline(command["answer"]) if no else understand(content, command["answer"])
    if read["verdict"] == "yes" and command.get("note"):
        read["text"] = command["note"]
    return read


def subject_of(state: GateState) -> dict[str, object]:
    """Which question a signature is about: another round, a changed text and another workspace are
    others."""
    content = id_of(canonical_json.dumps(state["content"]))
    return {"gate": state["id"], "asked": state["asked"], "content": content}


def said_of(answer: GateAnswer) -> dict[str, str]:
    """What a signature says about the question."""
    return {"verdict": answer["verdict"], "answer": answer["answer"], "text": answer["text"]}


def describe(answer: GateAnswer) -> str:
    """Return what was chosen, or why not: `approved`, `no: the button is gone`."""
    return answer["answer"] if answer["verdict"] == "yes" else f"no: {answer['text']}"


def already(state: GateState) -> Conflict:
    """Another person was first: say who, and what they answered."""
    answer, taken_back = state["answer"], withdrawn_of(state)
    if answer is None and taken_back is not None:
        return Conflict(
            f"Gate {state['id']} was withdrawn by {taken_back['by']} at {taken_back['at']}: "
            f"{taken_back['why']}.",
            hint=f"holdfast gate show {quote(state['id'])}",
            kind="gate_withdrawn",
        )
    assert answer is not None
    who = answer["person"]["name"] if answer["person"] else "its own expiry"
    return Conflict(
        f"Gate {state['id']} was answered by {who} at {answer['at']}: {describe(answer)}. Yours does not count.",
        hint=f"holdfast gate show {quote(state['id'])}",
        kind="gate_answered",
    )


def _expire(state: GateState, now: int) -> Decision:
    content, expires_at = state["content"], state["expires_at"]
    if not expires_at or clock.parse(expires_at) > now:
        return Decision()
    answer: GateAnswer = {**understand(content, state["default"]), "at": clock.stamp(now)}
    return Decision([("expired", answer)])


def _notify(state: GateState, command: Any, now: int) -> Decision:
    """Say once that a gate waits, and again after each interval; never for one that is collected."""
    if not is_notice_due(state, command["interval"], now):
        return Decision()
    body: dict[str, object] = {
        "gate": state["id"],
        "title": one_line(inert(state["content"]["title"]), NOTICE_TITLE),
        "number": state["notified"] + 1,
    }
    # An effect each: when one address fails and is tried again, the others are not told twice.
    wishes: list[Wish] = [
        {"kind": NOTICE, "key": f"{state['id']}/{address}", "body": {**body, "address": address}}
        for address in range(command["addresses"])
    ]
    return Decision([("notified", {"at": clock.precise(now)})], effects=wishes)


def is_notice_due(state: GateState, interval: int, now: int) -> bool:
    """`interval` in milliseconds; 0 is no reminder after the first word."""
    if not is_open(state) or (state["batch"] and not state["presented_at"]):
        return False
    if not state["notified"]:
        return True
    return interval > 0 and now - clock.parse(state["notified_at"]) >= interval


def apply(state: GateState, event: Event) -> GateState:
    body = event["body"]
    if event["kind"] == "opened":
        presented = "" if body["batch"] else body["asked"]["at"]
        return {**state, **body, "presented_at": presented}
    if event["kind"] == "presented":
        return {**state, "presented_at": body["at"]}
    if event["kind"] == "notified":
        return {**state, "notified": state["notified"] + 1, "notified_at": body["at"]}
    if event["kind"] in ANSWERS:
        return {**state, "answer": body}
    if event["kind"] == "withdrawn":
        return {**state, "withdrawn": body}
    return state


absorb, render = absorb_nothing, render_nothing
