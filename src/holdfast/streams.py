"""Which rules belong to a stream: by the word before its colon. Stored data never names code."""

from __future__ import annotations

from holdfast.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.rules import Subject


def subject_of(stream: str) -> Subject:
    kind = stream.partition(":")[0]
    if kind == "note":
        from holdfast.note.rules import note

        return note
    if kind == "session":
        from holdfast.session.rules import session

        return session
    if kind == "loop":
        from holdfast.loop.rules import loop

        return loop
    if kind == "agent":
        from holdfast.fleet.rules import agent

        return agent
    if kind == "feature":
        from holdfast.fleet.rules import feature

        return feature
    if kind == "stop":
        from holdfast.estop.rules import stop

        return stop
    if kind == "comms":
        from holdfast.fleet.rules import comms

        return comms
    if kind == "rfc":
        from holdfast.rfc import rules

        return rules
    if kind == "gate":
        from holdfast.gates.rules import gate

        return gate
    if kind == "people":
        from holdfast.gates.rules import people

        return people
    if kind == "budget":
        from holdfast.budgets.rules import budget

        return budget
    if kind == "run":
        from holdfast.plans.rules import run

        return run
    if kind == "flight":
        from holdfast.plans.rules import flight

        return flight
    if kind == "logbook":
        from holdfast.plans.rules import logbook

        return logbook
    raise NotFound(
        f"This holdfast knows no streams of the kind {kind!r}.",
        hint="A newer holdfast may have written it.",
        kind="unknown_stream",
    )
