"""Plans for programs: `workspace.plans`."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound
from holdfast.plans.rules.model import Plan
from tests.plans.world import VERIFY, World, auto


@pytest.mark.clause("AMB-PILOT-33")
def test_a_programs_own_goals_keep_the_next_phase_from_beginning(world: World) -> None:
    world.plan("1/01", auto("true"))
    world.plan("1/02", auto("true"))
    world.plan("2/01", auto(world.note("later")))
    asked: list[tuple[str, list[str]]] = []

    def goals(phase: str, plans: list[Plan]) -> list[str]:
        asked.append((phase, [plan["id"] for plan in plans]))
        return [] if (world.root / "good").exists() else ["The page is not good"]

    with holdfast.open(actor="tester") as ws:
        first = ws.plans.run(["plans"], on_goals=goals)
        assert (first["ended"], first["reason"]) == ("paused", "goals_unmet")
        assert first["text"] == "Phase 1: The page is not good"
        assert world.noted() == []
        (world.root / "good").touch()
        second = ws.plans.resume(first["run"], on_goals=goals)
        assert (second["ended"], second["done"], second["total"]) == ("done", 3, 3)
        assert ws.plans.resume(first["run"]) == second, "there is nothing more to do"
        assert ws.plans.show()["status"] == "done"
    assert asked == [("1", ["1/01", "1/02"]), ("1", ["1/01", "1/02"]), ("2", ["2/01"])]
    assert world.noted() == ["later"]


def test_a_program_whose_goals_fail_can_go_on_later(world: World) -> None:
    world.plan("1/01", auto(world.note("once")))

    def broken(phase: str, plans: object) -> list[str]:
        raise LookupError(phase)

    with holdfast.open(actor="tester") as ws:
        with pytest.raises(LookupError):
            ws.plans.run(["plans"], on_goals=broken)
        assert ws.plans.resume()["ended"] == "done"
    assert world.noted() == ["once"]


def test_a_run_that_needs_a_person_is_paused_with_the_gate_that_waits(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    with holdfast.open(actor="tester") as ws:
        result = ws.plans.run(["plans"], jobs=1)
        assert (result["ended"], result["reason"]) == ("paused", "waiting_for_person")
        assert result["gates"] == world.open_gates()
        assert "The page at" in ws.gates.named(result["gates"][0]).text
        with pytest.raises(Conflict):
            ws.plans.run(["plans"])
        world.answer(result["gates"][0], "approved")
        assert ws.plans.resume()["ended"] == "done"


def test_what_is_wrong_is_said_before_anything_runs(world: World) -> None:
    world.plan("1/01", auto(world.note("no")), wav="1")
    with holdfast.open(actor="tester") as ws:
        with pytest.raises(HoldfastError, match="UNKNOWN_FIELD"):
            ws.plans.run(["plans"])
        with pytest.raises(NotFound):
            ws.plans.show()
    assert world.noted() == []
