"""TLS with real certificates: the right one is accepted, every wrong one is refused."""

from __future__ import annotations

import contextlib
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.kernel.text import split_words
from tests.cli.conftest import Holdfast
from tests.journal.postgres.proxy import Network

Front = Callable[[str, str], str]

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="There is no openssl: a server with TLS was NOT tried."
)


def openssl(*words: str, at: Path) -> None:
    subprocess.run(["openssl", *words], cwd=at, check=True, capture_output=True)


def authority(folder: Path, name: str) -> None:
    openssl(
        *split_words("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"),
        "-keyout",
        f"{name}.key",
        "-out",
        f"{name}.crt",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
        at=folder,
    )


def issue(folder: Path, name: str, signer: str, address: str) -> None:
    openssl(
        *split_words("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"),
        "-keyout",
        f"{name}.key",
        "-out",
        f"{name}.csr",
        "-subj",
        "/CN=db",
        at=folder,
    )
    (folder / f"{name}.ext").write_text(f"subjectAltName={address}\n")
    openssl(
        "x509",
        "-req",
        "-in",
        f"{name}.csr",
        "-CA",
        f"{signer}.crt",
        "-CAkey",
        f"{signer}.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        f"{name}.ext",
        "-out",
        f"{name}.crt",
        at=folder,
    )


@pytest.fixture(scope="module")
def certificates() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="holdfast-tls-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for signer in ("ours", "theirs"):
            authority(folder, signer)
        issue(folder, "right", "ours", "IP:127.0.0.1")
        issue(folder, "elsewhere", "ours", "DNS:db.example")
        yield folder


@pytest.fixture
def front(certificates: Path, url: str) -> Iterator[Front]:
    """A front with one of the certificates, and the URL of a client that trusts one signer.

    The server of the tests is built without TLS, so what stands before it speaks it."""
    with contextlib.ExitStack() as opened:

        def make(certificate: str, signer: str) -> str:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            files = (certificates / f"{certificate}.{suffix}" for suffix in ("crt", "key"))
            context.load_cert_chain(*map(str, files))
            network = opened.enter_context(Network(url, context))
            root = certificates / f"{signer}.crt"
            return f"{network.url}?sslmode=verify-full&sslrootcert={root}"

        yield make


def test_the_right_certificate_is_accepted(
    front: Front,
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", front("right", "ours"))
    assert holdfast("note", "over TLS").code == 0
    assert "over TLS" in holdfast("doctor").out
    assert "sslrootcert" not in holdfast("status").out


@pytest.mark.parametrize(
    ("certificate", "signer"),
    [("right", "theirs"), ("elsewhere", "ours")],
    ids=["of a signer we do not know", "of another host"],
)
def test_a_wrong_certificate_is_refused(
    certificate: str,
    signer: str,
    front: Front,
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", front(certificate, signer))
    answer = holdfast("note", "to whom?", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (4, "certificate_refused")
