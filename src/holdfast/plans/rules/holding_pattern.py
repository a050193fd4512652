"""`.autopilot/holding-pattern.md`: there while a run is stopped in the middle of a phase."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Holding(TypedDict):
        """Where the run holds. `task` is the next one, of `total_tasks` in its plan."""

        phase: str
        plan: str
        task: str
        total_tasks: int
        status: str
        created: str
        why: str
        next: str
        resume: str


PATH = ".autopilot/holding-pattern.md"
ARCHIVE = ".autopilot/waypoints"


def write(holding: Holding) -> str:
    names = ("phase", "plan", "task", "total_tasks", "status", "created")
    head = [f"{name}: {_scalar(holding[name])}" for name in names]  # type: ignore[literal-required]
    lines = ["---", *head, "---", "", "# Holding pattern", "", _flat(holding["why"]), ""]
    if holding["next"]:
        lines += [f"Next: {_flat(holding['next'])}", ""]
    lines += ["Go on with:", "", f"    {holding['resume']}", ""]
    return "\n".join(lines)


def archive_of(created: str) -> str:
    """Where the file goes after a successful resume."""
    stamp = created.replace("-", "").replace(":", "").replace("T", "-").partition(".")[0]
    return f"{ARCHIVE}/holding-pattern-{stamp.rstrip('Z')}.md"


def _scalar(value: object) -> str:
    """Plain where YAML reads it back the same, else quoted: `06` stays text for whoever reads text."""
    if isinstance(value, int):
        return str(value)
    text = _flat(value)
    plain = text and all(letter.isalnum() or letter in "-_./:" for letter in text)
    return text if plain and text[0].isalnum() and not text.endswith(":") else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _flat(value: object) -> str:
    return " ".join(str(value).split())
