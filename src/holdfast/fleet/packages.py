"""The text that a person pastes into an agent's session."""

from __future__ import annotations

from holdfast.fleet.rules import handoff
from holdfast.fleet.rules.names import check_feature, checkpoint_path
from holdfast.kernel.errors import NotFound, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.fleet.context import Known, Post


def package(post: Post, agent: str, *, feature: str = "", old: str = "") -> str:
    """For an agent that begins, or resumes (it is the same text), or takes over from `old`."""
    known = post.agent(agent)
    saved = known.state["checkpoint"] or known.read()[1] or {}
    if old:
        return _takeover(post, known, saved, old)
    feature = feature or str(saved.get("feature", ""))
    if not feature:
        raise Usage(f"{agent} has no feature yet.", hint="Name it: --feature FEATURE")
    return handoff.package(
        epic_name=known.epic.name,
        epic_path=known.epic.root,
        feature=check_feature(feature),
        agent=agent,
    )


def _takeover(post: Post, taker: Known, taken: dict[str, Any], old: str) -> str:
    """Before the takeover the crashed agent's own file is named, afterwards its archive."""
    gone = post.agent(old)
    saved = gone.state["checkpoint"] or gone.read()[1]
    place = checkpoint_path(old)
    if not saved:
        endings = [each for each in gone.state["past"] if each["by"] == taker.id]
        if not endings or not taken:
            raise NotFound(
                f"{taker.id} has taken nothing over from {old}.", hint="`holdfast agent list`"
            )
        saved, place = taken, endings[-1]["archive"]
    return handoff.takeover_package(
        epic_path=gone.epic.root,
        feature=str(saved.get("feature", "")),
        agent=taker.id,
        crashed=old,
        checkpoint_file=place,
        stage=str(saved.get("stage", "")),
        phase=str(saved.get("phase", "")),
    )
