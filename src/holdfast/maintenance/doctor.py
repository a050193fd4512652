"""Check everything that can go wrong with a workspace. Each check says what, why, and what to do."""

from __future__ import annotations

import os
from glob import escape, iglob

import apsw

from holdfast.clients.hook_runs import hook_runs
from holdfast.clients.installation import hide_from_git, made_settings, server
from holdfast.git.repository import GitError
from holdfast.git.run import git
from holdfast.journal import chain, upkeep
from holdfast.journal.mark import lost_marks
from holdfast.kernel import clock, config, filesystem, inbox, latch, lock
from holdfast.kernel.commit import REPAIR, Order, commit, take_in
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.git_index import tracked_below
from holdfast.kernel.plain_file import is_nested_deeper, read_plain
from holdfast.kernel.state import load
from holdfast.kernel.text import plural
from holdfast.kernel.trust import made_elsewhere_until
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.exchange import is_supported
from holdfast.kernel.views.files import content_digest, identity_of, target_of
from holdfast.kernel.workspace import TOOL_FOLDER, worktrees
from holdfast.maintenance import conflicts, purge
from holdfast.maintenance.backup import describe, salvage
from holdfast.maintenance.client_checks import check_clients, check_failures, new_check
from holdfast.maintenance.gc import leftovers
from holdfast.remote import facts
from holdfast.remote.identity import name_of
from holdfast.remote.move import astray, join_hint, list_alike, server_of
from holdfast.streams import open_writer, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypedDict

    from holdfast.clients.hook_runs import HookRuns
    from holdfast.journal.interface import Refusal
    from holdfast.kernel.workspace import Workspace
    from holdfast.maintenance.client_checks import Check

    class Diagnosis(TypedDict):
        """All checks, and the writes that were refused and kept."""

        checks: list[Check]
        refused: list[Refusal]
        # Whether the hooks in each client's settings really run.
        hooks: list[HookRuns]


UNFINISHED_AGE = clock.HOUR
# The files of a work tree that Holdfast reads, as patterns.
READ_FILES = (
    *("holdfast.toml", ".ccc-state.json", ".ccc-progress.md", ".notes/*.md"),
    *(".autopilot/config.yaml", ".autopilot/state/*.json", "agent_checkpoints/*.json"),
    *("conductor/tracks/*/metadata.json", ".ohrfc/*/state.json", ".ohrfc/*/checkpoint.md"),
    f"{TOOL_FOLDER}/inbox/*.json",
)
DEEPEST = 500
# What `--fix` does about a damaged file: no copy is needed, and the damaged file is kept.
SALVAGE = "holdfast doctor --fix"


def diagnose(workspace: Workspace, now: int, *, fix: bool = False) -> Diagnosis:
    """Check the workspace and the clients' settings."""
    checks = examine(workspace, now, fix=fix)
    refused = workspace.journal.refusals() if _is_readable(checks) and workspace.exists() else []
    runs = hook_runs(workspace, server())
    checks += check_clients(workspace, runs, now, fix=fix)
    return {"checks": checks, "refused": refused, "hooks": runs}


def examine(workspace: Workspace, now: int, *, fix: bool = False) -> list[Check]:
    """All checks, the most important first. `fix` repairs what can be repaired."""
    strange = _strange_files(workspace, now, fix)
    settings = _settings(workspace)
    if settings["status"] == "problem" and settings["id"] == "address":
        return [strange, settings]
    checks = [settings] if workspace.url else [_sqlite(), _filesystem(workspace), settings]
    checks.append(strange)
    journal_is_whole = True
    if workspace.exists():
        for check in (_journal_opens, _integrity, _chains):
            result = _guarded(check, workspace)
            if fix and result["fix"] == SALVAGE:
                result = _salvaged(workspace, now)
            checks.append(result)
            if result["status"] == "problem":
                journal_is_whole = False
                break
    if workspace.exists() and journal_is_whole:
        checks.append(_purge(workspace, now, fix))
        checks.append(_lost(workspace, now, fix))
        checks.append(_views(workspace, now, fix))
        checks.append(_conflicts(workspace))
        checks.append(_inboxes(workspace, now, fix))
        checks.append(_refusals(workspace))
        checks.append(_outbox(workspace))
        checks.append(_elsewhere(workspace))
        checks.append(_origin(workspace))
        checks.append(_leftovers(workspace, now, fix))
    if workspace.url:
        checks.append(_spool(workspace, now))
    checks.append(_lock(workspace))
    checks.append(_latch(workspace))
    checks.append(_committed(workspace))
    checks.append(_ignored(workspace, fix))
    checks.append(_exchange(workspace))
    checks.append(_quarantine(workspace))
    checks.append(check_failures(workspace, fix))
    return checks


def _guarded(check: Callable[[Workspace], Check], workspace: Workspace) -> Check:
    try:
        return check(workspace)
    except HoldfastError as error:
        fix = SALVAGE if error.kind == "journal_damaged" and not workspace.url else error.hint
        return new_check(
            "journal", error.message, status="problem", why="Nothing can be read.", fix=fix
        )
    except ValueError as error:  # the text of a record is not what any version writes
        return new_check(
            "chains",
            f"A record cannot be read: {error}.",
            status="problem",
            why="Another program changed the file, or the disk did.",
            fix="" if workspace.url else SALVAGE,
        )


def _salvaged(workspace: Workspace, now: int) -> Check:
    """Make a new journal of what can be read of the damaged one."""
    done = salvage(workspace, actor="holdfast", now=now)
    return new_check(
        "journal",
        f"{workspace.journal_path} was damaged, and is new",
        status="warning" if done["lost"] else "ok",
        fixed=describe(done),
        fix="If you have a copy, `holdfast backup FILE --restore` brings it back instead.",
    )


def _sqlite() -> Check:
    version = apsw.sqlite_lib_version()
    if upkeep.has_reset_race(version):
        return new_check(
            "sqlite",
            f"SQLite {version} can lose a commit that races a checkpoint.",
            status="problem",
            why="Fixed in SQLite 3.51.3; apsw's own wheels have it.",
            fix="Install apsw from its wheel: pip install --upgrade --only-binary apsw apsw",
        )
    return new_check("sqlite", f"SQLite {version}, apsw {apsw.apsw_version()}")


def _filesystem(workspace: Workspace) -> Check:
    folder = workspace.home if os.path.isdir(workspace.home) else workspace.root
    kind = filesystem.kind_of(folder)
    safety = filesystem.safety(kind)
    if safety == "safe":
        return new_check("filesystem", f"The journal is on {kind}")
    return new_check(
        "filesystem",
        f"The journal is on {kind}, which is shared beyond this machine.",
        status="problem" if safety == "unsafe" else "warning",
        why="SQLite's log needs one kernel: two machines would overwrite each other.",
        fix="Set HOLDFAST_HOME to a folder on a local disk.",
    )


def _strange_files(workspace: Workspace, now: int, fix: bool) -> Check:
    """What stands in the place of a file and is none that can be read. `fix` moves it aside."""
    found = list(list_strange_files(workspace))
    if not found:
        return new_check("files", "Every file that Holdfast reads is a plain one")
    if fix:
        moved = [f"{path} is now {_move_aside(workspace, path, now)}" for path, _ in found]
        return new_check("files", "Strange files were moved aside", fixed="; ".join(moved))
    path, why = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return new_check(
        "files",
        f"{path} cannot be read: {why}{more}",
        status="problem",
        why="What it should say is not known, and is not written there.",
        fix="holdfast doctor --fix moves it aside",
    )


def list_strange_files(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """The places of files that hold something else, or more than a reader takes; and what it is."""
    for root in worktrees(workspace):
        for pattern in READ_FILES:
            for path in sorted(iglob(os.path.join(escape(root), pattern))):
                why = _why_strange(path)
                if why:
                    yield path, why


def _why_strange(path: str) -> str:
    try:
        content = read_plain(path)
    except FileNotFoundError:
        return "it is a link to nothing" if os.path.islink(path) else ""
    except PermissionError:
        return ""  # a file like others, of another user
    except OSError as error:
        return error.strerror or str(error)
    is_deep = is_nested_deeper(content.decode("utf-8", "replace"), DEEPEST)
    return f"it is nested deeper than {DEEPEST} levels" if is_deep else ""


def _move_aside(workspace: Workspace, path: str, now: int) -> str:
    """Rename it: a copy of a pipe would wait for ever. Where it is now."""
    stamp = clock.stamp(now).replace(":", "").replace("-", "")
    name = f"{stamp}-{new_id()[:8]}-{os.path.basename(path)}"
    folder = os.path.join(workspace.home, "aside")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        os.rename(path, os.path.join(folder, name))
        return os.path.join(folder, name)
    except OSError:  # on another disk
        beside = os.path.join(os.path.dirname(path), f".{name}")
        os.rename(path, beside)
        return beside


def _settings(workspace: Workspace) -> Check:
    try:
        _ = workspace.url
    except HoldfastError as error:
        return new_check(
            "address",
            error.message,
            status="problem",
            why="Where the journal is cannot be told.",
            fix=error.hint,
        )
    try:
        config.load(workspace)
    except HoldfastError as error:
        return new_check(
            "settings",
            error.message,
            status="problem",
            why="No command that writes works until it is right.",
            fix=error.hint,
        )
    untrusted = config.untrusted_in(workspace, config.from_file(workspace, None))
    if untrusted:
        return new_check(
            "settings",
            f"Settings that do not count until a person trusts them: {', '.join(sorted(untrusted))}",
            status="warning",
            why="They came with the repository and name commands, places, variables or rules.",
            fix="Look at them: holdfast trust --show. Then, if they are right: holdfast trust",
        )
    return new_check("settings", "Settings are readable")


def _journal_opens(workspace: Workspace) -> Check:
    journal = workspace.journal
    if journal.read_only:
        return new_check(
            "journal",
            f"{journal.place} is read-only here.",
            status="warning",
            why="Commands are left in the inbox for the next process that can write.",
        )
    return new_check("journal", f"{journal.place}")


def _integrity(workspace: Workspace) -> Check:
    problems = workspace.journal.damage()
    if problems:
        return new_check(
            "integrity",
            f"SQLite finds the file damaged: {problems[0]}",
            status="problem",
            why="Records may be unreadable.",
            fix="Restore the database with PostgreSQL's own tools." if workspace.url else SALVAGE,
        )
    if workspace.url:
        return new_check("server", server_of(workspace.journal))
    return new_check("integrity", "SQLite finds the file whole")


def _chains(workspace: Workspace) -> Check:
    findings = list(chain.verify(workspace.journal))
    broken = [finding for finding in findings if finding["broken"]]
    if broken:
        first = broken[0]
        return new_check(
            "chains",
            f"{first['stream']} is broken at {first['record'] or 'its end'}: {first['broken']}.",
            status="problem",
            why="Another program changed the file, or the disk did.",
            fix="Compare with a copy: holdfast backup FILE --restore --dry-run",
        )
    return new_check(
        "chains", f"{sum(found['records'] for found in findings)} records, hashes right"
    )


def _purge(workspace: Workspace, now: int, fix: bool) -> Check:
    if purge.pending(workspace) is None:
        return new_check("purge", "No purge was interrupted")
    why = "The text that it was to erase is not gone yet."
    if fix:
        try:
            purge.finish(workspace, now=now)
            return new_check("purge", "No purge is open", fixed="the purge was finished")
        except NotAllowed as refused:
            why = refused.message
    return new_check(
        "purge",
        "A purge was interrupted.",
        status="problem",
        why=why,
        fix="holdfast doctor --fix",
    )


def _origin(workspace: Workspace) -> Check:
    """Whether the journal was made here. A `.git` folder can come with an archive."""
    roots = {row["worktree"] for row in workspace.journal.views()} if not workspace.url else set()
    if not made_elsewhere_until(workspace):
        return new_check("origin", "The journal belongs to this repository")
    what = "The journal was made elsewhere, under another home, or by an earlier version."
    if roots and not roots & set(worktrees(workspace)):
        what = f"The journal wrote its files in {sorted(roots)[0]}, and never here."
    return new_check(
        "origin",
        what,
        status="warning",
        why="The repository was moved, or it came with its .git folder from another person. None of "
        "their commands is run, none of their comments is sent, and no answer of theirs counts.",
        fix=f"If it is yours: holdfast trust. If it is not, remove it: {workspace.home}",
    )


def _lost(workspace: Workspace, now: int, fix: bool) -> Check:
    """Records that were acknowledged and are missing. The files that showed them still do: `fix` takes
    in what these say, and keeps the list of the lost records in quarantine."""
    lost = workspace.journal.lost()
    if not lost:
        return new_check("lost", "No acknowledged record is missing")
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
                continue  # `_views` says why
        for path in lost_marks(workspace.journal_path):
            kept = quarantine.keep(workspace, path, now)
            os.unlink(path)
        return new_check("lost", what, why=why, fixed=f"their list is kept in {kept}")
    return new_check(
        "lost",
        what,
        status="problem",
        why=why,
        fix="holdfast doctor --fix takes in what their files still show",
    )


def _views(workspace: Workspace, now: int, fix: bool) -> Check:
    behind = [
        (row["stream"], row["path"])
        for row in workspace.journal.views(worktree=workspace.root)
        if not row["removed"] and not _is_current(workspace, row["stream"], row["path"])
    ]
    if not behind:
        return new_check("views", "Files say what the journal says")
    fixed, refused = "", None
    if fix and not workspace.journal.read_only:
        writer = open_writer(workspace)
        for stream in dict.fromkeys(stream for stream, _ in behind):
            try:
                commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
            except HoldfastError as error:
                refused = error  # a file that its protocol will not have written over
        left = [path for stream, path in behind if not _is_current(workspace, stream, path)]
        fixed = f"{len(behind) - len(left)} of {len(behind)} brought up to date"
        if not left:
            return new_check("views", "Files say what the journal says", fixed=fixed)
    return new_check(
        "views",
        f"Not what the journal says: {', '.join(path for _, path in behind[:5])}",
        status="warning",
        why=refused.message
        if refused
        else "A crash came before the file was written, or it was edited since.",
        fix=refused.hint if refused else "holdfast doctor --fix",
        fixed=fixed,
    )


def _conflicts(workspace: Workspace) -> Check:
    """Edits by hand that met a newer change. No repair: a person chooses."""
    found = conflicts.list_all_conflicts(workspace)
    if not found:
        return new_check("conflicts", "No edit by hand met a newer change")
    return new_check(
        "conflicts",
        "; ".join(conflicts.describe(one, 200) for one in found[:5]),
        status="warning",
        why="Both changed one value since the editor read the file. The file shows the newer one.",
        fix=f"Choose: holdfast conflicts {found[0]['id'][:8]} --take edited, or --take kept",
    )


def _is_current(workspace: Workspace, stream: str, path: str) -> bool:
    try:
        subject = rules_of(stream)
        state, _ = load(workspace.journal, subject, stream)
        text = subject.render(state).get(path)
        if text is None:
            return True
        target = target_of(workspace, path)
        if identity_of(target) is None:
            return False
        return content_digest(read_plain(target)) == content_digest(text.encode())
    except (HoldfastError, OSError):
        return False


def _inboxes(workspace: Workspace, now: int, fix: bool) -> Check:
    roots = worktrees(workspace)
    waiting = [path for root in roots for path in inbox.waiting(root)]
    refused = [path for root in roots for path in inbox.refused(root)]
    if waiting and fix and not workspace.journal.read_only:
        taken = take_in(open_writer(workspace), roots)
        return new_check("inbox", "No command waits", fixed=f"{taken} taken in")
    if waiting:
        return new_check(
            "inbox",
            f"{plural(len(waiting), 'command')} of sandboxed agents {'waits' if len(waiting) == 1 else 'wait'}.",
            status="warning",
            why="They could not write the journal; any next command here takes them in.",
            fix="holdfast doctor --fix",
        )
    if refused:
        return new_check(
            "inbox",
            f"{plural(len(refused), 'command was', 'commands were')} refused: {refused[0]}",
            status="warning",
            why="Their life was taken over, or their text is damaged.",
            fix="Read them, and remove the files when they are of no more use.",
        )
    return new_check("inbox", "No command waits")


def _committed(workspace: Workspace) -> Check:
    """Files of ours that came with the repository: they do not count."""
    found = [
        os.path.join(root, path)
        for root in worktrees(workspace)
        for path in sorted(tracked_below(root, TOOL_FOLDER))
        if os.path.basename(path) != ".gitignore"
    ]
    if not found:
        return new_check("committed", "No file of ours came with the repository")
    return new_check(
        "committed",
        f"{plural(len(found), 'file')} of {TOOL_FOLDER}/ came with the repository and {'is' if len(found) == 1 else 'are'} ignored: {found[0]}",
        status="warning",
        why="They would be commands, or a journal, of the author of that repository.",
        fix=f"Read them. To remove them: git rm -r --cached {TOOL_FOLDER}",
    )


def _refusals(workspace: Workspace) -> Check:
    refusals = workspace.journal.refusals()
    if refusals:
        last = refusals[-1]
        return new_check(
            "refused",
            f"{plural(len(refusals), 'refused write is', 'refused writes are')} kept; last at {last['at']}: {last['reason']}",
            status="warning",
            why="A life that was taken over went on writing. Nothing of it was lost.",
            fix="holdfast doctor --json shows what they tried to write.",
        )
    return new_check("refused", "No write was refused")


def _outbox(workspace: Workspace) -> Check:
    failing = [effect for effect in workspace.journal.effects() if effect["error"]]
    if failing:
        return new_check(
            "outbox",
            f"{plural(len(failing), 'effect waits', 'effects wait')}; last error: {failing[0]['error']}",
            status="warning",
            why="What is outside did not answer. It is tried again with every command.",
        )
    return new_check("outbox", "Nothing waits to be delivered")


def _elsewhere(workspace: Workspace) -> Check:
    """Whether another journal holds records that commands here do not read."""
    found = astray(workspace)
    if found is None:
        alike = list_alike(workspace, workspace.journal) if workspace.url else []
        if alike:
            what = f"This journal is {name_of(workspace)}; the server also has {', '.join(alike)}"
            return new_check("elsewhere", what, why=join_hint(alike))
        return new_check("elsewhere", "All records are in this journal")
    return new_check("elsewhere", found.what, status="warning", why=found.why, fix=found.fix)


def _spool(workspace: Workspace, now: int) -> Check:
    """What hooks wrote on this machine for the server, and the age of what they read."""
    known = facts.gather(workspace)
    waits = facts.in_words(known)
    loss = facts.find_loss(workspace, now)
    if loss is not None:
        return new_check(
            "spool",
            facts.loss_in_words(loss),
            status="problem",
            why="A copy took over without its last records, or an older backup was restored. What this "
            "machine had delivered before is not delivered again.",
            fix="Ask the people who run the database. `holdfast history` shows where the records end now.",
        )
    at_work = "a forwarder is at work" if known["forwarder"] else "no forwarder runs"
    if known["refused"]:
        return new_check(
            "spool",
            f"The server could not take {known['refused']} writes of this machine; they are kept in "
            f"{workspace.journal_path}",
            status="warning",
            why="Nothing else waits for them.",
            fix="HOLDFAST_URL= holdfast doctor --json",
        )
    if not waits:
        heard = "" if not known["heard_at"] else f"; heard at {known['heard_at']}"
        return new_check(
            "spool", f"Nothing of this machine's waits for the server; {at_work}{heard}"
        )
    return new_check(
        "spool",
        f"{waits}; {at_work}, and has not heard the server {facts.how_long(known['heard_at'], now)}.",
        status="warning",
        why="Nothing is lost. Other machines do not see it yet; it is delivered when the server is back.",
        fix="" if known["forwarder"] else "holdfast journal forward",
    )


def _leftovers(workspace: Workspace, now: int, fix: bool) -> Check:
    found = leftovers(workspace, now) + _unfinished(workspace, now)
    if found and fix:
        for path in found:
            os.unlink(path)
        return new_check("leftovers", "No leftovers", fixed=f"{len(found)} removed")
    if found:
        return new_check(
            "leftovers",
            f"{plural(len(found), 'file')} of interrupted writes: {found[0]}",
            status="warning",
            why="A process was killed in the middle. They are of no use.",
            fix="holdfast doctor --fix",
        )
    return new_check("leftovers", "No leftovers of interrupted writes")


def _unfinished(workspace: Workspace, now: int) -> list[str]:
    found = []
    for folder in (workspace.home, os.path.join(workspace.tool_folder, "inbox")):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            old = os.lstat(path).st_mtime * 1000 < now - UNFINISHED_AGE
            if name.endswith(".unfinished") and old:
                found.append(path)
    return found


def _lock(workspace: Workspace) -> Check:
    """The lock. It ends with its process, so a held lock means a process that works or hangs."""
    holder = _lock_holder(os.path.join(workspace.home, lock.FILE))
    if holder:
        return new_check(
            "lock",
            f"Process {holder} holds the workspace.",
            status="warning",
            why="It is writing right now; if it stays, it is stuck.",
            fix=f"Look at it: ps -p {holder}",
        )
    return new_check("lock", "No process holds the lock")


def _lock_holder(path: str) -> int:
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


def _latch(workspace: Workspace) -> Check:
    stopped = latch.read(workspace)
    if stopped is None:
        return new_check("latch", "No stop is set")
    return new_check(
        "latch",
        f"Stopped: {stopped['reason']}",
        status="warning",
        why=f"Set by {stopped['by'] or 'an unknown user'} at {stopped['at'] or 'an unknown time'}.",
    )


def _ignored(workspace: Workspace, fix: bool) -> Check:
    ignore = os.path.join(workspace.tool_folder, ".gitignore")
    seen = _settings_seen(workspace)
    if seen and fix:
        hide_from_git(workspace)
        seen = _settings_seen(workspace)
        if not seen:
            return new_check("ignored", "Git does not see our own files", fixed="hidden from git")
    if seen:
        return new_check(
            "ignored",
            f"Git sees {', '.join(seen)}, which `holdfast init` made.",
            status="warning",
            why="These settings name paths of this machine; `git add -A` would take them along.",
            fix="holdfast doctor --fix",
        )
    if not os.path.isdir(workspace.tool_folder) or os.path.exists(ignore):
        return new_check("ignored", "Git does not see our own files")
    if fix:
        workspace.prepare_tool_folder()
        return new_check("ignored", "Git does not see our own files", fixed=".gitignore written")
    return new_check(
        "ignored",
        f"{ignore} is missing.",
        status="warning",
        why="Git would show our own files as new.",
        fix="holdfast doctor --fix",
    )


def _settings_seen(workspace: Workspace) -> list[str]:
    """The clients' settings that `init` made in this worktree, and that git shows as new files."""
    root = os.path.realpath(workspace.root)
    made = [path for path in made_settings(workspace) if path.startswith(root + os.sep)]
    if not workspace.git_dir or not made:
        return []
    words = ("ls-files", "-z", "--others", "--exclude-standard", "--", *made)
    try:
        return [name for name in git(root, *words).decode(errors="replace").split("\0") if name]
    except GitError:
        return []  # the check of git itself says it


def _exchange(workspace: Workspace) -> Check:
    try:
        supported = is_supported(workspace.prepare_tool_folder())
    except OSError as error:
        return new_check(
            "exchange",
            f"{workspace.tool_folder} cannot be written: {error.strerror}.",
            status="warning",
            why="No view can be written in this worktree.",
            fix="Make the folder writable for this user.",
        )
    if supported:
        return new_check("exchange", "Edits that race with us are kept")
    return new_check(
        "exchange",
        "This file system cannot exchange two files in one step.",
        status="warning",
        why="An edit at the very moment of a capture can be lost from the file.",
        fix="Keep the worktree on ext4, xfs, btrfs, tmpfs or APFS.",
    )


def _quarantine(workspace: Workspace) -> Check:
    kept = quarantine.listing(workspace)
    if not kept:
        return new_check("quarantine", "Quarantine is empty")
    return new_check(
        "quarantine",
        f"{plural(len(kept), 'file')} in {workspace.quarantine}",
        status="warning",
        why="An edit could not be read; the file is kept there as it was, unredacted.",
        fix="Take what you need. `holdfast gc` removes old ones.",
    )


def _is_readable(checks: list[Check]) -> bool:
    about = ("address", "journal", "integrity", "chains")
    return not any(check["id"] in about and check["status"] == "problem" for check in checks)
