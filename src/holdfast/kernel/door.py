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
    from collections.abc import Callable
    from typing import Any

    from holdfast.kernel.workspace import Workspace

WITHHELD = "[withheld: a redaction rule of the settings took too long]"


class Door:
    """Passes on what a face is about to show, by the rules of the workspace too where one is known."""

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

    def value(self, value: Any) -> Any:
        """Return the JSON value as it may be shown: the one given where nothing is to be hidden. No name of a
        field tells of a secret here: `tokens` counts some."""
        return self._changed(value, self._text)

    def redacted(self, value: Any) -> Any:
        """Return the JSON value without secrets, for a text that spells unseen letters out."""
        return self._changed(value, self._redactor.text)

    def _changed(self, value: Any, change: Callable[[str], str]) -> Any:
        texts: list[str] = []
        _collect(value, texts)
        together = "\n".join(texts)
        try:
            return value if change(together) == together else _walk(value, change)
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


def _collect(value: Any, texts: list[str]) -> None:
    """Every text of a JSON value, with the names of its members."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        texts.extend(key for key in value if isinstance(key, str))
        for item in value.values():
            _collect(item, texts)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, texts)


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_walk(key, change): _walk(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walk(item, change) for item in value]
    return value
