"""Two gits that wait for their input, so that a snapshot does not wait for them.

A process of git takes longer to start than to write one object. These start while the work tree is
still being looked at; with no input, as when their parent was killed, they write nothing.
"""

from __future__ import annotations

from types import TracebackType

from holdfast.git.repository import Place
from holdfast.git.run import Running
from holdfast.git.shadow_index import SETTINGS

WORDS = (
    ("hash-object", "-t", "commit", "-w", "--stdin"),
    ("update-ref", "--no-deref", "--stdin", "-z"),
)


class Scribe:
    """Writes one commit and one ref: `with Scribe(place) as scribe`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._waiting: list[Running] = []

    def __enter__(self) -> Scribe:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._waiting:
            process.end()

    def prepare(self) -> None:
        """Start both; without it, the writing does."""
        while len(self._waiting) < len(WORDS):
            words = WORDS[len(self._waiting)]
            self._waiting.append(Running(self._place.top, (*SETTINGS, *words)))

    def write(self, commit: bytes, ref: str) -> str:
        """The name of the commit, which is durable under a new ref when this returns."""
        self.prepare()
        for_commit, for_ref = self._waiting
        name = for_commit.answer(commit).decode("ascii").strip()
        for_ref.answer(f"create {ref}\0{name}\0".encode())
        return name
