"""Our part of a TOML file: one table at its end, between two comments that say whose it is."""

from __future__ import annotations

import json
import tomllib

from holdfast.clients.settings.files import not_settings
from holdfast.clients.settings.json_part import programs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.settings.files import Put

BEGIN = "# holdfast begins (`holdfast uninstall` takes this out)"
END = "# holdfast ends"


class TomlPart:
    """A table, by the names that lead to it; it is left out where the file has one of that name."""

    def __init__(self, path: str, names: list[str], values: dict[str, Any]) -> None:
        self.path = path
        self._names = names
        self._values = values

    def put(self, text: str) -> Put:
        newline = "\r\n" if "\r\n" in text else "\n"
        block = newline.join([BEGIN, *self._lines(), END, ""])
        if block in text:
            return {"text": text, "pieces": [], "notes": []}
        text = self.take(text)
        document = self._parsed(text)
        for name in self._names:
            document = document.get(name, {}) if isinstance(document, dict) else {}
        if document:
            return {"text": text, "pieces": [], "notes": [self._theirs()]}
        before = "" if not text else newline if text.endswith("\n") else newline * 2
        piece = before + block
        try:
            tomllib.loads(text + piece)
        except tomllib.TOMLDecodeError:
            closed = (
                f"{self._names[0]} is written as a value in braces, to which nothing can be added"
            )
            return {"text": text, "pieces": [], "notes": [self._by_hand(closed)]}
        return {"text": text + piece, "pieces": [piece], "notes": []}

    def has_ours(self, text: str) -> bool:
        return self.take(text) != text

    def take(self, text: str) -> str:
        while BEGIN in text:
            begin = text.index(BEGIN)
            end = text.find(END, begin)
            if end < 0:
                raise not_settings(self.path, f"has {BEGIN!r} and no {END!r}")
            end += len(END)
            for newline in ("\r\n", "\n"):
                if text.startswith(newline, end):
                    end += len(newline)
                    break
            text = text[:begin] + text[end:]
        return text

    def programs(self, text: str) -> list[str]:
        if BEGIN not in text:
            return []
        found: Any = self._parsed(text)
        for name in self._names:
            found = found.get(name) if isinstance(found, dict) else None
        return programs_of([found.get("command"), *found.get("args", [])]) if found else []

    def _theirs(self) -> str:
        return f"{'.'.join(self._names)} in {self.path} is not ours, and stays; ours was not added."

    def _by_hand(self, why: str) -> str:
        words = ", ".join(f"{name} = {json.dumps(value)}" for name, value in self._values.items())
        return f"{self.path}: {why}. Add by hand, in the braces: {self._names[-1]} = {{ {words} }}"

    def _lines(self) -> list[str]:
        # A string and a list of strings are written alike in JSON and in TOML.
        values = [f"{name} = {json.dumps(value)}" for name, value in self._values.items()]
        return [f"[{'.'.join(self._names)}]", *values]

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, ValueError, RecursionError) as problem:
            raise not_settings(self.path, f"is not TOML: {problem}") from None
