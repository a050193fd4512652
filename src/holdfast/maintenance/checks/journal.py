"""What `doctor` checks of the journal: its file or server, its records, and what waits around it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import apsw

from holdfast.journal import chain, upkeep
from holdfast.journal.mark import lost_marks
from holdfast.kernel import clock, filesystem, lock
from holdfast.kernel.commit import REPAIR, Order, commit
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.streams import list_unknown, open_writer
from holdfast.kernel.text import plural
from holdfast.kernel.trust import made_elsewhere_until
from holdfast.kernel.views import quarantine
from holdfast.kernel.workspace import Workspace, worktrees
from holdfast.maintenance import purge, stored_secrets
from holdfast.maintenance.backup import describe, salvage
from holdfast.maintenance.checks import explain_read_only
from holdfast.maintenance.gc import list_leftovers
from holdfast.parts import Check, accept, fail, warn
from holdfast.people.person import require
from holdfast.remote import facts
from holdfast.remote.identity import name_of
from holdfast.remote.move import astray, join_hint, list_alike, server_of

UNFINISHED_AGE = clock.HOUR
# What `--fix` does about a damaged file: no copy is needed, and the damaged file is kept.
SALVAGE = "holdfast doctor --fix"


def check_sqlite() -> Check:
    version = apsw.sqlite_lib_version()
    if upkeep.has_reset_race(version):
        return fail(
            "sqlite",
            f"SQLite {version} can lose a commit that races a checkpoint.",
            why="Fixed in SQLite 3.51.3; apsw's own wheels have it.",
            fix="Install apsw from its wheel: pip install --upgrade --only-binary apsw apsw",
        )
    return accept("sqlite", f"SQLite {version}, apsw {apsw.apsw_version()}")


def check_filesystem(workspace: Workspace) -> Check:
    folder = workspace.home if os.path.isdir(workspace.home) else workspace.root
    kind = filesystem.kind_of(folder)
    safety = filesystem.safety(kind)
    if safety == "safe":
        return accept("filesystem", f"The journal is on {kind}")
    complain = fail if safety == "unsafe" else warn
    return complain(
        "filesystem",
        f"The journal is on {kind}, which is shared beyond this machine.",
        why="SQLite's log needs one kernel: two machines would overwrite each other.",
        fix="Set HOLDFAST_HOME to a folder on a local disk.",
    )


def check_records(workspace: Workspace, now: int, *, fix: bool) -> list[Check]:
    """Check that the journal opens and its records are whole, up to the first problem. `fix` makes a new
    journal of what can be read of a damaged one."""
    checks = []
    for check in (_check_opening, _check_integrity, _check_chains):
        result = _run_check(check, workspace)
        if fix and result["fix"] == SALVAGE:
            result = _salvage(workspace, now)
        checks.append(result)
        if result["status"] == "problem":
            break
    return checks


def _run_check(check: Callable[[Workspace], Check], workspace: Workspace) -> Check:
    try:
        return check(workspace)
    except HoldfastError as error:
        fix = SALVAGE if error.kind == "journal_damaged" and not workspace.url else error.hint
        return fail("journal", error.message, why="Nothing can be read.", fix=fix)
    except ValueError as error:  # the text of a record is not what any version writes
        return fail(
            "chains",
            f"A record cannot be read: {error}.",
            why="Another program changed the file, or the disk did.",
            fix="" if workspace.url else SALVAGE,
        )


def _check_opening(workspace: Workspace) -> Check:
    return accept("journal", workspace.journal.place)


def _salvage(workspace: Workspace, now: int) -> Check:
    """Make a new journal of what can be read of the damaged one."""
    done = salvage(workspace, actor="holdfast", now=now)
    return {
        "id": "journal",
        "status": "warning" if done["lost"] else "ok",
        "what": f"{workspace.journal_path} was damaged, and is new",
        "why": "",
        "fix": "If you have a copy, `holdfast backup FILE --restore` brings it back instead.",
        "fixed": describe(done),
    }


def _check_integrity(workspace: Workspace) -> Check:
    problems = workspace.journal.damage()
    if problems:
        return fail(
            "integrity",
            f"The file is damaged: {problems[0]}",
            why="Records may be unreadable.",
            fix="Restore the database with PostgreSQL's own tools." if workspace.url else SALVAGE,
        )
    if workspace.url:
        return accept("server", server_of(workspace.journal))
    return accept("integrity", "SQLite finds the file whole")


def _check_chains(workspace: Workspace) -> Check:
    findings = list(chain.verify(workspace.journal))
    broken = [finding for finding in findings if finding["broken"]]
    if broken:
        first = broken[0]
        return fail(
            "chains",
            f"{first['stream']} is broken at {first['record'] or 'its end'}: {first['broken']}.",
            why="Another program changed the file, or the disk did.",
            fix="Restore the database with PostgreSQL's own tools." if workspace.url else SALVAGE,
        )
    count = sum(found["records"] for found in findings)
    return accept("chains", f"{plural(count, 'record')}, hashes right")


def check_writable(workspace: Workspace) -> Check:
    """Check that this process can add records. If not, say what becomes of them, and who must change what."""
    fine = accept("writable", "This user can write the journal")
    if workspace.url:
        return _fail_reader(workspace) if workspace.journal.read_only else fine
    place = workspace.journal_path
    files = (workspace.home, place, f"{place}-wal", os.path.join(workspace.home, lock.FILE))
    fix = next(filter(None, map(explain_read_only, files)), "")
    if not fix:
        return fine
    inbox = os.path.join(workspace.tool_folder, "inbox")
    if explain_read_only(inbox):
        why = (
            f"Nothing is recorded, and nothing can wait in {inbox}. Commands that write end with exit "
            "code 75. Hooks let their client go on, and what they would record is lost."
        )
    else:
        why = (
            f"Nothing is recorded. Notes and the checkpoints of hooks wait in {inbox}, and the next command "
            "that can write records them. Others, such as `holdfast agent start`, end with exit code 75."
        )
    return fail("writable", f"{place} is read-only here.", why=why, fix=fix)


def _fail_reader(workspace: Workspace) -> Check:
    return fail(
        "writable",
        f"{workspace.journal.place} is read-only here.",
        why="Commands that write are refused with exit code 4, and record nothing. What hooks record waits "
        "on this machine for the server.",
        fix="The administrator of the database lets this role append: `holdfast admin grant ROLE` prints "
        "the statements. If the server is a copy that follows another, HOLDFAST_URL must name that one.",
    )


def check_purge(workspace: Workspace, now: int, fix: bool) -> Check:
    if purge.read_intent(workspace) is None:
        return accept("purge", "No purge was interrupted")
    why = "The text that it was to erase is not gone yet."
    if fix:
        try:
            purge.finish(workspace, now=now)
            return accept("purge", "No purge is open", fixed="the purge was finished")
        except NotAllowed as refused:
            why = refused.message
    return fail("purge", "A purge was interrupted.", why=why, fix="holdfast doctor --fix")


def check_secrets(workspace: Workspace, now: int, fix: bool) -> Check:
    """Check whether anything is stored that the redaction rules of today would take out. `fix` takes it out."""
    try:
        return _check_secrets(workspace, now, fix)
    except HoldfastError as error:  # settings that cannot be read, or a store that is away
        return warn(
            "secrets",
            "What is stored could not be compared with the redaction rules of today",
            why=error.message,
            fix=error.hint,
        )


def _check_secrets(workspace: Workspace, now: int, fix: bool) -> Check:
    if stored_secrets.is_current(workspace):
        return accept("secrets", "What is stored was redacted with the rules of today")
    found = stored_secrets.find(workspace)
    held = (
        f"{plural(len(found['records']), 'record')} in {plural(len(found['streams']), 'stream')}, "
        f"{plural(len(found['files']), 'file')} and {plural(found['sessions'], 'observation')}"
    )
    if not found["rules"]:
        # On a read-only disk, the next look is as long. A journal without records stays as it was made.
        with contextlib.suppress(HoldfastError):
            if workspace.journal.heads():
                stored_secrets.accept(workspace)
        return accept("secrets", "Nothing that is stored looks like a secret")
    rules = ", ".join(f"{name} {times}" for name, times in sorted(found["rules"].items()))
    why = "They were stored under older rules, and may hold secrets."
    if fix:
        refused = stored_secrets.redact(workspace, found, now=now)
        if not refused:
            fixed = f"{held} were redacted; the bodies of the records are erased"
            return accept("secrets", "What is stored was redacted again", fixed=fixed)
        why = f"Only a person changes what people decided: {', '.join(refused[:5])}."
    what = f"{held} hold what the redaction rules of today take out ({rules})"
    return warn("secrets", what, why=why, fix="holdfast doctor --fix")


def check_lost(workspace: Workspace, now: int, fix: bool) -> Check:
    """Check for records that were acknowledged and are missing. The files that showed them still do: `fix` takes
    in what these say, and keeps the list of the lost records in quarantine."""
    lost = workspace.journal.lost()
    if not lost:
        return accept("lost", "No acknowledged record is missing")
    streams = list(dict.fromkeys(entry["stream"] for entry in lost))
    what = (
        f"{len(lost)} acknowledged record{'s are' if len(lost) != 1 else ' is'} missing, "
        f"the last of {lost[-1]['at']}, in {', '.join(streams[:5])}"
    )
    why = "journal.db-wal was removed or damaged, or an older journal.db was put in its place."
    if fix and not workspace.journal.read_only:
        writer = open_writer(workspace)
        for stream in streams:
            try:
                commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
            except HoldfastError:
                continue  # `check_views` says why
        for path in lost_marks(workspace.journal_path):
            kept = quarantine.keep(workspace, path, now)
            os.unlink(path)
        return accept("lost", what, why=why, fixed=f"their list is kept in {kept}")
    return fail(
        "lost", what, why=why, fix="holdfast doctor --fix takes in what their files still show"
    )


def check_server(workspace: Workspace, now: int, fix: bool) -> Iterator[Check]:
    """Check whether another server took over, and what the role in use may see. `fix` lets the lives from before go
    on, for a person at a terminal."""
    if not workspace.url:
        return
    server: Any = workspace.journal
    lives: list[str] = server.waiting_lives()
    fixed, why = (
        "",
        "What they write waits or is refused (exit code 5), so that no two lives write.",
    )
    if lives and fix:
        shown = ["If the server lacks the takeover of one of these, two would write:", *lives]
        try:
            require(workspace, "let them go on", shown, now=now)
            server.confirm_lives()
            fixed, lives = f"{plural(len(lives), 'life goes', 'lives go')} on", []
        except NotAllowed as refused:
            why = refused.message
    if lives:
        yield warn(
            "lives",
            f"A copy of the server took over; it may lack that one of these was taken over: {', '.join(lives[:5])}",
            why=why,
            fix="Start them again. If no record is missing, a person runs holdfast doctor --fix at a terminal.",
        )
    else:
        yield accept("lives", "Every life began on this server", fixed=fixed)
    others = server.others()
    role, sees_all = server.role()
    if others and sees_all:
        yield warn(
            "role",
            f"The role {role} bypasses row-level security: it sees and writes {plural(len(others) + 1, 'workspace')}.",
            why=sees_all,
            fix="Keep it for gc, purge and upgrades, and give agents a role by `holdfast admin grant ROLE`.",
        )
    else:
        yield accept(
            "role",
            f"The role {role} sees this workspace alone" if not sees_all else f"The role is {role}",
        )


def check_origin(workspace: Workspace) -> Check:
    """Check that the journal was made here. A `.git` folder can come with an archive."""
    roots = {row["worktree"] for row in workspace.journal.views()} if not workspace.url else set()
    if not made_elsewhere_until(workspace):
        return accept("origin", "The journal belongs to this repository")
    what = "The journal was made elsewhere, under another home, or by an earlier version."
    if roots and not roots & set(worktrees(workspace)):
        what = f"The journal wrote its files in {sorted(roots)[0]}, and never here."
    return warn(
        "origin",
        what,
        why="The repository was moved, or it came with its .git folder from another person. None of "
        "their commands is run, none of their comments is sent, and no answer of theirs counts.",
        fix=f"If it is yours: holdfast trust. If it is not, remove it: {workspace.home}",
    )


def check_elsewhere(workspace: Workspace) -> Check:
    """Check whether another journal holds records that commands here do not read."""
    found = astray(workspace)
    if found is None:
        alike = list_alike(workspace, workspace.journal) if workspace.url else []
        if alike:
            what = f"This journal is {name_of(workspace)}; the server also has {', '.join(alike)}"
            return accept("elsewhere", what, why=join_hint(alike))
        return accept("elsewhere", "All records are in this journal")
    return warn("elsewhere", found.what, why=found.why, fix=found.fix)


def check_refusals(workspace: Workspace) -> Check:
    refusals = workspace.journal.refusals()
    if refusals:
        last = refusals[-1]
        return warn(
            "refused",
            f"{plural(len(refusals), 'refused write is', 'refused writes are')} kept; last at {last['at']}: {last['reason']}",
            why="A life that was taken over continued to write. Nothing of it was lost.",
            fix="holdfast doctor --json shows what they tried to write.",
        )
    return accept("refused", "No write was refused")


def check_unknown(workspace: Workspace) -> Check:
    """Check for streams of features that this holdfast does not have."""
    kinds = list_unknown(workspace.journal)
    if not kinds:
        return accept("features", "Every record is of a known feature")
    return warn(
        "features",
        f"Records of {', '.join(kinds)}, which this holdfast does not know",
        why="A newer holdfast, or a feature that is not installed, wrote them. They are kept as they are.",
    )


def check_outbox(workspace: Workspace) -> Check:
    failing = [effect for effect in workspace.journal.effects() if effect["error"]]
    if failing:
        return warn(
            "outbox",
            f"{plural(len(failing), 'effect waits', 'effects wait')}; last error: {failing[0]['error']}",
            why="What is outside did not answer. It is tried again with every command.",
        )
    return accept("outbox", "Nothing waits to be delivered")


def check_spool(workspace: Workspace, now: int) -> Check:
    """Check what hooks wrote on this machine for the server, and the age of what they read."""
    known = facts.gather(workspace)
    waits = facts.in_words(known)
    loss = facts.find_loss(workspace, now)
    if loss is not None:
        return fail(
            "spool",
            facts.loss_in_words(loss),
            why="A copy took over without its last records, or an older backup was restored. What this "
            "machine had delivered before is not delivered again.",
            fix="Ask the people who run the database. `holdfast history` shows where the records end now.",
        )
    at_work = "a forwarder is at work" if known["forwarder"] else "no forwarder runs"
    if known["refused"]:
        return warn(
            "spool",
            f"The server could not take {known['refused']} writes of this machine; they are kept in "
            f"{workspace.journal_path}",
            why="Nothing else waits for them.",
            fix="HOLDFAST_URL= holdfast doctor --json",
        )
    if not waits:
        heard = "" if not known["heard_at"] else f"; heard at {known['heard_at']}"
        return accept("spool", f"Nothing of this machine's waits for the server; {at_work}{heard}")
    return warn(
        "spool",
        f"{waits}; {at_work}, and has not heard the server {facts.how_long(known['heard_at'], now)}.",
        why="Nothing is lost. Other machines do not see it yet; it is delivered when the server is back.",
        fix="" if known["forwarder"] else "holdfast journal forward",
    )


def check_leftovers(workspace: Workspace, now: int, fix: bool) -> Check:
    left, unfinished = list_leftovers(workspace, now), _list_unfinished(workspace, now)
    found = [*map(str, left), *unfinished]
    if found and fix:
        for file in left:
            file.remove_if_any()
        for path in unfinished:
            os.unlink(path)
        return accept("leftovers", "No leftovers", fixed=f"{len(found)} removed")
    if found:
        return warn(
            "leftovers",
            f"{plural(len(found), 'file')} of interrupted writes: {found[0]}",
            why="A process was killed in the middle. They are of no use.",
            fix="holdfast doctor --fix",
        )
    return accept("leftovers", "No leftovers of interrupted writes")


def _list_unfinished(workspace: Workspace, now: int) -> list[str]:
    found = []
    for folder in (workspace.home, os.path.join(workspace.tool_folder, "inbox")):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            old = os.lstat(path).st_mtime * 1000 < now - UNFINISHED_AGE
            if name.endswith(".unfinished") and old:
                found.append(path)
    return found


def check_lock(workspace: Workspace) -> Check:
    """Check the lock. It ends with its process, so a held lock means a process that works or hangs."""
    holder = _find_lock_holder(os.path.join(workspace.home, lock.FILE))
    if holder:
        return warn(
            "lock",
            f"Process {holder} holds the workspace.",
            why="It is writing right now; if it stays, it is stuck.",
            fix=f"Look at it: ps -p {holder}",
        )
    return accept("lock", "No process holds the lock")


def _find_lock_holder(path: str) -> int:
    try:
        inode = f":{os.stat(path).st_ino} "
        with open("/proc/locks", encoding="ascii") as file:
            for line in file:
                fields = line.split()
                if "FLOCK" in fields and inode in line and "->" not in fields:
                    return int(fields[4])
    except (OSError, ValueError, IndexError):
        pass
    return 0
