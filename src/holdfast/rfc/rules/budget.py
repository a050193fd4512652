"""The budget: how much a group may hold, what can be given up without losing anything, and what the
refusal says when that is not enough. Nothing here ever cuts a text."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.rfc.rules.blocks import is_comment, one_line
from holdfast.rfc.rules.document import count, group_lines, in_order
from holdfast.rfc.rules.words import (
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

    from holdfast.rfc.rules.words import Group, RfcState, Section

    class Finding(TypedDict):
        """What is not as the protocol wants it. `bullet` counts from 1; 0 is the whole section."""

        kind: Literal["over", "under", "label"]
        section: str
        bullet: int
        message: str


LABELS_HINT = (
    f"{TENSIONS_UPDATED} says all three, {', '.join(LABELS)}; "
    f"where there is nothing to say, `- {LABELS[0]}: {NOTHING}`."
)


def estimate_tokens(text: str) -> int:
    """About how many tokens a text costs; 200 lines of signals are some 3,000."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


# What loses nothing


def lossless(key: str, given: Sequence[Section]) -> list[Section]:
    """Bullets folded to one line, blanks and comments dropped, exact repeats merged, labels spelled
    as the protocol spells them, and every section of the group in its place."""
    sections: list[Section] = []
    for section in given:
        bullets = [one_line(bullet) for bullet in section["bullets"]]
        if section["title"] == TENSIONS_UPDATED and is_feedback(key):
            bullets = _labelled(bullets)
        kept = [bullet for bullet in bullets if bullet and not is_comment(bullet)]
        sections.append({"title": section["title"], "bullets": list(dict.fromkeys(kept))})
    return in_order(key, sections)


def _labelled(bullets: Sequence[str]) -> list[str]:
    """`- Resolved: ...` in the protocol's order; what has no label of its own stays where it is."""
    spelled = [_spelled(bullet) for bullet in bullets]
    order = {label: place for place, label in enumerate(LABELS)}
    return sorted(spelled, key=lambda one: order.get(label_of(one), len(LABELS)))


def _spelled(bullet: str) -> str:
    """`**resolved:** a` is `Resolved: a`; a label without a text says `none`. Marks that do not
    close right behind the label belong to the text."""
    bare = bullet.lstrip("*_")
    mark = bullet[: len(bullet) - len(bare)]
    for label in LABELS:
        rest = bare[len(label) :]
        closed = bool(mark) and rest.startswith((f"{mark}:", f":{mark}"))
        rest = rest.replace(mark, "", 1) if closed else rest
        if bare[: len(label)].lower() == label.lower() and rest.startswith(":"):
            said = rest[1:].strip()
            return f"{label}: {(said if closed else mark + said) or NOTHING}"
    return bullet


def label_of(bullet: str) -> str:
    label, colon, _ = bullet.partition(":")
    return label if colon and label in LABELS else ""


def with_labels(key: str, sections: Sequence[Section]) -> list[Section]:
    """With `none` for every label that nothing is said about; AMB-RFC-18."""
    if not is_feedback(key):
        return list(sections)
    done: list[Section] = []
    for section in sections:
        bullets = section["bullets"]
        if section["title"] == TENSIONS_UPDATED:
            said = {label_of(bullet) for bullet in bullets}
            empty = [f"{label}: {NOTHING}" for label in LABELS if label not in said]
            bullets = _labelled([*bullets, *empty])
        done.append({"title": section["title"], "bullets": bullets})
    return done


# What is wrong


def findings(key: str, sections: Sequence[Section]) -> list[Finding]:
    """Counts, lengths and labels, section by section."""
    found: list[Finding] = []
    bounds = sections_of(key)
    for section in sections:
        title, bullets = section["title"], section["bullets"]
        fewest, most = bounds.get(title, (0, None))
        if most is not None and len(bullets) > most:
            what = f"{title} has {len(bullets)} bullets, {most} is the most"
            found.append({"kind": "over", "section": title, "bullet": most + 1, "message": what})
        for number, bullet in enumerate(bullets, start=1):
            if len(bullet) > LONGEST_BULLET:
                what = f"bullet {number} of {title} has {len(bullet)} characters, "
                what += f"{LONGEST_BULLET} is the most"
                found.append({"kind": "over", "section": title, "bullet": number, "message": what})
        if title == TENSIONS_UPDATED:
            found += _label_findings(title, bullets)
        elif len(bullets) < fewest:
            what = f"{title} has {_bullets(len(bullets))}, {fewest} is the fewest"
            found.append({"kind": "under", "section": title, "bullet": 0, "message": what})
    return found


def _label_findings(title: str, bullets: Sequence[str]) -> list[Finding]:
    found: list[Finding] = []
    for number, bullet in enumerate(bullets, start=1):
        if not label_of(bullet):
            what = f"bullet {number} of {title} begins with none of Resolved:, Intensified:, New:"
            found.append({"kind": "label", "section": title, "bullet": number, "message": what})
    for label in LABELS:
        if label not in map(label_of, bullets):
            what = f"{title} has no `{label}:`; `{label}: {NOTHING}` will do"
            found.append({"kind": "under", "section": title, "bullet": 0, "message": what})
    return found


def check(key: str, sections: Sequence[Section], *, lenient: bool) -> list[str]:
    """Refuse what is over the budget, and, unless lenient, what is too little; else the warnings."""
    group: Group = {"key": key, "sections": list(sections), "written": 0}
    found = findings(key, sections)
    for finding in found:
        if finding["kind"] == "label":
            raise HoldfastError(f"{finding['message']}.", hint=LABELS_HINT, kind="bad_answers")
    over = [finding["message"] for finding in found if finding["kind"] == "over"]
    lines = len(group_lines(group, compact=True))
    if lines > MOST_GROUP_LINES:
        excess = lines - MOST_GROUP_LINES
        over.insert(0, f"{lines} lines, {MOST_GROUP_LINES} is the most, {excess} too many")
    if over:
        raise BudgetExceeded(
            "\n  ".join(
                [f"{heading_of(key)} is over its budget: {'; '.join(over)}.", *_shares(group)]
            ),
            hint="Say the same in fewer bullets; nothing is cut. "
            "A command in rfc.compressor can do it for you.",
        )
    under = [finding["message"] for finding in found if finding["kind"] == "under"]
    if under and not lenient:
        raise HoldfastError(
            "\n  ".join([f"{heading_of(key)} says too little:", *under]),
            hint=_hint(under),
            kind="too_little",
        )
    return under


def _hint(under: Sequence[str]) -> str:
    asks = "`holdfast rfc prompt` asks the questions; --lenient writes it all the same."
    labels = any(TENSIONS_UPDATED in message for message in under)
    return f"{asks} {LABELS_HINT}" if labels else asks


def check_total(state: RfcState) -> None:
    """Refuse a checkpoint of more than 200 lines."""
    lines = count(state)
    if lines <= MOST_LINES:
        return
    parts = [
        f"{heading_of(group['key'])}: {len(group_lines(group, compact=True))} lines"
        for group in state["groups"]
    ]
    parts += [f"{one['title']:.60}: {len(one['lines']) + 1} lines" for one in state["extra"]]
    excess = lines - MOST_LINES
    what = f"The checkpoint would have {lines} lines; {MOST_LINES} is the most, {excess} too many."
    raise BudgetExceeded(
        "\n  ".join([what, *parts]), hint="Shorten what was added to it by hand; nothing is cut."
    )


def _shares(group: Group) -> list[str]:
    """How many lines each section, and each bullet of it, would have to give."""
    bounds = sections_of(group["key"])
    sizes = {section["title"]: len(section["bullets"]) for section in group["sections"]}
    gives = {}
    for title, size in sizes.items():
        most = bounds.get(title, (0, None))[1]
        gives[title] = max(0, size - most) if most is not None else 0
    rest = len(group_lines(group, compact=True)) - sum(gives.values()) - MOST_GROUP_LINES
    if rest > 0:
        spare = {title: sizes[title] - gives[title] - bounds.get(title, (0,))[0] for title in sizes}
        for title in sorted(spare, key=lambda title: -spare[title]):
            taken = min(rest, max(0, spare[title]))
            gives[title] += taken
            rest -= taken
    return [
        f"{title}: {_bullets(sizes[title])} would have to give {_lines(give)}, "
        f"{give / sizes[title]:.2f} each"
        for title, give in gives.items()
        if give
    ]


def _bullets(number: int) -> str:
    return f"{number} bullet{'' if number == 1 else 's'}"


def _lines(number: int) -> str:
    return f"{number} line{'' if number == 1 else 's'}"
