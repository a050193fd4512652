"""A person clones a repository with links in it and starts their client there: their own files stay as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hooks.test_hostile_clone import digest_of
from tests.hooks.world import STOP, USED
from tests.real_clients.world import Client

pytestmark = pytest.mark.clients


def test_a_link_of_a_clone_leads_the_client_to_no_file_of_the_person(
    client: Client, tmp_path: Path
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for name in ("a.jpg", "b.jpg", ".bash_profile"):
        (photos / name).write_text(f"the person's {name}\n")
    seen = client.project / ".holdfast" / "seen"
    seen.mkdir(parents=True)
    (client.project / ".holdfast" / "shared").symlink_to(photos)
    for event in (USED[client.name], STOP[client.name]):
        (seen / f"{client.name}.{event}").symlink_to(photos / ".bash_profile")
    before = digest_of(photos)
    client.install()
    for number in ("one", "two"):
        script = [client.shell(f"touch {number}"), client.shell("true"), {"text": "I did."}]
        run = client.run("do it", script)
        assert run.code == 0, run.told
        assert Path(number).exists()
    assert digest_of(photos) == before
    assert os.readlink(client.project / ".holdfast" / "shared") == str(photos)
