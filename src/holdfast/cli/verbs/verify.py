"""holdfast verify"""

from __future__ import annotations

from holdfast.cli.frame import Call, Reply
from holdfast.cli.terminal import ProgressLine, safe, style
from holdfast.journal import chain
from holdfast.kernel.text import plural
from holdfast.maintenance.history import find_false_snapshots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.chain import ChainReport
    from holdfast.journal.mark import Marked


def answer(call: Call) -> Reply:
    """Check every hash chain, and let SQLite check its file.

    The exit code is 1 when another program changed, removed or added a record, or when records that
    were acknowledged are missing, such as after `journal.db-wal` was removed.
    """
    if not call.workspace.exists():
        return Reply(
            {"ok": True, "streams": [], "damage": [], "lost": []}, ["Nothing was written yet."]
        )
    journal = call.workspace.journal
    with ProgressLine("Checking hash chains", is_shown=not call.as_json) as progress:
        findings: list[ChainReport] = []
        count = len(journal.anchors())
        for finding in chain.verify(journal):
            findings.append(finding)
            progress(len(findings), max(count, len(findings)))
        damage = journal.damage()
        damage += [
            f"the snapshot of {stream} does not follow from its records"
            for stream in find_false_snapshots(journal)
        ]
        lost = journal.lost()
    ok = not damage and not lost and not any(finding["broken"] for finding in findings)
    data = {"ok": ok, "streams": findings, "damage": damage, "lost": lost}
    return Reply(data, _lines(findings, damage, lost), exit_code=0 if ok else 1)


def _lines(findings: list[ChainReport], damage: list[str], lost: list[Marked]) -> Iterator[str]:
    for problem in damage:
        yield style(f"damaged: {safe(problem)}", "red")
    for entry in lost:
        yield style(
            f"missing: {safe(entry['stream'])} version {entry['version']}: {safe(entry['kind'])} "
            f"{entry['id'][:12]} of {safe(entry['at'])} was acknowledged",
            "red",
        )
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
    said += [f"{len(lost)} missing"] if lost else []
    said += [f"{broken} broken"] if broken else []
    said += ["all whole"] if not lost and not broken else []
    yield ", ".join(said) + "."
