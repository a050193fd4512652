"""Plans that are to be run: found, read, and refused with everything that is wrong with them."""

from __future__ import annotations

from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError
from holdfast.plans import discovery
from holdfast.plans.rules import lint
from holdfast.plans.rules.document import where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.kernel.workspace import Workspace
    from holdfast.plans.rules.model import Finding, Plan

SHOWN = 10


def checked(
    workspace: Workspace,
    paths: Sequence[str],
    folder: str,
    warn: Callable[[str], None],
    *,
    skip_validation: bool = False,
) -> list[Plan]:
    """The plans that are meant, as seen from `folder`. Whatever is wrong with them is said before
    anything runs."""
    root = workspace.root
    settings = config.load(workspace, workspace.journal)
    documents = discovery.documents(discovery.files(paths, folder, root), root)
    found = lint.findings(documents, agent=bool(settings["plan.agent"].strip()))
    errors = [one for one in found if one["level"] == "error"]
    unreadable = [one for one in documents if one["plan"] is None]
    if errors and (unreadable or not skip_validation):
        raise HoldfastError(
            f"{_count(errors)} wrong with these plans:\n{_told(errors)}",
            hint="holdfast plan lint says everything. Nothing was run.",
            kind="bad_plans",
        )
    for one in found:
        warn(f"{where(one)}: {one['what']}")
    return [document["plan"] for document in documents if document["plan"] is not None]


def _told(errors: Sequence[Finding]) -> str:
    lines = [f"  {where(one)}: {one['code']}: {one['what']}" for one in errors[:SHOWN]]
    more = len(errors) - SHOWN
    return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])


def _count(errors: Sequence[Finding]) -> str:
    return "1 thing is" if len(errors) == 1 else f"{len(errors)} things are"
