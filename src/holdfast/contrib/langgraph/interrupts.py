"""A graph's interrupts as gates: a person answers where they answer all others, and the answer resumes the graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast.kernel.errors import Declined, NotFound
from holdfast.kernel.text import one_line

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from holdfast.contrib.langgraph.saver import HoldfastSaver


INTERRUPT = "__interrupt__"
LONGEST_TITLE = 2_000


def ask_person(
    saver: HoldfastSaver, config: RunnableConfig, *, seconds: float | None = None
) -> dict[str, Any]:
    """Ask a person what a graph waits for, and wait for the answers. The same interrupt is asked once, also after a
    crash: a later call waits for the same gate.

    An interrupt whose value has `question` and `options` (each with id, name, pros and cons) becomes a decision, and
    its answer is the option's id. Any other becomes a question whether something is right; its answer is
    `{"approved": bool, "text": what the person wrote}`.

    Args:
        saver: The graph's checkpointer.
        config: The config of the thread.
        seconds: How long to wait. [default: until there is an answer]

    Returns:
        What `Command(resume=...)` takes: the answers by the interrupts' ids.

    Raises:
        NotFound: The graph waits for nobody.
        Waiting: There is no answer yet.

    Example:
        while graph.get_state(config).interrupts:
            graph.invoke(Command(resume=ask_person(saver, config)), config)
    """
    found = saver.get_tuple(config)
    writes = (found and found.pending_writes) or []
    asked = [one for _, channel, value in writes if channel == INTERRUPT for one in value]
    if not asked:
        raise NotFound("The graph waits for nobody.", hint="graph.get_state(config).interrupts")
    with holdfast.open(saver.workspace.root) as workspace:
        gates = [(one.id, _ask(workspace.gates, one)) for one in asked]
        return {id: _wait(gate, seconds) for id, gate in gates}


def _ask(gates: Any, interrupt: Any) -> Any:
    value, terms = interrupt.value, {"name": f"graph-{interrupt.id[:16]}", "once": True}
    if isinstance(value, dict) and {"question", "options"} <= value.keys():
        context = str(value.get("context", "")) or "A graph waits for it."
        return gates.decide(
            str(value["question"]), context=context, options=value["options"], **terms
        )
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return gates.verify(
        built=one_line(text, LONGEST_TITLE), how=["Answer what the graph asks"], **terms
    )


def _wait(gate: Any, seconds: float | None) -> Any:
    try:
        answer = gate.wait(seconds)
    except Declined:
        answer = gate.state["answer"]
        if answer is None:  # withdrawn
            raise
    if gate.state["content"]["options"]:
        return answer["answer"]
    return {"approved": answer["verdict"] == "yes", "text": answer["text"]}
