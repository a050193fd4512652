"""The continuation prompt: its two lines, whether it is good enough, and the box around it."""

from __future__ import annotations

from holdfast.protocols.session.words import UNKNOWN_ISSUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.protocols.session.words import Progress

BOX_WIDTH = 50
CLOSING = "Copy this prompt into your next session's first message."
NEXT = "Next action: "


def compose(
    issue: str, position: tuple[int, int] | None, files: Sequence[str], next_action: str
) -> str:
    """The two lines of the protocol."""
    task = f"task {position[0]} of {position[1]}" if position else "unknown"
    named = ", ".join(files) if files else "see git status"
    return (
        f"Resume {issue}. Current task: {task}. Key files: {named}.\n{NEXT}{_sentence(next_action)}"
    )


def generic(issue: str) -> str:
    """What is printed when the file cannot be read; AMB-CCC-19."""
    return compose(issue, None, (), "re-read the issue and git log, then continue")


def position_of(progress: Progress) -> tuple[int, int] | None:
    """Which task of how many, as the file's own lists say."""
    done, left = len(progress["completed"]), len(progress["remaining"])
    total = done + left + bool(progress["current"])
    if total == 0:
        return None
    return min(done + 1, total), total


def next_action_of(prompt: str) -> str:
    for line in prompt.split("\n"):
        if line.startswith(NEXT):
            return line[len(NEXT) :].rstrip(".")
    return ""


def weaknesses(prompt: str) -> list[str]:
    """Why somebody could not start again from this prompt alone; CCC-24."""
    found = []
    first, _, rest = prompt.partition("\n")
    words = first.split(". ")
    if not first.startswith("Resume ") or words[0] == f"Resume {UNKNOWN_ISSUE}":
        found.append("it names no issue")
    if not any(_is_position(word) for word in words):
        found.append("it does not say which task of how many")
    files = next((word for word in words if word.startswith("Key files: ")), "")
    if files.removeprefix("Key files: ").rstrip(".") in ("", "see git status"):
        found.append("it names no key files")
    if not next_action_of(rest or first):
        found.append("it names no next action")
    if any(mark in prompt for mark in ("[task", "[file", "[specific", "CIA-XXX")):
        found.append("it still holds a placeholder")
    return found


def _is_position(word: str) -> bool:
    number, _, total = word.removeprefix("Current task: task ").partition(" of ")
    return (
        word.startswith("Current task: task ") and number.isdigit() and total.rstrip(".").isdigit()
    )


def boxed(prompt: str) -> str:
    """What step 4 prints."""
    title = "  CONTINUATION PROMPT"
    return "\n".join(
        [
            f"╔{'═' * BOX_WIDTH}╗",
            f"║{title.ljust(BOX_WIDTH)}║",
            f"╚{'═' * BOX_WIDTH}╝",
            "",
            prompt,
            "",
            CLOSING,
        ]
    )


def _sentence(text: str) -> str:
    return text.rstrip().rstrip(".") + "."
