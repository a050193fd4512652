"""Work that the pages tell of: a session, a track, an RFC, a run of plans; made in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.kernel import clock
from holdfast.rfc.api import Rfc
from holdfast.session.checkpoint import checkpoint
from tests.loop.world import World as Loop
from tests.plans.world import VERIFY, auto
from tests.plans.world import World as Plans
from tests.rfc.world import DESIGN, DISCOVER

if TYPE_CHECKING:
    from tests.web.world import World

SESSION = "0f3c9a17-parser"
RFC = "auth-model"
TRACK = "penalties"


def capture(world: World, session: str = SESSION, **given: Any) -> str:
    """A checkpoint of a session, without git and tracker but with a snapshot; its id."""
    given.setdefault("current", "Handle quotes")
    done = checkpoint(
        world.workspace,
        {
            "session": session,
            "given": given,
            "reason": given.pop("reason", "handoff"),
            "skip_git": True,
            "skip_tracker": "asked",
        },
        actor="builder",
        now=clock.now(),
    )
    return done["id"]


def track(world: World) -> Loop:
    """A track with a plan of three tasks, one of them done."""
    loop = Loop(world.root, TRACK)
    loop.folder.mkdir(parents=True)
    plan = "".join(f"- [ ] Task {number}: part {number}\n" for number in (1, 2, 3))
    (loop.folder / "plan.md").write_text(plan)
    loop.now = clock.now() - 10 * clock.MINUTE
    loop.start("PLAN")
    loop.do("pass", output_files=[f"conductor/tracks/{TRACK}/plan.md"], notes="Three tasks")
    loop.start("EXECUTE", tasks_total=3)
    loop.do("task_done", task="Task 1")
    return loop


def rfc(world: World) -> None:
    """An RFC after DISCOVER and DESIGN."""
    one = Rfc(world.workspace, RFC, actor="builder")
    one.begin(title="How sessions are kept")
    one.write("discover", DISCOVER)
    one.write("design", DESIGN)


def run(world: World, *, last: str = VERIFY) -> Plans:
    """A run of two plans in two waves: the second waits for a person, or for whatever `last` is."""
    plans = Plans(Path(world.root))
    plans.plan("3/01", auto("echo said by the first", name="Build the schema"))
    plans.plan(
        "3/02",
        auto("echo said by the second", name="Build the page") + last,
        depends_on='["01"]',
        autonomous="false",
    )
    return plans
