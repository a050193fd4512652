"""What an answer means: the word that goes on, an option, or what is wrong."""

from __future__ import annotations

from holdfast.gates.rules.content import ACTION, APPROVED, DECISION, DONE, VERIFY, listed
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from holdfast.gates.rules.content import Content

    class GateAnswer(TypedDict):
        """What was answered. Without a person, the gate's own time ran out. `saw` is what the person
        had before them."""

        verdict: Literal["yes", "no"]
        answer: str
        text: str
        person: dict[str, str] | None
        saw: str
        at: str


def understood(content: Content, text: str) -> GateAnswer:
    """What a text answers; trimmed, and whatever its case; AMB-PILOT-20."""
    said = text.strip()
    word = said.casefold()
    if not said:
        raise Usage("The answer is empty.", hint=hint_for(content))
    if content["type"] == DECISION:
        for option in content["options"]:
            if option["id"].casefold() == word:
                return _read("yes", option["id"], "")
        raise Usage(f"{said!r} is none of the options.", hint=hint_for(content))
    if word == {VERIFY: APPROVED, ACTION: DONE}[content["type"]]:
        return _read("yes", word, "")
    return _read("no", {VERIFY: "issues", ACTION: "not done"}[content["type"]], said)


def declined(text: str) -> GateAnswer:
    """A plain no, to whatever was asked."""
    if not text.strip():
        raise Usage("A no needs a reason.", hint='holdfast gate answer ID --no "why not"')
    return _read("no", "declined", text.strip())


def hint_for(content: Content) -> str:
    if content["type"] == DECISION:
        return f"Select: {listed([option['id'] for option in content['options']])}"
    return content["signal"]


def _read(verdict: Literal["yes", "no"], answer: str, text: str) -> GateAnswer:
    return {
        "verdict": verdict,
        "answer": answer,
        "text": text,
        "person": None,
        "saw": "",
        "at": "",
    }
