"""The continuation prompt: the two lines of the protocol, whether it is good enough, and the box around it."""

from __future__ import annotations

from holdfast.kernel.text import defuse, literal, undo_defuse
from holdfast.session.rules.fields import UNKNOWN_ISSUE, one_line
from holdfast.session.rules.model import is_issue_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.session.rules.model import Progress

BOX_WIDTH = 50
CLOSING = "Copy this prompt into your next session's first message."
NEXT = "Next action: "
TASK, FILES = "Current task: ", "Key files: "
# A third line, which earlier versions wrote.
NAMED_TASK = "The task: "
# What the template says where a prompt is missing.
GENERIC_ACTION = "re-read the issue and git log, then continue"
# What is next where no task is known. Earlier versions wrote the second text.
NO_ACTION = "not stated; read git log and git status, then continue"
NO_ACTIONS = (NO_ACTION, "continue with the first remaining task")
NO_FILES = "see git status"
# Which task it is, where no list of tasks says so.
NO_POSITION = "not stated"
# What is resumed where neither an issue nor a branch has a name.
NO_ISSUE = "the work here"
NAMES_NO_ISSUE = "it names no issue"
NAMES_NO_POSITION = "it does not say which task of how many"
NAMES_NO_FILES = "it names no key files"
NAMES_NO_ACTION = "it names no next action"


def compose(
    issue: str, position: tuple[int, int] | None, files: Sequence[str], next_action: str
) -> str:
    """Return the two lines of the protocol."""
    issue = _subject(issue)
    task = f"task {position[0]} of {position[1]}" if position else NO_POSITION
    named = ", ".join(literal(defuse(one_line(file))) for file in files) or NO_FILES
    return (
        f"Resume {issue}. {TASK}{task}. {FILES}{named}.\n{NEXT}{next_action.rstrip().rstrip('.')}."
    )


def planned_action(progress: Progress) -> str:
    """What is next as far as the lists of tasks say."""
    return progress["current"] or next(iter(progress["remaining"]), "") or NO_ACTION


def is_stated(action: str) -> bool:
    """Whether a prompt's next action names something to do."""
    return action not in ("", *NO_ACTIONS)


def is_planned(action: str, progress: Progress) -> bool:
    """Whether a prompt's next action comes from the lists of tasks, or says that they name none."""
    return action in (*NO_ACTIONS, planned_action(progress).rstrip("."))


def generic(issue: str) -> str:
    """Return what is printed where the file or its prompt cannot be read; AMB-CCC-19 has its words."""
    return f"Resume {_subject(issue)}. {TASK}unknown. {FILES}{NO_FILES}.\n{NEXT}{GENERIC_ACTION}."


def is_generic(prompt: str) -> bool:
    """Return whether a prompt is the template."""
    return next_action_of(prompt) == GENERIC_ACTION


def position_of(progress: Progress) -> tuple[int, int] | None:
    """Which task of how many, as the file's own lists say."""
    done, left = len(progress["completed"]), len(progress["remaining"])
    total = done + left + bool(progress["current"])
    if total == 0:
        return None
    return min(done + 1, total), total


def is_composed(prompt: str) -> bool:
    """Whether it is the lines that `compose` writes and nothing that a person put in their place. A prompt
    of an earlier version has no line for the task."""
    first, *rest = prompt.split("\n")
    return (
        first.startswith("Resume ")
        and f". {TASK}" in first
        and f". {FILES}" in first
        and len(rest) in (1, 2)
        and all(
            line.startswith(start) for line, start in zip(rest, (NEXT, NAMED_TASK), strict=False)
        )
    )


def protocol_lines(prompt: str) -> list[str]:
    """Return the lines of a prompt without the one that earlier versions added."""
    return [line for line in prompt.split("\n") if not line.startswith(NAMED_TASK)]


def lines_by_hand(prompt: str) -> list[str]:
    """Return the lines of a prompt that are none of the protocol's: a person wrote them beside these."""
    lines = protocol_lines(prompt)
    is_ours = bool(lines) and lines[0].startswith("Resume ") and f". {TASK}" in lines[0]
    by_hand = [line for line in lines[is_ours:] if not line.startswith(NEXT)]
    return by_hand if any(line.strip() for line in by_hand) else []


def position_in(prompt: str) -> tuple[int, int] | None:
    """Which task of how many, as the prompt says."""
    for part in prompt.partition("\n")[0].split(". "):
        number, _, total = part.removeprefix(f"{TASK}task ").rstrip(".").partition(" of ")
        is_counted = f"{number}{total}".isascii() and number.isdigit() and total.isdigit()
        if part.startswith(f"{TASK}task ") and is_counted:
            return int(number), int(total)
    return None


def files_in(prompt: str) -> list[str]:
    """The key files that the prompt names."""
    _, found, named = prompt.partition("\n")[0].partition(f". {FILES}")
    named = named.removesuffix(".")
    if not found or named in ("", NO_FILES):
        return []
    return [undo_defuse(name.strip('"')) for name in named.split(", ")]


def next_action_of(prompt: str) -> str:
    for line in prompt.split("\n"):
        if line.startswith(NEXT):
            return line[len(NEXT) :].rstrip(".")
    return ""


def weaknesses(prompt: str) -> list[str]:
    """Why a new session could not start from this prompt alone; CCC-24."""
    found = []
    first, _, rest = prompt.partition("\n")
    issue = first.removeprefix("Resume ").partition(f". {TASK}")[0].partition(". ")[0].rstrip(".")
    is_named = is_issue_name(issue) and issue not in (UNKNOWN_ISSUE, NO_ISSUE)
    if not first.startswith("Resume ") or not is_named:
        found.append(NAMES_NO_ISSUE)
    if position_in(first) is None:
        found.append(NAMES_NO_POSITION)
    if not files_in(first):
        found.append(NAMES_NO_FILES)
    if not is_stated(next_action_of(rest or first)):
        found.append(NAMES_NO_ACTION)
    if any(mark in prompt for mark in ("[task", "[file", "[specific", "CIA-XXX")):
        found.append("it still holds a placeholder")
    return found


def draw_box(prompt: str) -> str:
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


def _subject(issue: str) -> str:
    """What is resumed, in the words of the first line."""
    if issue in (UNKNOWN_ISSUE, NO_ISSUE):
        return NO_ISSUE
    return issue if is_issue_name(issue) else literal(issue)
