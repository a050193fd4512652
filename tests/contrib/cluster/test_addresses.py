"""What `--on` takes, and what it refuses before anything is connected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.kernel.errors import Usage
from holdfast.plans.executors import Certificates, read_address
from holdfast.processes.distribution import install_command
from tests.cli.conftest import Holdfast
from tests.plans.world import World, auto

NONE = Certificates()


@pytest.mark.parametrize(
    ("on", "address"),
    [
        ("", ""),
        ("local", ""),
        ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://127.9.9.9", "tcp://127.9.9.9:8786"),
        ("tcp://[::1]:1", "tcp://[::1]:1"),
        ("tcp://localhost:99/", "tcp://localhost:99"),
        ("tls://scheduler.example", "tls://scheduler.example:8786"),
    ],
)
def test_an_address_is_read(on: str, address: str) -> None:
    assert read_address(on, NONE) == address


@pytest.mark.parametrize(
    "on",
    [
        "tcp://scheduler.example:8786",
        "tcp://10.0.0.7:8786",
        "tcp://0.0.0.0:8786",
        "tcp://127.0.0.1.example",
        "tcp://localhost.example",
        "tcp://[::]:8786",
        "tcp://[::ffff:10.0.0.1]:8786",
        "tcp://2130706433:8786",
    ],
)
def test_a_plain_connection_to_another_machine_is_refused_with_the_reason(on: str) -> None:
    with pytest.raises(Usage, match="pickled code") as refused:
        read_address(on, NONE)
    assert refused.value.exit_code == 2
    assert "tls://" in refused.value.hint


@pytest.mark.parametrize(
    "on",
    [
        "scheduler:8786",
        "tcp:",
        "tcp://",
        "http://127.0.0.1",
        "inproc://x",
        "tcp://127.0.0.1:port",
        "tcp://127.0.0.1:99999",
        "tls://u:p@host",
        "tls://host/x",
        "tls://host?x",
        "tcp://127.0.0.1@evil.example:8786",
        "\x00",
        "tcp://[::1",
    ],
)
def test_what_is_no_address_is_refused(on: str) -> None:
    with pytest.raises(Usage):
        read_address(on, NONE)


def test_certificates_come_all_three_and_only_with_tls(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.touch()
    some, missing = str(path), str(tmp_path / "missing")
    for on, certificates in (
        ("local", Certificates(some, some, some)),
        ("tcp://127.0.0.1", Certificates(some, some, some)),
        ("tls://host", Certificates(some)),
        ("tls://host", Certificates(some, some, missing)),
    ):
        with pytest.raises(Usage):
            read_address(on, certificates)
    assert read_address("tls://host", Certificates(some, some, some)) == "tls://host:8786"


def test_the_command_line_refuses_and_leaves_no_run_behind(
    repository: Path, holdfast: Holdfast
) -> None:
    world = World(repository)
    world.plan("1/01", auto("true"))
    refused = holdfast("plan", "run", "plans", "--on", "tcp://10.0.0.7:8786")
    assert refused.code == 2
    assert "pickled code" in refused.err
    away = holdfast("plan", "run", "plans", "--on", "tcp://127.0.0.1:9", "--json")
    assert away.code == 75
    assert away.envelope["error"]["kind"] == "scheduler_away"
    bare = holdfast("plan", "run", "plans", "--on", "tls://127.0.0.1:9")
    assert bare.code == 2
    assert "--tls-ca" in bare.err
    assert holdfast("plan", "show", "--all", "--json").data == {"runs": []}
    world.close()


def test_dask_is_loaded_only_for_an_address(repository: Path) -> None:
    (repository / "plans").mkdir()
    (repository / "plans" / "1.md").write_text("---\nphase: 1\nplan: 1\n---\n" + auto("true"))
    code = (
        "import sys; from holdfast.cli.frame import run;"
        "code = run(['plan', 'run', 'plans', '--on', 'local', '--quiet']);"
        "sys.exit(code or ('distributed' in sys.modules and 9) or ('dask' in sys.modules and 9))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=repository).returncode == 0


def test_without_dask_it_says_what_to_install(repository: Path) -> None:
    (repository / "plans").mkdir()
    (repository / "plans" / "1.md").write_text("---\nphase: 1\nplan: 1\n---\n" + auto("true"))
    code = (
        "import sys; sys.modules['distributed'] = None; from holdfast.cli.frame import run;"
        "sys.exit(run(['plan', 'run', 'plans', '--on', 'tcp://127.0.0.1:9']))"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=repository, capture_output=True, text=True)
    assert done.returncode == 1
    assert install_command("cluster") in done.stderr
