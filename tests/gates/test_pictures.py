"""Pictures beside a gate's question: attached, kept, named, removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast as library
from holdfast.gates import ask as asking
from holdfast.gates import lookup, pictures
from holdfast.gates.ask import AskRequest
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as gate_content
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules import picture as gate_picture
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import HoldfastError, NotFound, StoreAway, Usage
from holdfast.kernel.workspace import discover
from holdfast.maintenance.gc import collect
from tests.cli.conftest import Holdfast
from tests.gates.test_gates import answer
from tests.gates.test_verbs import DASHBOARD, STORE

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 60
KINDS = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\x00" * 60,
    "image/webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
    "image/gif": b"GIF89a" + b"\x00" * 60,
}
VERIFY = gate_content.verify("Dashboard", ["Cards show data"])
NOW = clock.now()


@pytest.fixture
def picture(repository: Path) -> Path:
    path = repository / "dashboard.png"
    path.write_bytes(PNG)
    return path


def ask(*paths: Path, name: str = "look", now: int = NOW) -> str:
    given = [str(path) for path in paths]
    request = AskRequest(content=VERIFY, name=name, attach=given)
    opened = asking.ask(GateContext(discover(), "agent", now), request)
    return opened["id"]


def kept(home: Path, id: str = "look") -> list[Path]:
    return sorted((home / "pictures" / id).glob("*"))


def test_a_picture_is_attached_named_and_kept(
    picture: Path, repository: Path, holdfast: Holdfast
) -> None:
    asked = holdfast("gate", *DASHBOARD, "--name", "look", "--attach", str(picture), "--json")
    (known,) = asked.envelope["data"]["pictures"]
    assert (known["name"], known["type"], known["bytes"]) == ("dashboard.png", "image/png", 68)
    (path,) = kept(repository / ".git" / "holdfast")
    assert path.read_bytes() == PNG
    assert path.stat().st_mode & 0o777 == 0o600
    shown = holdfast("gate", "show", "look")
    assert "Attached: dashboard.png (PNG, 1 KB), sha256 " + known["digest"][:12] in shown.out
    assert str(path) in shown.out
    assert holdfast("gate", "show", "look", "--json").envelope["data"]["pictures"][0]["path"] == str(path)  # fmt: skip
    with library.open() as workspace:
        given = workspace.gates.decide("Select a store", context="Two.", options=[
            {"id": "a", "name": "A", "pros": "Fast", "cons": "New"},
            {"id": "b", "name": "B", "pros": "Known", "cons": "Slow"},
        ], attach=[str(picture), str(picture)])  # fmt: skip
        assert len(given.state["pictures"]) == 1


@pytest.mark.parametrize("type", KINDS)
def test_pictures_are_known_by_their_bytes(repository: Path, type: str) -> None:
    path = repository / "anything.txt"
    path.write_bytes(KINDS[type])
    assert lookup.read(discover(), ask(path))["pictures"][0]["type"] == type


@pytest.mark.parametrize(
    "content", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<!doctype html>", b"", b"RIFF"]
)
def test_what_is_no_picture_is_refused_whatever_its_name(repository: Path, content: bytes) -> None:
    path = repository / "dashboard.png"
    path.write_bytes(content)
    with pytest.raises(Usage, match="no picture"):
        ask(path)
    assert not lookup.open_gates(discover())
    assert not (repository / ".git" / "holdfast" / "pictures").exists()


def test_number_and_size_are_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [repository / f"{number}.png" for number in range(gate_picture.MOST + 1)]
    for number, path in enumerate(many):
        path.write_bytes(PNG + bytes([number]))
    with pytest.raises(Usage, match="too many"):
        ask(*many)
    many[0].write_bytes(PNG + b"x" * gate_picture.LARGEST)
    with pytest.raises(Usage, match="larger than 5 MB"):
        ask(many[0])
    os.mkfifo(repository / "pipe.png")
    for path, why in ((repository / "pipe.png", "not a regular file"), (repository, "a folder")):
        with pytest.raises(Usage, match=why):
            ask(path)
    with pytest.raises(Usage, match="cannot be read"):
        ask(repository / "nothing.png")


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (30_000).to_bytes(4, "big") * 2,
        b"GIF89a" + (30_000).to_bytes(2, "little") * 2,
    ],
)
def test_what_no_browser_would_show_is_refused(repository: Path, content: bytes) -> None:
    (repository / "huge.png").write_bytes(content)
    with pytest.raises(Usage, match="more points"):
        pictures.load([str(repository / "huge.png")])


def test_a_gate_that_is_open_keeps_its_pictures(picture: Path, repository: Path) -> None:
    ask(picture)
    (repository / "other.png").write_bytes(PNG + b"other")
    ask(repository / "other.png")
    (known,) = lookup.read(discover(), "look")["pictures"]
    assert known["name"] == "dashboard.png"
    assert len(kept(repository / ".git" / "holdfast")) == 1


def test_a_dry_run_and_a_refused_gate_keep_nothing(
    picture: Path, repository: Path, holdfast: Holdfast
) -> None:
    assert holdfast("gate", *STORE, "--attach", str(picture), "--dry-run").code == 0
    run = ("verify", "--built", "A", "--how", "Run npm test", "--url", "http://b")
    assert holdfast("gate", *run, "--attach", str(picture)).code == 1
    assert not (repository / ".git" / "holdfast" / "pictures").exists()


def test_an_agent_that_may_not_write_the_home_keeps_them_in_its_worktree(
    picture: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(name="before")
    make, home = os.makedirs, str(repository / ".git")

    def read_only(path: str, *words: object, **more: object) -> None:
        if path.startswith(home):
            raise OSError(30, "Read-only file system", path)
        make(path, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "makedirs", read_only)
    ask(picture)
    workspace = discover()
    state = lookup.read(workspace, "look")
    digest = state["pictures"][0]["digest"]
    (path,) = kept(repository / ".holdfast")
    assert pictures.read(workspace, state, digest)[1] == PNG
    path.write_bytes(KINDS["image/png"] + b"another")
    with pytest.raises(NotFound, match="not what was attached"):
        pictures.read(workspace, state, digest)


def test_a_full_disk_asks_nothing(
    picture: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pictures, "write_synced", full)
    with pytest.raises(StoreAway, match="disk is full"):
        ask(picture)
    assert not lookup.open_gates(discover())


@pytest.mark.parametrize(
    "wrong",
    [
        {"digest": "../../../etc/passwd"},
        {"digest": "A" * 64},
        {"type": "image/svg+xml"},
        {"type": ["image/png"]},
        {"bytes": True},
        {"name": 7},
        {"more": ""},
    ],
)
def test_pictures_of_a_command_that_anybody_wrote(picture: Path, wrong: dict[str, object]) -> None:
    known = pictures.load([str(picture)])[0][0]
    command = {
        **dict.fromkeys(("phase", "holds", "expires_at", "default"), ""),
        "do": "open",
        "content": VERIFY,
        "batch": False,
        "cost_tokens": None,
        "strict": True,
        "asked": dict.fromkeys(("by", "session", "agent", "worktree"), ""),
    }
    start = rules.initial("gate:look")
    assert rules.decide(start, {**command, "pictures": [known]}, NOW).records
    with pytest.raises(HoldfastError, match="no gate"):
        rules.decide(start, {**command, "pictures": [{**known, **wrong}]}, NOW)
    # One of a time before there were pictures.
    assert rules.decide(start, command, NOW).records


def test_a_record_without_pictures_still_loads(repository: Path) -> None:
    state = lookup.read(discover(), ask())
    old = {name: value for name, value in state.items() if name != "pictures"}
    assert rules.pictures_of(canonical_json.loads(canonical_json.dumps(old))) == []


def test_gc_removes_them_after_their_gate(picture: Path, repository: Path) -> None:
    home = repository / ".git" / "holdfast"
    ask(picture, name="waits")
    ask(picture, name="answered")
    answer("answered", "approved")
    mine = repository / ".git" / "mine" / "answered"
    mine.mkdir(parents=True)
    (mine / "letter.txt").write_text("mine")
    (repository / ".holdfast").mkdir(exist_ok=True)
    (repository / ".holdfast" / "pictures").symlink_to(mine.parent)
    leftover = home / "pictures" / "never-asked"
    leftover.mkdir()
    (leftover / f"{'a' * 64}.png").write_bytes(PNG)
    assert collect(discover(), NOW)["leftovers"] == 0
    assert collect(discover(), NOW + 2 * clock.DAY)["leftovers"] == 1
    assert not leftover.exists()
    assert collect(discover(), NOW + 400 * clock.DAY)["leftovers"] == 1
    assert (kept(home, "answered"), len(kept(home, "waits"))) == ([], 1)
    assert (mine / "letter.txt").exists()


def test_purge_takes_them_with_their_gate(
    picture: Path, repository: Path, holdfast: Holdfast
) -> None:
    home = repository / ".git" / "holdfast"
    ask(picture, name="other")
    holdfast("gate", "verify", "--built", "The hidden word is kelp-4711", "--how", "It shows", "--url",
             "http://a", "--name", "look", "--attach", str(picture))  # fmt: skip
    assert len(kept(home)) == 1
    from holdfast.maintenance import purge
    from tests.gates.person import at_page

    person = at_page("/dev/pts/1", now=NOW)

    found = purge.find(discover(), text="kelp-4711", now=NOW)
    purge.erase(discover(), found, text="kelp-4711", actor="me", now=NOW, person=person)
    assert kept(home) == []
    assert len(kept(home, "other")) == 1


def test_a_secret_in_a_files_name_is_redacted(repository: Path) -> None:
    path = repository / f"ghp_{'a1B2' * 9}.png"
    path.write_bytes(PNG)
    (known,) = lookup.read(discover(), ask(path))["pictures"]
    assert "ghp_" not in known["name"]
