"""The door: what a person or an agent reads passes here last.

Records are redacted when they are written. What is shown is checked once more, by the same rules: a name, a
file or a variable may have told what was secret only later, and not everything that is shown was stored. Letters
that nobody would see are pictured, so that no text says more to an agent than to a person.

`kernel/text.py` has what stands before the door: quotations, fences and commands.
"""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.redact import Redactor
from holdfast.kernel.text import UNKNOWN, harmless, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace

WITHHELD = "[withheld: a redaction rule of the settings took too long]"


class Door:
    """Passes on what a face is about to show, by the rules of the workspace too where one is known."""

    __slots__ = ("_redactor",)

    def __init__(self, workspace: Workspace | None = None, *, opens: bool = False) -> None:
        """`opens`: the journal is open already or may be opened, and has a copy of the settings, which a hook
        reads in less time than the file. What only shows something opens none."""
        self._redactor = _redactor_of(workspace, opens=opens)

    def text(self, text: str) -> str:
        """Return the text as it may be shown."""
        try:
            return self._text(text)
        except HoldfastError:
            return WITHHELD

    def value(self, value: Any, serialised: str) -> Any:
        """Return the JSON value as it may be shown: equal to the one given where nothing is to be hidden."""
        try:
            return self._redactor.value(self._walk(value), serialised)
        except HoldfastError:
            return WITHHELD

    def redacted(self, value: Any, serialised: str) -> Any:
        """Return the JSON value without secrets, for a text that spells unseen letters out."""
        try:
            return self._redactor.value(_with_lists(value), serialised)
        except HoldfastError:
            return WITHHELD

    def _text(self, text: str) -> str:
        shown = harmless(text)
        if shown != text or UNKNOWN in text:
            # No rule knows a secret with unseen letters in it, nor with the mark in their place.
            bare = visible(text, "").replace(UNKNOWN, "")
            clean = self._redactor.text(bare)
            if clean != bare:
                return harmless(clean)
        return self._redactor.text(shown)

    def _walk(self, value: Any) -> Any:
        """The value with its unseen letters pictured, and lists for tuples, into which no redactor looks."""
        if isinstance(value, str):
            return value if harmless(value) == value else self._text(value)
        if isinstance(value, dict):
            return {self._walk(key): self._walk(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._walk(item) for item in value]
        return value


def _redactor_of(workspace: Workspace | None, *, opens: bool) -> Redactor:
    """The workspace's redactor, or the default one where its settings cannot be read."""
    if workspace is None:
        return Redactor()
    from holdfast.kernel import config

    try:
        settings = config.settings_of(workspace) if opens else config.load(workspace)
        return Redactor(rules=settings["redact.rules"])
    except (HoldfastError, OSError):
        return Redactor()


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_lists(item) for item in value]
    return value
