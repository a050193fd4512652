"""All problems of plans, in each file and between the files, found before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.gates.rules import gate_xml, lint
from holdfast.gates.rules.gate_xml import AUTO
from holdfast.kernel.text import nearest
from holdfast.plans.rules import model
from holdfast.plans.rules.document import indent
from holdfast.plans.rules.model import CHECKPOINT_KEY, Document, Level, Plan, PlanFinding
from holdfast.plans.rules.waves import WaveOrder, is_outside, natural, pairs, phases

AGENT_HINT = (
    "Give it a <run>, or set plan.agent in holdfast.toml, such as `claude -p`, and let it count: "
    "holdfast trust"
)


def findings(
    documents: Sequence[Document], *, agent: bool = True, strict: bool = False
) -> list[PlanFinding]:
    """All findings by file and line. `agent`: there is a command for tasks without a `<run>`. `strict`:
    every warning is an error."""
    found = [one for document in documents for one in document["problems"]]
    known: dict[str, Document] = {}
    for document in documents:
        plan = document["plan"]
        if plan is None:
            continue
        if plan["id"] in known:
            what = f"{plan['id']} is also the plan in {known[plan['id']]['path']}"
            found.append(_at(document, "plan", "DUPLICATE_PLAN", what, "Give it its own number."))
        else:
            known[plan["id"]] = document
        found += _gates(document, plan, strict)
        found += _kind(document, plan)
        found += _agent(document, plan, agent)
        found += _files(document, plan)
    order = WaveOrder([one["plan"] for one in known.values() if one["plan"] is not None])
    for trouble in order.troubles:
        document = known[trouble["plan"]]
        about = trouble["code"], trouble["what"], trouble["instead"]
        found.append(_at(document, "depends_on", *about))
    found += _spelling(order.plans, known)
    found += _overlaps(order.plans, known)
    found += _answers(order.plans, known)
    if strict:
        found = [{**one, "level": "error"} for one in found]
    return sorted(found, key=lambda one: (natural(one["path"]), one["line"], one["column"]))


def _at(
    document: Document,
    where: str | int,
    code: str,
    what: str,
    instead: str = "",
    level: Level = "error",
) -> PlanFinding:
    """A finding at a field of the frontmatter, or on a line."""
    if isinstance(where, int):
        place = (where, indent(document["text"].split("\n"), where))
    else:
        place = document["places"].get(where) or document["places"].get("plan", (1, 1))
    return model.finding(document["path"], place, code, what, instead, level)


def _gates(document: Document, plan: Plan, strict: bool) -> Iterator[PlanFinding]:
    """What the automation-first rule says of the checkpoints."""
    must = {type: set(tags) for type, (tags, _) in gate_xml.ELEMENTS.items()}
    whole = [task for task in document["tasks"] if must[task["type"]] <= task["fields"].keys()]
    for one in lint.of_tasks(whole, strict=strict):
        yield _at(document, one["line"], one["clause"], one["what"], one["instead"], one["level"])
    for task in plan["tasks"]:
        if task["key"] == CHECKPOINT_KEY and task["gate"] is not None and task["gate"]["items"]:
            for one in lint.findings(task["gate"]):
                if one["level"] == "error":
                    yield _at(document, "checkpoint", one["clause"], one["what"], one["instead"])


def _kind(document: Document, plan: Plan) -> Iterator[PlanFinding]:
    """Whether the plan's `autonomous` agrees with its checkpoints and with the protocol's rules."""
    waits = model.has_checkpoint(plan) and not model.is_asked_at_end(plan)
    if plan["autonomous"] and waits:
        what = "an autonomous plan has no checkpoint"
        yield _at(document, "autonomous", "AUTONOMOUS", what, "autonomous: false")
    rules = model.rules_say(plan)
    last = sum(task["gate"] is None for task in plan["tasks"])
    look = f"checkpoint: {{type: human-verify, after_task: {max(last, 1)}, what: ...}}"
    if model.needs_person(plan) and not waits:
        trait = next(name for name in model.TRAITS if plan["traits"].get(name))
        what = f"the plan asks no person to look. {rules['reason']}"
        yield _at(document, trait, "PLAN_TYPE", what, look)
    elif any(plan["traits"].values()) and plan["autonomous"] not in (None, rules["autonomous"]):
        should = "true" if rules["autonomous"] else "false"
        what = f"by the rules this plan is autonomous: {should}. {rules['reason']}"
        yield _at(document, "autonomous", "PLAN_TYPE", what, f"autonomous: {should}", "warning")
    elif model.is_asked_at_end(plan):
        reason = model.kind_of(plan)["reason"]
        what = f"the plan declares no checkpoint, and a person is asked at its end. {reason}"
        instead = f"{look}, or autonomous: true"
        yield _at(document, "plan", "PLAN_TYPE", what, instead, "warning")


def _agent(document: Document, plan: Plan, agent: bool) -> Iterator[PlanFinding]:
    if agent:
        return
    for task in plan["tasks"]:
        if task["type"] == AUTO and not task["run"]:
            what = f"there is no agent to do “{task['name']:.60}”"
            yield _at(document, task["line"], "NO_AGENT", what, AGENT_HINT)


def _files(document: Document, plan: Plan) -> Iterator[PlanFinding]:
    for name in plan["files_modified"]:
        if is_outside(name):
            what = f"files_modified names {name!r:.80}, which is not below the project"
            instead = "Name files from the project's top."
            yield _at(document, "files_modified", "OUTSIDE", what, instead)


def _spelling(plans: Sequence[Plan], known: dict[str, Document]) -> Iterator[PlanFinding]:
    """`3` and `03` are two phases, and seldom meant as two."""
    seen: dict[str, Plan] = {}
    for plan in plans:
        other = seen.setdefault(plan["phase"].lstrip("0") or "0", plan)
        if other["phase"] != plan["phase"]:
            what = f"the phases {other['phase']} and {plan['phase']} are two"
            instead = f"phase: {other['phase']}, if it is the one of {other['id']}."
            document = known[plan["id"]]
            yield _at(document, "phase", "TWO_SPELLINGS", what, instead, "warning")


def _overlaps(plans: Sequence[Plan], known: dict[str, Document]) -> Iterator[PlanFinding]:
    """Plans that run at the same time must not change the same file."""
    for _, waves in phases(plans):
        for wave in waves:
            parallel = [plan for plan in wave if model.kind_of(plan)["autonomous"]]
            for first, second, shared in pairs(parallel):
                more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
                what = (
                    f"{first['id']} and {second['id']} both change {shared[0]}{more} in wave "
                    f"{second['wave']}"
                )
                instead = f'depends_on: ["{first["id"]}"], or another wave.'
                document = known[second["id"]]
                yield _at(document, "files_modified", "OVERLAP", what, instead)


def _answers(plans: Sequence[Plan], known: dict[str, Document]) -> Iterator[PlanFinding]:
    """`{{gate.NAME}}` must have an answer when it is needed, and every name belongs to one gate."""
    names: dict[str, str] = {}
    for _, waves in phases(plans):
        for wave in waves:
            # What is asked beside a plan may be answered after it; only earlier waves are sure.
            before = set(names.values())
            for plan in wave:
                document = known[plan["id"]]
                yield from _answers_of(plan, document, before)
                for task in plan["tasks"]:
                    name = task["gate_name"]
                    if not name or not model.is_given(name):
                        continue
                    if taken := names.get(model.variable(name)):
                        what = f"another gate is called {taken}, too"
                        place = (task["line"], 1)
                        yield model.finding(document["path"], place, "TWICE", what, "Rename one.")
                    names.setdefault(model.variable(name), name)


def _answers_of(plan: Plan, document: Document, before: set[str]) -> Iterator[PlanFinding]:
    given = set(before)
    for task in plan["tasks"]:
        if task["key"] != CHECKPOINT_KEY:
            for said in document["tasks"][int(task["key"]) - 1]["fields"].values():
                for name, below in model.references(said["text"]):
                    if name not in given:
                        what = f"no gate before it gives {{{{gate.{name:.60}}}}}"
                        hint = nearest(name, sorted(given)) if given else "Ask before it is used."
                        yield _at(document, said["line"] + below, "NO_ANSWER", what, hint)
            yield from _quoted(document, document["tasks"][int(task["key"]) - 1])
        if task["gate_name"]:
            given.add(task["gate_name"])


def _quoted(document: Document, task: gate_xml.XmlTask) -> Iterator[PlanFinding]:
    if "run" not in task["fields"]:
        return
    for tag in ("run", "verify"):
        said = task["fields"].get(tag, {"line": 1, "text": ""})
        for name, below in model.quoted_references(said["text"]):
            what = f"{{{{gate.{name:.60}}}}} stands between quotes, and brings its own"
            instead = f'Take the quotes away, or write "${model.variable(name):.80}".'
            yield _at(document, said["line"] + below, "QUOTED", what, instead)
