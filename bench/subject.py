"""The smallest subjects there are, so that the kernel is measured and not a protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.kernel import canonical_json
from holdfast.kernel.redact import Redactor
from holdfast.kernel.rules import Decision
from holdfast.kernel.workspace import Workspace, discover
from holdfast.kernel.writer import Writer

if TYPE_CHECKING:
    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change

STREAM = "bench:one"
ACTOR = "bench"
_PROSE = (
    "The parser keeps a line that it cannot read, so that a person can mend it later; "
    "src/reader/lines.py and tests/test_lines.py changed, 14 of 15 tests pass. "
)


class Latest:
    """The state is the last step's number: it does not grow, and nothing is rendered."""

    def initial(self, stream: str) -> Any:
        return {"step": 0}

    def apply(self, state: Any, event: Event) -> Any:
        return {"step": event["body"]["step"]}

    def decide(self, state: Any, command: Any, now: int) -> Decision:
        return Decision([("stepped", command)])

    def absorb(self, state: Any, base: Any, change: Change, now: int) -> list[tuple[str, Any]]:
        return []

    def render(self, state: Any) -> Mapping[str, str]:
        return {}


class Growing(Latest):
    """The state is a list, and each record one more item."""

    def initial(self, stream: str) -> Any:
        return []

    def apply(self, state: Any, event: Event) -> Any:
        return [*state, event["body"]]


def body(step: int, size: int = 2048, *, suspect: bool = False) -> dict[str, Any]:
    """A record of so many bytes as JSON, with no secret in it.

    A suspect one speaks of `task-007` and of tokens, as agents do: `sk-` and `token` are literals
    that make redaction look more closely.
    """
    told: dict[str, Any] = {
        "step": 1_000_000 + step,
        "task" if suspect else "part": f"{'task' if suspect else 'part'}-{step % 1000:03d}",
        "done": False,
        "files": ["src/reader/lines.py", "tests/test_lines.py", "docs/reading-lines.md"],
        "cost": {"usd": 0.0691, "output_tokens" if suspect else "output_length": 18_211},
        "text": "",
    }
    rest = size - len(canonical_json.dumps(told))
    told["text"] = (_PROSE * (rest // len(_PROSE) + 1))[:rest]
    return told


def bench_writer(folder: str, subject: Latest) -> tuple[Workspace, Writer]:
    """A workspace as the library opens it, with our subject in place of the real ones."""
    workspace = discover(folder)
    return workspace, Writer(workspace, lambda stream: subject, Redactor())
