"""The words of a plan: what its file says, in plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from holdfast.gates.rules import gate_xml
    from holdfast.gates.rules.content import Content

    Level = Literal["error", "warning"]
    Place = tuple[int, int]


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
    """Something that is wrong with a plan (error), or had better be otherwise (warning). `code` is
    a word such as INVALID_WAVE, or the clause that a gate breaks."""

    path: str
    line: int
    column: int
    code: str
    level: Level
    what: str
    instead: str


class Document(TypedDict):
    """A plan file as it was read. `plan` is None when not even its id can be told; `places` are
    the line and the column of each field of the frontmatter."""

    path: str
    text: str
    plan: Plan | None
    tasks: list[gate_xml.XmlTask]
    places: dict[str, Place]
    problems: list[PlanFinding]


CHECKPOINT_KEY = "checkpoint"


def has_checkpoint(plan: Plan) -> bool:
    """Whether the plan waits for a person anywhere."""
    return any(task["gate"] is not None for task in plan["tasks"])


def is_asked_at_end(plan: Plan) -> bool:
    """Whether the plan's only checkpoint is the one that we add to a plan of the kind human-verify,
    whose file has none."""
    return plan["checkpoint"] is None and any(
        task["key"] == CHECKPOINT_KEY for task in plan["tasks"]
    )
