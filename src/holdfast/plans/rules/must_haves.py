"""`must_haves` of the frontmatter: what a plan promises. A name that nobody looks at promises nothing."""

from __future__ import annotations

from holdfast.budgets.rules.thresholds import nearest
from holdfast.plans.rules.overlap import is_outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.plans.rules.frontmatter import Field

    Tell = Callable[..., None]

ARTIFACTS = "artifacts"
NAMES = ("truths", ARTIFACTS, "key_links")
INSTEAD = "must_haves: {truths: [...], artifacts: [...], key_links: [...]}"


def read(field: Field, own: str, tell: Tell) -> dict[str, Any]:
    """What is promised; `tell` is told of all that is wrong with it. A name that begins with `own` is
    the author's."""
    if not isinstance(field.value, dict):
        tell(field.place, "BAD_VALUE", "must_haves must be a table", INSTEAD)
        return {}
    for name, each in field.value.items():
        if name.startswith(own):
            continue
        if name not in NAMES:
            what = f"there is no {name!r:.60} in must_haves"
            tell(each.place, "UNKNOWN_FIELD", what, nearest(name, NAMES))
        elif each.value is not None and not isinstance(each.value, list):
            what = f"{name} must be a list, not {each.as_data()!r:.40}"
            tell(each.place, "BAD_VALUE", what, INSTEAD)
        elif name == ARTIFACTS:
            for artifact in each.value or []:
                _look_at(artifact, tell)
    found: dict[str, Any] = field.as_data()
    return found


def _look_at(artifact: Field, tell: Tell) -> None:
    given = artifact.value
    path = given.get("path") if isinstance(given, dict) else artifact
    if path is None or not isinstance(path.value, str) or not path.value.strip():
        what = "an artifact is the path of a file, or has one"
        tell(artifact.place, "BAD_VALUE", what, "artifacts: [src/a.py, {path: src/b.py}]")
    elif is_outside(path.value):
        what = f"the artifact {path.value!r:.80} is not below the project"
        tell(path.place, "OUTSIDE", what, "Name files from the project's top.")
