"""The pages that `holdfast.web.table` lists, and what each of them is gathered from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from holdfast.kernel.errors import HoldfastError, Usage

if TYPE_CHECKING:
    from holdfast.web.background import SpendingMeter
    from holdfast.web.workspaces import ServedWorkspace, Site

LARGEST_NUMBER = 2**53


class PageContext(NamedTuple):
    """The workspaces, the words of the address, the time, and what threads read beside the page."""

    site: Site
    words: Mapping[str, str]
    now: int
    meter: SpendingMeter

    @property
    def place(self) -> ServedWorkspace:
        """The workspace that the path of the address names."""
        return self.site.place(self.words["workspace"])

    @property
    def chosen(self) -> list[ServedWorkspace]:
        """The workspace that the query of the address names; all of them if it names none."""
        return [self.place] if self.words.get("workspace") else list(self.site)

    def number(self, name: str) -> int | None:
        """A number in the address; anything else is refused."""
        text = self.words.get(name, "")
        if not text:
            return None
        if not (text.isascii() and text.isdigit()) or len(text) > 16 or int(text) > LARGEST_NUMBER:
            raise Usage(f"{name}={text!r:.40} is no number.", hint="Follow the links of the page.")
        return int(text)

    def read_all(self, read: Callable[[ServedWorkspace], None]) -> list[dict[str, str]]:
        """Read each workspace. The answer names those that are away, which stop no other."""
        away = []
        for place in self.site:
            try:
                place.look()
                read(place)
            except (HoldfastError, OSError) as error:
                away.append({"workspace": place.key, "problem": str(error)})
        return away
