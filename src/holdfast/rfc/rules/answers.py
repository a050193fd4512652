"""Answers to the questions of a boundary, in Markdown or JSON, as the sections of their group."""

from __future__ import annotations

from holdfast.kernel import canonical_json
from holdfast.kernel.errors import Usage
from holdfast.rfc.rules.blocks import cut, lines_of
from holdfast.rfc.rules.prompts import prompt
from holdfast.rfc.rules.words import LABELS, TENSIONS_UPDATED, heading_of, key_of, sections_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.rfc.rules.words import Section

LARGEST_ANSWERS = 4_000_000  # characters, or bytes
_HINT = (
    "`holdfast rfc prompt` shows the sections; below each, one line a bullet, beginning with `- `."
)


def read(key: str, text: str, *, source: str = "answers") -> list[Section]:
    """The sections that a text answers. What cannot be placed is refused with its line."""
    if len(text) > LARGEST_ANSWERS:
        raise Usage(
            f"The answers have {len(text)} characters; {LARGEST_ANSWERS} is the most.",
            hint="Signals over transcripts: one line a bullet.",
        )
    bare = text.lstrip("\ufeff \t\r\n")
    if bare.startswith("{"):
        return _from_json(key, bare, source)
    if bare.startswith("[") and _is_json(bare):
        title = next(iter(sections_of(key)))
        raise _refusal(
            f"{source}: a JSON list does not say which section it answers; "
            f'an object does: {{"{title}": ["..."]}}.'
        )
    return _from_markdown(key, text, source)


def _from_markdown(key: str, text: str, source: str) -> list[Section]:
    titles = {title.lower(): title for title in sections_of(key)}
    found: dict[str, Section] = {}
    lines: dict[str, int] = {}
    current: Section | None = None
    asked = prompt(key).partition("\n")[0]
    skipped, unwrapped = _unwrapped(lines_of(text))
    for block in cut(unwrapped, frozenset(titles)):
        where = f"{source}:{block.line + skipped}"
        if block.kind == "heading":
            title = titles.get(block.text.lower(), "")
            if not title:
                _check_heading(key, block.text, where)
                current = None
                continue
            if title in found:
                raise _refusal(f"{where}: {title} stands already on line {lines[title]}.")
            current = {"title": title, "bullets": []}
            found[title], lines[title] = current, block.line + skipped
        elif block.kind == "bullet" and current is not None:
            current["bullets"].append(block.text)
        elif block.kind == "bullet":
            raise _refusal(f"{where}: a bullet in no section: {block.text:.60}")
        elif block.kind == "unclosed":
            raise _refusal(f"{where}: {block.text} is never closed.")
        elif block.kind == "text" and block.text != asked:
            raise _refusal(f"{where}: text that is no bullet: {block.text:.60}")
    return list(found.values())


def _unwrapped(lines: list[str]) -> tuple[int, list[str]]:
    """Without the code fence that models like to put around a whole answer; how many lines went."""
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    last = next((n for n in range(len(lines) - 1, -1, -1) if lines[n].strip()), 0)
    if last > first and lines[first].startswith("```") and lines[last].strip() == "```":
        return first + 1, lines[first + 1 : last]
    return 0, lines


def _check_heading(key: str, text: str, where: str) -> None:
    """The group's own heading may stand above its sections; another group's may not."""
    named = key_of(text)
    if not named:
        raise _refusal(f"{where}: {text:.60} is no section of {heading_of(key)}.")
    if named != key:
        raise _refusal(f"{where}: this is {heading_of(named)}, and {heading_of(key)} is asked for.")


def _is_json(text: str) -> bool:
    try:
        canonical_json.loads(text)
    except ValueError:
        return False
    return True


def _from_json(key: str, text: str, source: str) -> list[Section]:
    import json

    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        whole = dict(pairs)
        if len(whole) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in whole if names.count(name) > 1)
            raise _refusal(f"{source}: {twice!r:.60} stands there twice.")
        return whole

    try:
        value, _ = canonical_json.storable(json.loads(text, object_pairs_hook=without_repeats))
    except (ValueError, RecursionError) as error:
        raise Usage(f"{source}: not JSON: {error}.") from None
    titles = {title.lower(): title for title in sections_of(key)}
    found: dict[str, Section] = {}
    for name, answer in value.items():
        title = titles.get(name.replace("_", " ").lower(), "")
        if not title:
            known = ", ".join(titles.values())
            raise _refusal(f"{source}: {name!r:.60} is none of {known}.")
        if title in found:
            raise _refusal(f"{source}: {title} stands there twice.")
        labelled = title == TENSIONS_UPDATED and isinstance(answer, dict)
        bullets = _with_labels(answer, source) if labelled else answer
        if not isinstance(bullets, list) or not all(isinstance(one, str) for one in bullets):
            raise _refusal(f"{source}: {name} must be a list of texts.")
        found[title] = {"title": title, "bullets": bullets}
    return list(found.values())


def _with_labels(answer: dict[str, Any], source: str) -> list[str]:
    """`{"resolved": ["a", "b"], "new": "c"}` as bullets with their labels."""
    known = {label.lower(): label for label in LABELS}
    bullets: list[str] = []
    for name, said in answer.items():
        label = known.get(name.lower())
        texts = [said] if isinstance(said, str) else said
        if label is None or not isinstance(texts, list):
            raise _refusal(f"{source}: {name!r:.60} is none of {', '.join(LABELS)} with texts.")
        if not all(isinstance(one, str) for one in texts):
            raise _refusal(f"{source}: {name} must be a text, or a list of texts.")
        bullets += [f"{label}: {one}" for one in texts]
    return bullets


def _refusal(message: str) -> Usage:
    return Usage(message, hint=_HINT, kind="bad_answers")
