"""What a pack says of the calls that have no result: those that reach out first, with how to look what became
of them."""

from __future__ import annotations

from holdfast.kernel.text import code
from holdfast.observe.open_calls import cut_off
from holdfast.observe.outward import reaches_of
from holdfast.pack.pack import one_line, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.observe.model import Observation, OpenCall
    from holdfast.pack.pack import Section

LONGEST_CALL, LONGEST_OTHER, LONGEST_STEP, MOST_PROBES = 150, 100, 40, 3


def cut_off_sections(seen: Observation, *, at_work: bool) -> dict[str, Section]:
    """The calls without a result: those that reach beyond the work tree, those of them that ran on in the
    background, and the others. While the session is at work, they are under way."""
    outward: list[str] = []
    behind: list[str] = []
    others: list[str] = []
    for call in cut_off(seen):
        text = one_line(call["text"])
        reaches = [(one_line(step), one_line(probe)) for step, probe in reaches_of(call["text"])]
        if reaches:
            shown = text
            if len(text) > LONGEST_CALL:
                shown = shorten(one_line(call["text"].partition("\n")[0]), LONGEST_OTHER)
                steps = [step for step, _ in reaches if step[:LONGEST_STEP] not in shown]
                shown = " … ".join([shown, *(shorten(step, LONGEST_STEP) for step in steps[-1:])])
            probes = dict.fromkeys(probe for _, probe in reaches[-MOST_PROBES:] if probe)
            look = f": {', '.join(map(code, probes))}" if probes else ""
            line = f"{code(shown)}{_time_of(call)}"
            if at_work:
                outward.append(f"- {line}")
            elif "behind" in call:
                behind.append(f"- {line}: look how it ended{look}")
            else:
                outward.append(f"- outcome unknown: {line}. Look before you repeat it{look}.")
        elif "behind" not in call:
            shown = code(shorten(text, LONGEST_OTHER))
            others.append(f"- {'' if at_work else 'no result: '}{shown}{_time_of(call)}")
    return {
        "cut": ("Under way at this moment" if at_work else "Cut off", [*dict.fromkeys(outward)]),
        "behind": ("In the background when last seen", behind),
        "open": ("Also under way" if at_work else "Under way at the end", [*dict.fromkeys(others)]),
    }


def _time_of(call: OpenCall) -> str:
    at = call["at"]
    is_time = len(at) > 16 and at.endswith("Z") and not at.strip("0123456789-:.TZ")
    return f" ({at[11:16]} UTC)" if is_time else ""
