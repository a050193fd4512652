"""What a plan file says, in plain data; whether the plan runs by itself or waits for people; and the names
of its gates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypedDict

from holdfast.gates.rules import gate_xml
from holdfast.gates.rules.content import Content
from holdfast.kernel.text import quote

Level = Literal["error", "warning"]
Place = tuple[int, int]


NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
REFERENCE = re.compile(r"\{\{\s*gate\.([^{}\s]*)\s*\}\}")
# Also what would have the variable of a default.
_DEFAULT = re.compile(r"(?:human[-_]verify|decision|human[-_]action)[-_]\d+", re.IGNORECASE)


class PlanTask(TypedDict):
    """One `<task>`, in the order of the file. `number` counts the auto tasks from 1, as
    `after_task` does, and is 0 for a checkpoint (AMB-PILOT-39). Only with `run` is anything
    executed as a command. `timeout` is in milliseconds. `gate` is what a checkpoint asks, None for
    an auto task, and `gate_name` is NAME in `{{gate.NAME}}`.

    `key` is the task's place among the tasks of the file; the checkpoint that only the frontmatter
    declares stands in its place among the others with the key `checkpoint` (AMB-PILOT-18). The same
    key has the checkpoint at the end of a plan that needs a person and declares none."""

    key: str
    type: str
    number: int
    name: str
    action: str
    verify: str
    run: str
    timeout: int | None
    needs: dict[str, float]
    gate: Content | None
    gate_name: str
    blocking: bool
    line: int


class DeclaredPause(TypedDict):
    """`checkpoint:` of the frontmatter: where the plan waits, and for what."""

    type: str
    after_task: int
    what: str


class Plan(TypedDict):
    """One plan file. `id` is `phase/plan`, both as the file spells them; `title` is its first
    heading; `wave` is None until waves are given out (PILOT-38), and `depends_on` holds exact ids
    from then on."""

    id: str
    title: str
    path: str
    digest: str
    phase: str
    plan: str
    wave: int | None
    autonomous: bool | None
    checkpoint: DeclaredPause | None
    depends_on: list[str]
    files_modified: list[str]
    must_haves: dict[str, Any]
    traits: dict[str, bool]
    tasks: list[PlanTask]


class PlanFinding(TypedDict):
    """An error or a warning about a plan. `code` is a word such as INVALID_WAVE, or the clause that a
    gate breaks."""

    path: str
    line: int
    column: int
    code: str
    level: Level
    what: str
    instead: str


class Document(TypedDict):
    """A plan file as it was read. `plan` is None when its id cannot be read; `places` are the line and
    column of each field of the frontmatter."""

    path: str
    text: str
    plan: Plan | None
    tasks: list[gate_xml.XmlTask]
    places: dict[str, Place]
    problems: list[PlanFinding]


class Tell(Protocol):
    """Takes a problem: where it is, its code, what is wrong, and what to do instead."""

    def __call__(self, place: Place, code: str, what: str, instead: str = ...) -> None: ...


def finding(
    path: str, place: Place, code: str, what: str, instead: str = "", level: Level = "error"
) -> PlanFinding:
    """A finding at a line and a column of a file."""
    line, column = place
    return PlanFinding(
        path=path, line=line, column=column, code=code, level=level, what=what, instead=instead
    )


CHECKPOINT_KEY = "checkpoint"


def has_checkpoint(plan: Plan) -> bool:
    """Whether the plan waits for a person anywhere."""
    return any(task["gate"] is not None for task in plan["tasks"])


def is_asked_at_end(plan: Plan) -> bool:
    """Whether the plan's only checkpoint is the one that we add to a human-verify plan without one."""
    return plan["checkpoint"] is None and any(
        task["key"] == CHECKPOINT_KEY for task in plan["tasks"]
    )


class Kind(TypedDict):
    autonomous: bool
    reason: str


# In this order, and the first that holds counts; PILOT-80 to PILOT-86.
RULES = (
    ("has_ui_changes", False, "UI changes require visual verification"),
    ("has_user_flows", False, "User flows require functional verification"),
    ("is_integration", False, "Integration requires end-to-end verification"),
    ("is_final", False, "Final phase requires comprehensive verification"),
    ("is_infrastructure", True, "Infrastructure can be verified programmatically"),
    ("is_backend_only", True, "Backend verified by tests"),
    ("is_setup", True, "Setup verified by existence checks"),
)
TRAITS = tuple(name for name, _, _ in RULES)
EARLY = "Early phases typically autonomous"
LATER = "Later phases need verification"
LAST_EARLY_PHASE = 2  # PILOT-87
SAID_SO = "The plan says so"
HAS_CHECKPOINT = "The plan has a checkpoint"


def determine(phase_number: int, traits: Mapping[str, bool]) -> Kind:
    """The kind of a plan by the protocol's rules. `is_final` is a trait of the phase, the others of the
    plan."""
    for name, autonomous, reason in RULES:
        if traits.get(name):
            return {"autonomous": autonomous, "reason": reason}
    if phase_number <= LAST_EARLY_PHASE:
        return {"autonomous": True, "reason": EARLY}
    return {"autonomous": False, "reason": LATER}


def number_of(phase: str) -> int:
    """The first number in a phase's name: 3 for `3`, `003` and `03-dashboard`; 1 where there is none."""
    digits = re.search(r"[0-9]{1,9}", phase)
    return int(digits[0]) if digits else 1


def rules_say(plan: Plan) -> Kind:
    """The kind of a plan by the rules, without what its file says."""
    return determine(number_of(plan["phase"]), plan["traits"])


def kind_of(plan: Plan) -> Kind:
    """How a plan runs: as its file says, else by the rules. A trait that needs a person's eyes, such as
    `has_ui_changes`, counts more than `autonomous: true`."""
    rules = rules_say(plan)
    if needs_person(plan):
        return rules
    if has_checkpoint(plan) and not is_asked_at_end(plan):
        return {"autonomous": False, "reason": HAS_CHECKPOINT}
    if plan["autonomous"] is None:
        return rules
    return {"autonomous": plan["autonomous"], "reason": SAID_SO}


def needs_person(plan: Plan) -> bool:
    """Whether a trait of the plan says that a person has to look."""
    return any(plan["traits"].get(name) for name, autonomous, _ in RULES if not autonomous)


def is_given(name: str) -> bool:
    """Whether an author chose the name. Names of the default form belong to their own plan."""
    return not _DEFAULT.fullmatch(name)


def variable(name: str) -> str:
    """`HOLDFAST_GATE_AUTH_PROVIDER` for `auth-provider`."""
    return "HOLDFAST_GATE_" + name.upper().replace("-", "_")


def references(text: str) -> list[tuple[str, int]]:
    """The gate names in a text, each with the number of lines before it."""
    return [(match[1], text.count("\n", 0, match.start())) for match in REFERENCE.finditer(text)]


def quoted_references(command: str) -> list[tuple[str, int]]:
    """The gate names between quotes of a shell. There, the quotes of an answer would end the others, and
    the answer could become a command."""
    found = []
    quote, at = "", 0
    while at < len(command):
        letter = command[at]
        match = REFERENCE.match(command, at) if letter == "{" else None
        if match:
            if quote:
                found.append((match[1], command.count("\n", 0, at)))
            at = match.end()
            continue
        if letter == "\\" and quote != "'":
            at += 1
        elif letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        at += 1
    return found


def fill(text: str, answers: Mapping[str, str], *, quoted: bool) -> str:
    """The text with the answers in it. In a command they are quoted for the shell: an answer is data. A
    name without an answer stays."""

    def answer(match: re.Match[str]) -> str:
        found = answers.get(match[1])
        if found is None:
            return match[0]
        return quote(found) if quoted else found

    return REFERENCE.sub(answer, text)
