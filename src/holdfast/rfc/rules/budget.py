"""The budget of a checkpoint: lossless compression, limits, and refusals that say what must give.

Nothing here cuts a text.
"""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import harmless, plural
from holdfast.rfc.rules.document import count, group_lines
from holdfast.rfc.rules.markdown import is_comment, one_line
from holdfast.rfc.rules.model import (
    CHARACTERS_PER_TOKEN,
    LABELS,
    LONGEST_BULLET,
    MOST_GROUP_LINES,
    MOST_LINES,
    NOTHING,
    TENSIONS_UPDATED,
    BudgetExceeded,
    heading_of,
    is_feedback,
    sections_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypedDict

    from holdfast.rfc.rules.model import RfcState, Section

    class Finding(TypedDict):
        """A violated limit. `bullet` counts from 1; 0 stands for the whole section."""

        kind: Literal["over", "under", "label"]
        section: str
        bullet: int
        message: str


LABELS_HINT = (
    f"{TENSIONS_UPDATED} says all three, {', '.join(LABELS)}; "
    f"where there is nothing to say, `- {LABELS[0]}: {NOTHING}`."
)


def estimate_tokens(text: str) -> int:
    """About how many tokens a text costs; 200 lines are some 3,000."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


# Lossless steps


def compress(key: str, given: Sequence[Section], *, add_labels: bool = False) -> list[Section]:
    """The sections of a group with everything that can be saved without losing a word.

    Fold bullets to one line, drop empty bullets and comments, merge exact repeats, spell the labels as
    the protocol does, and put the sections in its order. `add_labels` adds `none` for missing labels.
    """
    sections = {}
    for section in given:
        title = harmless(section["title"])
        bullets = [one_line(bullet) for bullet in section["bullets"]]
        if title == TENSIONS_UPDATED and is_feedback(key):
            bullets = _sort_by_label([_spell_label(bullet) for bullet in bullets])
        kept = [bullet for bullet in bullets if bullet and not is_comment(bullet)]
        sections[title] = list(dict.fromkeys(kept))
    titles = [*sections_of(key), *(title for title in sections if title not in sections_of(key))]
    if add_labels and is_feedback(key):
        tensions = sections.get(TENSIONS_UPDATED, [])
        present = [label_of(bullet) for bullet in tensions]
        missing = [f"{label}: {NOTHING}" for label in LABELS if label not in present]
        sections[TENSIONS_UPDATED] = _sort_by_label([*tensions, *missing])
    return [{"title": title, "bullets": sections.get(title, [])} for title in titles]


def _sort_by_label(bullets: Sequence[str]) -> list[str]:
    """In the order of the labels; bullets without a label come last."""
    order = {label: place for place, label in enumerate(LABELS)}
    return sorted(bullets, key=lambda one: order.get(label_of(one), len(LABELS)))


def _spell_label(bullet: str) -> str:
    """`**resolved:** a` becomes `Resolved: a`, and a label without a text says `none`. Emphasis that
    does not end right after the label belongs to the text."""
    bare = bullet.lstrip("*_")
    mark = bullet[: len(bullet) - len(bare)]
    for label in LABELS:
        rest = bare[len(label) :]
        closed = bool(mark) and rest.startswith((f"{mark}:", f":{mark}"))
        rest = rest.replace(mark, "", 1) if closed else rest
        if bare[: len(label)].lower() == label.lower() and rest.startswith(":"):
            text = rest[1:].strip()
            return f"{label}: {(text if closed else mark + text) or NOTHING}"
    return bullet


def label_of(bullet: str) -> str:
    label, colon, _ = bullet.partition(":")
    return label if colon and label in LABELS else ""


# Limits


def findings(key: str, sections: Sequence[Section]) -> list[Finding]:
    """The violated limits on bullets, lengths and labels, section by section."""
    found: list[Finding] = []

    def add(kind: Literal["over", "under", "label"], bullet: int, message: str) -> None:
        found.append({"kind": kind, "section": title, "bullet": bullet, "message": message})

    for section in sections:
        title, bullets = section["title"], section["bullets"]
        fewest, most = sections_of(key).get(title, (0, None))
        if most is not None and len(bullets) > most:
            add("over", most + 1, f"{title} has {len(bullets)} bullets, {most} is the most")
        for number, bullet in enumerate(bullets, start=1):
            if len(bullet) > LONGEST_BULLET:
                what = f"bullet {number} of {title} has {len(bullet)} characters"
                add("over", number, f"{what}, {LONGEST_BULLET} is the most")
            if title == TENSIONS_UPDATED and not label_of(bullet):
                what = f"bullet {number} of {title} begins with none of"
                add("label", number, f"{what} {', '.join(f'{label}:' for label in LABELS)}")
        if title == TENSIONS_UPDATED:
            present = {label_of(bullet) for bullet in bullets}
            for label in LABELS:
                if label not in present:
                    add("under", 0, f"{title} has no `{label}:`; `{label}: {NOTHING}` will do")
        elif len(bullets) < fewest:
            add("under", 0, f"{title} has {plural(len(bullets), 'bullet')}, {fewest} is the fewest")
    return found


def check(key: str, sections: Sequence[Section], *, lenient: bool) -> list[str]:
    """Refuse a group over its budget and, unless lenient, one that says too little; else return the
    warnings."""
    found = findings(key, sections)
    for finding in found:
        if finding["kind"] == "label":
            raise HoldfastError(f"{finding['message']}.", hint=LABELS_HINT, kind="bad_answers")
    over = [finding["message"] for finding in found if finding["kind"] == "over"]
    lines = len(group_lines({"key": key, "sections": list(sections), "written": 0}))
    if lines > MOST_GROUP_LINES:
        excess = lines - MOST_GROUP_LINES
        over.insert(0, f"{lines} lines, {MOST_GROUP_LINES} is the most, {excess} too many")
    if over:
        what = f"{heading_of(key)} is over its budget: {'; '.join(over)}."
        raise BudgetExceeded(
            "\n  ".join([what, *_what_must_give(key, sections, lines)]),
            hint="Nothing was written. Say the same in fewer or shorter bullets: signals, not "
            "transcripts.",
        )
    under = [finding["message"] for finding in found if finding["kind"] == "under"]
    if under and not lenient:
        hint = "`holdfast rfc prompt` asks the questions; --lenient writes it with a warning."
        labels = any(TENSIONS_UPDATED in message for message in under)
        raise HoldfastError(
            "\n  ".join([f"{heading_of(key)} says too little:", *under]),
            hint=f"{hint} {LABELS_HINT}" if labels else hint,
            kind="too_little",
        )
    return under


def _what_must_give(key: str, sections: Sequence[Section], lines: int) -> list[str]:
    """How many lines each section must give: first those over their own maximum, then, for a group
    over 40 lines, the sections with the most bullets above their minimum."""
    bounds = sections_of(key)
    sizes = {section["title"]: len(section["bullets"]) for section in sections}
    gives = dict.fromkeys(sizes, 0)
    for title, size in sizes.items():
        most = bounds.get(title, (0, None))[1]
        gives[title] = max(0, size - most) if most is not None else 0
    rest = lines - sum(gives.values()) - MOST_GROUP_LINES
    spare = {title: sizes[title] - gives[title] - bounds.get(title, (0,))[0] for title in sizes}
    for title in sorted(spare, key=lambda title: -spare[title]):
        taken = max(0, min(rest, spare[title]))
        gives[title] += taken
        rest -= taken
    return [
        f"{title} must give {plural(give, 'line')}: {sizes[title]} bullets now, "
        f"{sizes[title] - give} at most"
        for title, give in gives.items()
        if give
    ]


def too_long(state: RfcState) -> BudgetExceeded:
    """The error for a checkpoint of more than 200 lines."""
    lines = count(state)
    parts = [
        f"{heading_of(group['key'])}: {len(group_lines(group))} lines" for group in state["groups"]
    ]
    parts += [f"{one['title']:.60}: {len(one['lines']) + 1} lines" for one in state["extra"]]
    excess = lines - MOST_LINES
    what = f"The checkpoint would have {lines} lines; {MOST_LINES} is the most, {excess} too many."
    return BudgetExceeded(
        "\n  ".join([what, *parts]),
        hint=f"Nothing was written. Shorten what was added by hand by {plural(excess, 'line')}.",
    )
