"""A session that only its transcript tells of: no workspace and no journal are needed."""

from __future__ import annotations

import os

from holdfast.clients.discovery import sessions_in
from holdfast.clients.table import own_id, titles
from holdfast.kernel import config
from holdfast.kernel.door import Door
from holdfast.kernel.errors import NotFound
from holdfast.pack import handover_text, pack
from holdfast.session.edits import compare_edits
from holdfast.session.lineage import request_line, transcripts_before, with_lineage
from holdfast.session.observation import read_once
from holdfast.session.rules.handover import progress_of
from holdfast.session.rules.session import initial, stream_of
from holdfast.session.rules.verdict import HAS_ALL_EDITS, NOTHING_TO_COMPARE, lacking
from holdfast.session.session_choice import beside_trivial, found_at, is_running, pass_trivial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.clients.discovery import FoundSession
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.edits import ComparedEdits
    from holdfast.session.resume import ResumeRequest, Resumption
    from holdfast.session.rules.verdict import Reason

DEFAULT_BUDGET = 9_000


def resume_without_workspace(folder: str, request: ResumeRequest, *, now: int) -> Resumption:
    """The same in a folder that is no workspace: from the clients' transcripts alone."""
    if request.get("transcript"):
        return resume_transcript(found_at(request["transcript"]), request, now)
    wanted = request.get("session", "")
    candidates = [one for one in sessions_in(folder) if one["session"] != own_id()]
    matching = [one for one in candidates if one["session"].startswith(wanted)]
    if not matching:
        hint = (
            f"`holdfast resume --list` shows the sessions of {titles('and')} in this folder."
            if candidates
            else f"No session of {titles()} was found in this folder. "
            "`holdfast resume --transcript FILE` reads one of elsewhere."
        )
        raise NotFound(
            f"There is nothing to resume here{f': no session {wanted}' if wanted else ''}.",
            hint=hint,
        )
    if wanted:
        return resume_transcript(matching[0], request, now)
    worked, trivial = pass_trivial(matching)
    return resume_transcript(worked[0], request, now, before=worked[1:], trivial=trivial)


def resume_transcript(
    found: FoundSession,
    request: ResumeRequest,
    now: int,
    workspace: Workspace | None = None,
    *,
    before: Sequence[FoundSession] = (),
    trivial: Sequence[str] = (),
) -> Resumption:
    """A pack from a transcript that no journal knows. In a workspace its edits are compared with the
    work tree, also if the session worked in another clone of it. `before` are earlier sessions of the same folder,
    `trivial` the requests of later ones that did nothing."""
    seen = read_once(found, config.settings_of(workspace)["redact.rules"] if workspace else {})
    if seen is None:
        raise NotFound(
            f"{found['path']} holds no request and no work yet.",
            hint="`holdfast resume --list` shows other sessions.",
        )
    seen = with_lineage(seen, transcripts_before(found, before))
    at_work = found["session"] != own_id() and is_running(None, found, now)
    reasons: list[Reason] = [{"verdict": "UNKNOWN", "what": NOTHING_TO_COMPARE}]
    compared: ComparedEdits | None = None
    is_here = workspace is not None and os.path.realpath(found["cwd"]) == workspace.root
    if workspace is not None:
        compared = compare_edits(workspace, found, seen, named=True)
    lost = compared["lacking"] if compared else []
    if lost:
        reasons = [lacking(lost, was_here=is_here)]
    elif compared and compared["has_all"] and seen["edits"]:
        reasons = [{"verdict": "UNKNOWN", "what": HAS_ALL_EDITS}]
    parts: pack.Parts = {
        "verdict": handover_text.transcript_lines(
            found, lacks_edits=bool(lost), at_work=at_work, now=now
        ),
        "changes": [one["what"] for one in reasons] if lost else [],
        "seen": handover_text.mark_missing_files(seen, seen["cwd"] or found["cwd"]),
        "transcript": found["path"],
        "at_work": at_work,
        "beside": beside_trivial(trivial),
    }
    door = Door(workspace)
    text = pack.render(parts, request.get("budget") or DEFAULT_BUDGET)
    state = initial(stream_of(found["session"]))
    shown: dict[str, Any] = {**seen}
    client, path = found["client"], found["path"]
    state = {**state, "observed": {"client": client, "path": path, "at": "", "seen": shown}}
    return {
        "verdict": reasons[0]["verdict"],
        "reasons": reasons,
        "request": door.text(request_line(seen)),
        "pack": door.text(text),
        "prompt": door.text(progress_of(state)["prompt"]),
        "claims": [],
        "checkpoint": "",
        "session": found["session"],
        "client": found["client"],
        "transcript": found["path"],
        "at_work": at_work,
        "work_tree": None,
    }
