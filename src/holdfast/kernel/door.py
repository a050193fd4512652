"""The door: what a person or an agent reads passes here last.

Records are redacted when they are written. What is shown is checked once more, by the same rules: a name, a
file or a variable may have told what was secret only later, and not everything that is shown was stored.
"""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.redact import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace

WITHHELD = "[withheld: a redaction rule of the settings took too long]"


class Door:
    """Redacts what a face is about to show, with the rules of the workspace too where one is known."""

    __slots__ = ("redactor",)

    def __init__(self, workspace: Workspace | None = None) -> None:
        self.redactor = _redactor_of(workspace)

    def text(self, text: str) -> str:
        """Return the text as it may be shown."""
        try:
            return self.redactor.text(text)
        except HoldfastError:
            return WITHHELD

    def value(self, value: Any, serialised: str) -> Any:
        """Return the JSON value as it may be shown: equal to the one given where nothing is secret."""
        try:
            return self.redactor.value(_with_lists(value), serialised)
        except HoldfastError:
            return WITHHELD


def _redactor_of(workspace: Workspace | None) -> Redactor:
    """The workspace's redactor, or the default one where its settings cannot be read."""
    if workspace is None:
        return Redactor()
    from holdfast.kernel import config

    try:
        return Redactor(rules=config.settings_of(workspace)["redact.rules"])
    except (HoldfastError, OSError):
        return Redactor()


def _with_lists(value: Any) -> Any:
    """The value with lists for tuples, into which no redactor looks."""
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_lists(item) for item in value]
    return value
