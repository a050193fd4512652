"""Which rules belong to a stream: by the word before its colon. Stored data never names code."""

from __future__ import annotations

from holdfast.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.subject import Subject


def subject_of(stream: str) -> Subject:
    kind = stream.partition(":")[0]
    if kind == "note":
        from holdfast.protocols import note

        return note
    if kind == "session":
        from holdfast.protocols import session

        return session
    raise NotFound(
        f"This holdfast knows no streams of the kind {kind!r}.",
        hint="A newer holdfast may have written it.",
        kind="unknown_stream",
    )
