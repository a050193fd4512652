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
    if kind == "loop":
        from holdfast.protocols import loop

        return loop
    if kind == "agent":
        from holdfast.protocols import fleet

        return fleet
    if kind == "feature":
        from holdfast.protocols.fleet import feature

        return feature
    if kind == "stop":
        from holdfast.protocols import stop

        return stop
    if kind == "comms":
        from holdfast.protocols.fleet import comms

        return comms
    if kind == "rfc":
        from holdfast.protocols import rfc

        return rfc
    if kind == "gate":
        from holdfast.protocols.pilot import gate

        return gate
    if kind == "people":
        from holdfast.protocols.pilot import refusal

        return refusal
    if kind == "budget":
        from holdfast.protocols.pilot import budget

        return budget
    if kind == "run":
        from holdfast.protocols.pilot.plan import run

        return run
    if kind == "flight":
        from holdfast.protocols.pilot.plan import flight

        return flight
    if kind == "logbook":
        from holdfast.protocols.pilot.plan import logbook

        return logbook
    raise NotFound(
        f"This holdfast knows no streams of the kind {kind!r}.",
        hint="A newer holdfast may have written it.",
        kind="unknown_stream",
    )
