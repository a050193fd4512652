"""holdfast verify"""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, safe, style
from holdfast.kernel.text import plural
from holdfast.maintenance.history import Verification, verify


@click.command("verify")
@verb
def command(call: Call) -> Reply:
    """Check every hash chain, and let SQLite check its file.

    The exit code is 1 when another program changed, removed or added a record, or when records that
    were acknowledged are missing, such as after `journal.db-wal` was removed.
    """
    if not call.workspace.exists():
        found: Verification = {"ok": True, "streams": [], "damage": [], "lost": []}
        return Reply({**found}, ["Nothing was written yet."])
    with ProgressLine("Checking hash chains", is_shown=not call.as_json) as progress:
        found = verify(call.workspace.journal, progress)
    return Reply({**found}, _lines(found), exit_code=0 if found["ok"] else 1)


def _lines(found: Verification) -> Iterator[str]:
    findings, damage, lost = found["streams"], found["damage"], found["lost"]
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
