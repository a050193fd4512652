"""Find plan files, read them, and write the file of a new plan."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

from holdfast.gates.rules.gate_xml import place_of
from holdfast.kernel.errors import Conflict, NotAllowed, NotFound, Usage
from holdfast.kernel.plain_file import open_plain
from holdfast.kernel.views.files import file_at
from holdfast.kernel.workspace import Workspace
from holdfast.plans.rules import document
from holdfast.plans.rules.model import LAST_EARLY_PHASE, Document, number_of
from holdfast.plans.rules.waves import natural

PHASES = os.path.join(".autopilot", "phases")
ROUTE = "ROUTE.md"
# What the project keeps beside its plans.
NO_PLANS = ("PHASE.md", "BRIEFING.md", "LOGBOOK.md", "TRANSPONDER.md")
AGENT_SETTING = "plan.agent"
# So much of a file is looked at to see whether it is a plan.
LOOKED_AT = 64 * 1024
MOST_FILES = 2000
MOST_FOLDERS = 20_000
# A letter takes up to four bytes.
LARGEST = 4 * document.LARGEST
_SKIPPED = ("node_modules", "__pycache__", "venv")
NAME = re.compile(r"(\w[\w.+-]{0,63})/(\w[\w.+-]{0,63})")
HEAD = """\
---
phase: {phase}
plan: {plan}
autonomous: {autonomous}
{kind}---

# {title}

<task type="auto">
  <name>First step</name>
  <action>Say here what an agent is to do. With a run element, the command is executed instead.</action>
  <run>echo "Replace this command, or take the run element out and set plan.agent"</run>
</task>
"""
LOOK = """
<task type="checkpoint:human-verify" gate="blocking">
  <what-built>{title}</what-built>
  <how-to-verify>
    1. Say here what a person should see
  </how-to-verify>
  <resume-signal>Type "approved" or describe issues</resume-signal>
</task>
"""


def files(given: Sequence[str], folder: str, root: str) -> list[str]:
    """The plan files below these paths, each once, as absolute paths in natural order."""
    if not given:
        home = os.path.join(root, PHASES)
        if not os.path.isdir(home):
            what = f"There are no plans in {PHASES}."
            raise NotFound(what, hint="Name files or folders of plans.")
        given = [home]
    found: dict[str, str] = {}
    for name in given:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isdir(path):
            inside = list(_find_plans(path))
            if not inside:
                raise NotFound(
                    f"There is no plan in {name}.",
                    hint="A plan is a Markdown file with phase: and plan: in its frontmatter.",
                )
        elif os.path.lexists(path):
            inside = [path]
        else:
            raise NotFound(f"There is no file {name}.")
        for one in inside:
            # The same file by two names is one plan, not a duplicate.
            found.setdefault(os.path.realpath(one), one)
    if len(found) > MOST_FILES:
        raise Usage(f"These are more than {MOST_FILES} plans.", hint="Name fewer of them.")
    return sorted(found.values(), key=natural)


def has_plans(workspace: Workspace, given: Sequence[str]) -> bool:
    """Whether paths are given or the project has plans."""
    home = os.path.join(workspace.root, PHASES)
    return bool(given) or (os.path.isdir(home) and any(_find_plans(home)))


def _find_plans(folder: str) -> Iterator[str]:
    for count, (here, folders, names) in enumerate(os.walk(folder, onerror=_refuse), 1):
        if count > MOST_FOLDERS:
            raise Usage(
                f"There are more than {MOST_FOLDERS} folders below {folder}.",
                hint="Name the folder of the plans.",
            )
        kept = (one for one in folders if not one.startswith(".") and one not in _SKIPPED)
        folders[:] = sorted(kept, key=natural)
        for name in sorted(names, key=natural):
            path = os.path.join(here, name)
            if name == ROUTE or (name.endswith(".md") and name not in NO_PLANS and _is_plan(path)):
                yield path


def _refuse(error: OSError) -> None:
    raise NotAllowed(f"{error.filename} cannot be read: {error.strerror}.")


def _is_plan(path: str) -> bool:
    """Whether a file has a plan's frontmatter, even if the rest is broken."""
    try:
        content = _read_start(path, LOOKED_AT)
    except PermissionError:
        return True  # so that it is reported, and not passed over
    except OSError:
        return False
    lines = content.removeprefix(b"\xef\xbb\xbf").lstrip().replace(b"\r", b"\n").split(b"\n")
    if lines[0].rstrip() != b"---":
        return False
    for line in lines[1:]:
        if line.rstrip() == b"---":
            return False
        if line.startswith(b"plan:"):
            return True
    return False


def _read_start(path: str, largest: int) -> bytes:
    with os.fdopen(open_plain(path, follow=True), "rb") as file:
        return file.read(largest)


def documents(paths: Sequence[str], base: str) -> list[Document]:
    """Read the files. A file below `base` is named from there."""
    return [_document(path, base) for path in paths]


def _document(path: str, base: str) -> Document:
    relative = os.path.relpath(path, base)
    name = path if relative.startswith(os.pardir + os.sep) else relative
    try:
        content = _read_start(path, LARGEST + 1)
    except OSError as error:
        return document.unreadable(name, "UNREADABLE", f"it cannot be read: {error.strerror}")
    if len(content) > LARGEST:
        return document.unreadable(name, "TOO_LARGE", f"the file has more than {LARGEST} bytes")
    try:
        return document.examine(content.decode(), name)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        what = f"not UTF-8: byte 0x{content[error.start]:02x}"
        place = place_of(before, len(before))
        return document.unreadable(name, "NOT_UTF8", what, "Save it as UTF-8.", place)


@dataclass(frozen=True, kw_only=True)
class NewPlanRequest:
    """`name` is PHASE/PLAN [default: the next plan of the latest phase]. `ui`: a person looks at the
    result."""

    name: str = ""
    title: str = ""
    ui: bool = False
    dry_run: bool = False


class NewPlan(TypedDict):
    """The plan that was written, or would be after a dry run."""

    plan: str
    path: str
    text: str


def write_plan(workspace: Workspace, request: NewPlanRequest) -> NewPlan:
    """Write a plan file below `.autopilot/phases`. An existing file is never overwritten."""
    phase, plan = _parse_name(request.name) if request.name else _next_name(workspace)
    folder = phase.zfill(3) if phase.isascii() and phase.isdigit() else phase
    path = os.path.join(PHASES, folder, f"{plan}.md")
    title = " ".join(request.title.split()) or f"Plan {plan} of phase {phase}"
    looks = request.ui or number_of(phase) > LAST_EARLY_PHASE
    text = HEAD.format(
        phase=phase,
        plan=plan,
        autonomous="false" if looks else "true",
        kind="has_ui_changes: true\n" if request.ui else "",
        title=title,
    )
    text += LOOK.format(title=title.replace("&", "&amp;").replace("<", "&lt;")) if looks else ""
    if not request.dry_run:
        try:
            file_at(workspace, path).write(text.encode(), is_new=True)
        except FileExistsError:
            raise Conflict(
                f"{path} is there already.", hint="Name another plan: holdfast plan new PHASE/PLAN"
            ) from None
    return {"plan": f"{phase}/{plan}", "path": path, "text": text}


def _parse_name(name: str) -> tuple[str, str]:
    found = NAME.fullmatch(name)
    if found is None:
        raise Usage(f"{name!r:.60} cannot name a plan.", hint="Such as 1/01 or 3/06: PHASE/PLAN.")
    return found[1], found[2]


def _next_name(workspace: Workspace) -> tuple[str, str]:
    """The number after the last plan of the latest phase; 1/01 where there is none."""
    if not has_plans(workspace, ()):
        return "1", "01"
    read = documents(files((), workspace.root, workspace.root), workspace.root)
    plans = [one["plan"] for one in read if one["plan"] is not None]
    if not plans:
        return "1", "01"
    latest = max((plan["phase"] for plan in plans), key=natural)
    numbers = [number_of(plan["plan"]) for plan in plans if plan["phase"] == latest]
    return latest, f"{max(numbers) + 1:02d}"
