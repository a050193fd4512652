"""A file that is ours altogether."""

from __future__ import annotations

from holdfast.clients.settings.files import not_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.clients.settings.files import Put


class WholePart:
    """`mark` stands in every version of it; a file without it is not ours."""

    def __init__(
        self, path: str, content: str, mark: str, programs: Callable[[str], list[str]]
    ) -> None:
        self.path = path
        self._content = content
        self._mark = mark
        self._programs = programs

    def put(self, text: str) -> Put:
        if text and self._mark not in text:
            raise not_settings(self.path, "is there already, and not ours")
        return {"text": self._content, "pieces": [], "notes": []}

    def has_ours(self, text: str) -> bool:
        return self._mark in text

    def take(self, text: str) -> str:
        return "" if self._mark in text else text

    def programs(self, text: str) -> list[str]:
        return self._programs(text) if self._mark in text else []
