"""holdfast verify"""

from __future__ import annotations

from holdfast.cli.frame import Call, Reply
from holdfast.cli.terminal import plural, safe, style
from holdfast.journal import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.chain import ChainReport


def answer(call: Call) -> Reply:
    """Check every hash chain, and let SQLite check its file.

    The exit code is 1 when another program changed, removed or added a record.
    """
    if not call.workspace.exists():
        return Reply({"ok": True, "streams": [], "damage": []}, ["Nothing was written yet."])
    journal = call.workspace.journal
    findings = list(chain.verify(journal))
    damage = journal.damage()
    ok = not damage and not any(finding["broken"] for finding in findings)
    data = {"ok": ok, "streams": findings, "damage": damage}
    return Reply(data, _lines(findings, damage), exit_code=0 if ok else 1)


def _lines(findings: list[ChainReport], damage: list[str]) -> Iterator[str]:
    for problem in damage:
        yield style(f"damaged: {safe(problem)}", "red")
    for finding in findings:
        if finding["broken"]:
            where = f" at record {finding['record']}" if finding["record"] else ""
            yield style(f"broken: {safe(finding['stream'])}{where}: {finding['broken']}", "red")
    records = plural(sum(finding["records"] for finding in findings), "record")
    erased = sum(finding["erased"] for finding in findings)
    removed = sum(finding["removed"] for finding in findings)
    broken = sum(bool(finding["broken"]) for finding in findings)
    said = [f"{records} in {plural(len(findings), 'chain')}"]
    said += [f"{erased} erased"] if erased else []
    said += [f"{removed} removed by gc"] if removed else []
    said.append(f"{broken} broken" if broken else "all whole")
    yield ", ".join(said) + "."
