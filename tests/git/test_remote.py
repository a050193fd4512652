"""Snapshots by way of a remote: to another machine, and nothing else touched on either."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.git import remote as remotes
from holdfast.git import restore, snapshot
from holdfast.git.repository import GitError
from holdfast.git.snapshot import Snapshot
from holdfast.kernel import crash
from holdfast.kernel.errors import Conflict, NotAllowed, NotFound, StoreAway, Usage
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.git.conftest import Untouched

holdfast = command_line.holdfast
HERE, THERE = "a1" * 16, "b2" * 16
Refs = Callable[[Path], dict[str, str]]


@pytest.fixture
def hub(repository: Path, tmp_path: Path, git: Git) -> Path:
    """A repository that the current one calls `origin`."""
    hub = tmp_path / "hub.git"
    git("clone", "--quiet", "--bare", str(repository), str(hub))
    git("remote", "add", "origin", str(hub), at=repository)
    return hub


@pytest.fixture
def other(hub: Path, tmp_path: Path, git: Git) -> Path:
    git("clone", "--quiet", str(hub), str(tmp_path / "other"))
    return Path(os.path.realpath(tmp_path / "other"))


@pytest.fixture
def refs(git: Git) -> Refs:
    def found(root: Path) -> dict[str, str]:
        lines = git("for-each-ref", "--format=%(refname) %(objectname)", at=root).splitlines()
        return dict(line.split(" ") for line in lines)

    return found


def taken(root: Path, text: str = "not committed\n") -> Snapshot:
    (root / "draft.txt").write_text(text)
    return snapshot.create(str(root))


def test_a_snapshot_goes_to_another_machine_and_nothing_else_does(
    repository: Path, hub: Path, other: Path, untouched: Untouched, refs: Refs
) -> None:
    made = taken(repository)
    before = refs(hub)
    with untouched(repository):
        done = remotes.push(str(repository), [made], HERE, "origin")
    assert [one["status"] for one in done["snapshots"]] == ["pushed"]
    (name,) = refs(hub).keys() - before.keys()
    assert name == f"refs/holdfast/snapshots/machine-{HERE}/main/{made['id']}"
    assert {ref: id for ref, id in refs(hub).items() if ref != name} == before

    with untouched(other):
        came = remotes.fetch(str(other), THERE, "origin")
    assert [one["status"] for one in came["snapshots"]] == ["fetched"]
    assert snapshot.list_snapshots(str(other)) == [], "its own row is its own"
    (found,) = snapshot.list_snapshots(str(other), everywhere=True)
    assert (found["id"], found["tree"]) == (made["id"], made["tree"])
    restore.restore(str(other), made["id"])
    assert (other / "draft.txt").read_text() == "not committed\n"


def test_a_fetched_snapshot_is_in_the_list_with_whose_it_is(
    repository: Path,
    hub: Path,
    other: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (repository / "draft.txt").write_text("not committed\n")
    assert "of machine" not in holdfast("snapshot", "list").out
    pushed = holdfast("snapshot", "push", "--json").data["snapshots"][0]
    monkeypatch.chdir(other)
    assert holdfast("snapshot", "list").out == "There is no snapshot yet.\n"
    fetched = holdfast("snapshot", "fetch")
    assert f"main of machine {pushed['machine'][:8]}" in fetched.out
    (line,) = holdfast("snapshot", "list").out.splitlines()
    assert line.startswith(pushed["id"][:12])
    assert f"main of machine {pushed['machine'][:8]}" in line
    (other / "mine.txt").write_text("mine\n")
    mine = holdfast("snapshot", "create", "--json").data["id"]
    ids = [one["id"] for one in holdfast("snapshot", "list", "--json").data["snapshots"]]
    assert ids == [mine, pushed["id"]], "its own first"
    assert holdfast("snapshot", "restore", pushed["id"]).code == 0


def test_twice_is_once(repository: Path, hub: Path, other: Path) -> None:
    made = taken(repository)
    for status in ("pushed", "there"):
        done = remotes.push(str(repository), [made], HERE, "origin")
        assert [one["status"] for one in done["snapshots"]] == [status]
    for status in ("fetched", "there"):
        came = remotes.fetch(str(other), THERE, "origin")
        assert [one["status"] for one in came["snapshots"]] == [status]
    assert remotes.fetch(str(repository), HERE, "origin")["snapshots"] == [], "our own stay away"


def test_a_dry_run_sends_and_gets_nothing(
    repository: Path, hub: Path, other: Path, refs: Refs
) -> None:
    made = taken(repository)
    before = refs(hub)
    done = remotes.push(str(repository), [made], HERE, "origin", dry_run=True)
    assert [one["status"] for one in done["snapshots"]] == ["would push"]
    assert refs(hub) == before
    remotes.push(str(repository), [made], HERE, "origin")
    came = remotes.fetch(str(other), THERE, "origin", dry_run=True)
    assert [one["status"] for one in came["snapshots"]] == ["would fetch"]
    assert snapshot.list_snapshots(str(other), everywhere=True) == []


def test_no_snapshot_takes_the_place_of_another(
    repository: Path, hub: Path, other: Path, git: Git, refs: Refs
) -> None:
    """Not even one that only goes on from it, which git by itself would let through."""
    first = taken(repository)
    name = f"refs/holdfast/snapshots/machine-{HERE}/main/{first['id']}"
    base = git("rev-parse", "HEAD", at=repository).strip()
    git("update-ref", name, base, at=hub)
    done = remotes.push(str(repository), [first], HERE, "origin")
    assert [one["status"] for one in done["snapshots"]] == ["differs"]
    assert refs(hub)[name] == base
    with pytest.raises(Conflict) as refused:
        remotes.refuse_unshared(done)
    assert refused.value.exit_code == 5

    git("update-ref", name, base, at=other)
    git("update-ref", "-d", name, at=hub)
    remotes.push(str(repository), [first], HERE, "origin")
    came = remotes.fetch(str(other), THERE, "origin")
    assert [one["status"] for one in came["snapshots"]] == ["differs"]
    assert refs(other)[name] == base


def test_one_that_comes_in_between_is_not_overwritten(
    repository: Path, hub: Path, git: Git, refs: Refs
) -> None:
    made = taken(repository)
    name = f"refs/holdfast/snapshots/machine-{HERE}/main/{made['id']}"
    base = git("rev-parse", "HEAD", at=repository).strip()
    take_back = crash.register("before pushing", lambda: git("update-ref", name, base, at=hub))
    done = remotes.push(str(repository), [made], HERE, "origin")
    take_back()
    assert [one["status"] for one in done["snapshots"]] == ["differs"]
    assert refs(hub)[name] == base


def test_the_same_from_two_at_once_is_there_once(repository: Path, hub: Path) -> None:
    made = taken(repository)

    def push() -> remotes.Exchange:
        return remotes.push(str(repository), [made], HERE, "origin")

    take_back = crash.register("before pushing", push)
    done = push()
    take_back()
    assert [one["status"] for one in done["snapshots"]] == ["pushed"]


def test_the_remote_keeps_what_this_clone_keeps(
    repository: Path, hub: Path, other: Path, refs: Refs
) -> None:
    """And what other machines sent is theirs."""
    for number in range(3):
        remotes.push(str(repository), [taken(repository, f"{number}\n")], HERE, "origin")
    remotes.push(str(other), [taken(other)], THERE, "origin")
    assert len(snapshot.prune(str(repository), 1)) == 2
    before = refs(hub)
    newest = snapshot.list_snapshots(str(repository))
    tried = remotes.push(str(repository), newest, HERE, "origin", dry_run=True)
    statuses = ["there", "would remove", "would remove"]
    assert [one["status"] for one in tried["snapshots"]] == statuses
    assert refs(hub) == before
    done = remotes.push(str(repository), newest, HERE, "origin")
    assert [one["status"] for one in done["snapshots"]] == ["there", "removed", "removed"]
    left = [name for name in refs(hub) if name.startswith("refs/holdfast/")]
    assert len(left) == 2
    assert remotes.fetch(str(repository), HERE, "origin")["snapshots"][0]["status"] == "fetched"
    again = remotes.push(str(repository), newest, HERE, "origin")
    assert [one["status"] for one in again["snapshots"]] == ["there"], "fetched ones stay here"


def test_a_remote_that_lets_nobody_remove_keeps_it(repository: Path, hub: Path, refs: Refs) -> None:
    remotes.push(str(repository), [taken(repository, "1\n")], HERE, "origin")
    hook = hub / "hooks" / "update"
    hook.write_text('#!/bin/sh\ncase "$3" in *[!0]*) exit 0;; esac\nexit 1\n')
    hook.chmod(0o755)
    made = taken(repository, "2\n")
    snapshot.prune(str(repository), 1)
    before = refs(hub)
    done = remotes.push(str(repository), [made], HERE, "origin")
    assert [one["status"] for one in done["snapshots"]] == ["pushed"]
    assert before.keys() <= refs(hub).keys()


HOSTILE = (
    "refs/holdfast/snapshots/machine-evil/main/x",
    f"refs/holdfast/snapshots/machine-{HERE}/main/-u",
    f"refs/holdfast/snapshots/machine-{HERE}/main/a/b",
    f"refs/holdfast/snapshots/machine-{HERE}/mäin/x",
    f"refs/holdfast/snapshots/machine-{HERE}/main/\u202egnp",
)


def test_names_and_commits_that_are_none_of_ours_are_passed_over(
    repository: Path, hub: Path, other: Path, git: Git, refs: Refs
) -> None:
    base = git("rev-parse", "HEAD", at=hub).strip()
    for name in HOSTILE:
        git("update-ref", name, base, at=hub)
    plain = f"refs/holdfast/snapshots/machine-{HERE}/main/plain"
    git("update-ref", plain, base, at=hub)
    tree = git("rev-parse", "HEAD^{tree}", at=hub).strip()
    trailers = "Holdfast-Snapshot: x\nHoldfast-At: never\nHoldfast-Number: NaN\n"
    odd = git("commit-tree", tree, "-m", f"Snapshot\n\n{trailers}", at=hub).strip()
    git("update-ref", plain.replace("plain", "odd"), odd, at=hub)
    before = refs(other)

    came = remotes.fetch(str(other), THERE, "origin")

    # `-u` is an odd id and a good ref: git gets it inside of a refspec, never as a word of its own.
    assert came["ignored"] == len(HOSTILE) - 1
    assert {one["id"]: one["status"] for one in came["snapshots"]} == {
        "plain": "refused",
        "odd": "refused",
        "-u": "refused",
    }
    assert refs(other) == before
    assert snapshot.list_snapshots(str(other), everywhere=True) == []


def test_which_remote(repository: Path, tmp_path: Path, git: Git) -> None:
    with pytest.raises(NotFound):
        remotes.remote_of(str(repository))
    git("remote", "add", "team", str(tmp_path / "team.git"), at=repository)
    assert remotes.remote_of(str(repository)) == "team"
    git("remote", "add", "other", str(tmp_path / "other.git"), at=repository)
    with pytest.raises(Usage):
        remotes.remote_of(str(repository))
    git("remote", "add", "origin", str(tmp_path / "origin.git"), at=repository)
    assert remotes.remote_of(str(repository)) == "origin"
    for name in ("--upload-pack=touch owned", str(tmp_path), "ext::sh -c id", "nowhere"):
        with pytest.raises(NotFound) as refused:
            remotes.remote_of(str(repository), name)
        assert refused.value.kind == "no_remote"


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_remote_that_is_away_or_nowhere_is_said_without_its_password(
    repository: Path, hub: Path, git: Git
) -> None:
    made = taken(repository)
    url = f"http://ada:swordfish@127.0.0.1:{closed_port()}/hub.git"
    git("remote", "set-url", "origin", url, at=repository)
    acts: list[Callable[[], object]] = [
        lambda: remotes.push(str(repository), [made], HERE, "origin"),
        lambda: remotes.fetch(str(repository), HERE, "origin"),
    ]
    for act in acts:
        with pytest.raises(StoreAway) as away:
            act()
        assert (away.value.kind, away.value.exit_code) == ("remote_away", 75)
        assert "swordfish" not in away.value.message + away.value.hint
    git("remote", "set-url", "origin", str(hub / "nowhere"), at=repository)
    with pytest.raises(NotFound):
        remotes.fetch(str(repository), HERE, "origin")


def test_a_remote_that_refuses_is_named_with_its_reason(repository: Path, hub: Path) -> None:
    made = taken(repository)
    hook = hub / "hooks" / "update"
    hook.write_text("#!/bin/sh\necho 'private refs are not allowed here' >&2\nexit 1\n")
    hook.chmod(0o755)
    done = remotes.push(str(repository), [made], HERE, "origin")
    assert [one["status"] for one in done["snapshots"]] == ["refused"]
    with pytest.raises(NotAllowed) as refused:
        remotes.refuse_unshared(done)
    assert refused.value.exit_code == 4


def test_words_of_git_that_mean_no_rights() -> None:
    from holdfast.git.run import Finished

    said = "git@example.com: Permission denied (publickey).\nfatal: Could not read from remote\n"
    assert isinstance(remotes.trouble("origin", Finished(128, b"", said)), NotAllowed)
    assert type(remotes.trouble("origin", Finished(1, b"", "fatal: odd\n"))) is GitError


def test_a_remote_that_never_answers_is_given_up(
    repository: Path, hub: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remotes, "ASK_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/hub.git"
        git("remote", "set-url", "origin", url, at=repository)
        with pytest.raises(GitError) as late:
            remotes.fetch(str(repository), HERE, "origin")
    assert (late.value.kind, late.value.retryable) == ("git_timeout", True)


# Through the command line


def test_push_and_fetch(
    repository: Path,
    hub: Path,
    other: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert holdfast("snapshot", "push", "--dry-run").code == 3, "a dry run takes none"
    Path("draft.txt").write_text("not committed\n")
    pushed = holdfast("snapshot", "push", "--json")
    assert pushed.code == 0, pushed
    (one,) = pushed.data["snapshots"]
    Path("draft.txt").write_text("more\n")
    assert holdfast("snapshot", "push").code == 0
    monkeypatch.chdir(other)
    assert "would fetch" in holdfast("snapshot", "fetch", "--dry-run").out
    fetched = holdfast("snapshot", "fetch")
    assert one["id"][:12] in fetched.out
    assert holdfast("snapshot", "fetch").out == "Nothing new on origin.\n"
    assert len(holdfast("snapshot", "list", "--all", "--json").data["snapshots"]) == 2
    assert "of machine " + one["machine"][:8] in holdfast("snapshot", "list", "--all").out
    assert holdfast("snapshot", "restore", one["id"]).code == 0
    assert Path("draft.txt").read_text() == "not committed\n"
    assert holdfast("snapshot", "push", "nowhere").code == 3


def test_a_snapshot_is_pushed_by_itself_only_where_the_environment_says_so(
    repository: Path, hub: Path, holdfast: Holdfast, refs: Refs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the repository cannot say so: it may be a stranger's, and so may the remote."""
    before = refs(hub)
    Path("holdfast.toml").write_text('[snapshot]\nremote = "origin"\n')
    refused = holdfast("snapshot", "create")
    assert (refused.code, "HOLDFAST_SNAPSHOT_REMOTE" in refused.err) == (1, True)
    Path("holdfast.toml").unlink()
    assert holdfast("snapshot", "create").code == 0
    assert refs(hub) == before
    monkeypatch.setenv("HOLDFAST_SNAPSHOT_REMOTE", "origin")
    Path("draft.txt").write_text("not committed\n")
    assert holdfast("snapshot", "create").code == 0
    assert len(refs(hub)) == len(before) + 1
    monkeypatch.setenv("HOLDFAST_SNAPSHOT_REMOTE", "away")
    Path("draft.txt").write_text("more\n")
    kept = holdfast("snapshot", "create", "--json")
    assert (kept.code, "no remote" in kept.err) == (0, True), "the snapshot is taken all the same"
    assert "snapshot push" in str(holdfast("doctor", "--json").data)


def test_a_users_own_hook_may_say_no(repository: Path, hub: Path) -> None:
    """Such as one that looks for secrets in whatever is pushed."""
    made = taken(repository)
    hook = repository / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\necho 'a secret is in there' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(GitError):
        remotes.push(str(repository), [made], HERE, "origin")
    listed = subprocess.run(["git", "ls-remote", str(hub)], capture_output=True, text=True)
    assert "holdfast" not in listed.stdout


def test_a_checkpoint_does_not_wait_for_the_remote(
    repository: Path,
    hub: Path,
    holdfast: Holdfast,
    refs: Refs,
    monkeypatch: pytest.MonkeyPatch,
    git: Git,
) -> None:
    import time

    monkeypatch.setenv("HOLDFAST_SNAPSHOT_REMOTE", "origin")
    before = refs(hub)
    Path("draft.txt").write_text("not committed\n")
    made = holdfast("checkpoint", "--task", "x", "--skip-git", "--skip-tracker", "--json")
    assert made.code == 0, made
    deadline = time.monotonic() + 60
    while len(refs(hub)) == len(before):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (name,) = refs(hub).keys() - before.keys()
    assert name.endswith(made.data["snapshot"])
