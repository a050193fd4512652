"""SSH signatures of people over what they decide, with the `ssh-keygen` of the system.

The setting `gate.signers` names an allowed-signers file, as git's `gpg.ssh.allowedSignersFile` does.
While it is set, a decision counts only with a signature of one of those signers over the question as it
was shown. Every reader checks it; the signed text and the signature stand in the record.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from holdfast.kernel import canonical_json, config
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.rules import Person
from holdfast.kernel.trust import remember_signers, signers_of
from holdfast.kernel.workspace import Workspace

# Signatures for git, or for another program, are none of ours.
NAMESPACE = "holdfast"
USUAL_KEY = "~/.ssh/id_ed25519"
LONGEST_SIGNATURE = 20_000
# A person types a passphrase, or touches a key.
SIGN_SECONDS = 300
VERIFY_SECONDS = 20
PROGRAM = "ssh-keygen"
# What was verified in this process: the signers' file as it was, the signed text, and the signature.
_known: dict[tuple[object, ...], str] = {}


def text_of(purpose: str, subject: Any, said: Any, saw: str) -> str:
    """What is signed: what is to be done, to which question, with which answer, and what was shown."""
    signed = {"holdfast": 1, "purpose": purpose, "subject": subject, "said": said, "saw": saw}
    return canonical_json.dumps(signed)


def sign(workspace: Workspace, person: Person, text: str, *, command: str) -> Person:
    """The person with their signature. `ssh-keygen` asks for the passphrase, or for the touch of a
    key, on the terminal itself. Without signers the person as they are. `command` is what to type
    there, for a person at the page or in a dialogue."""
    signers = signers_of(workspace)
    if not signers:
        return person
    if person["channel"] != "terminal":
        raise NotAllowed(
            "gate.signers is set: this needs a person's signature, and only a terminal can make one.",
            hint=f"In a terminal of your own, type: {command}",
            kind="no_signature",
        )
    key = os.path.expanduser(
        str(config.load(workspace, workspace.journal)["gate.key"]) or USUAL_KEY
    )
    words = [PROGRAM, "-Y", "sign", "-n", NAMESPACE, "-f", key]
    done = _run(words, text, SIGN_SECONDS)
    signature = done.stdout.decode("ascii", "replace")
    if done.returncode != 0 or not signature.startswith("-----BEGIN SSH SIGNATURE"):
        raise NotAllowed(
            f"The key {key} signed nothing: {_said(done)}.",
            hint="gate.key names the key; its public half is in the file of gate.signers.",
            kind="no_signature",
        )
    person = type(person)(person, signed=text, signature=signature)
    person["signer"] = signer_of(workspace, person)
    if not person["signer"]:
        raise NotAllowed(
            f"The key {key} is not one of the signers in {signers}.",
            hint="gate.key names the key; its public half is in the file of gate.signers.",
            kind="no_signature",
        )
    try:
        remember_signers(workspace, signers, person["at"])
    except OSError:
        pass  # the setting alone says it then
    return person


def signer_of(workspace: Workspace, person: Mapping[str, Any]) -> str:
    """Who signed what a record keeps of a person; empty when none of the signers did."""
    signers = signers_of(workspace)
    signed, signature = person.get("signed"), person.get("signature")
    if not isinstance(signed, str) or not isinstance(signature, str):
        return ""
    if not signers or len(signature) > LONGEST_SIGNATURE:
        return ""
    try:
        found = os.stat(signers)
    except OSError:
        return ""
    key = (signers, found.st_mtime_ns, found.st_size, found.st_ino, signed, signature)
    if key not in _known:
        _known[key] = _verified(signers, signed, signature)
    return _known[key]


def counts(workspace: Workspace, person: Any, purpose: str, subject: Any, said: Any) -> bool:
    """Whether a decision counts: there are no signers, or one of them signed exactly this."""
    if not signers_of(workspace):
        return True
    if not isinstance(person, dict) or not signer_of(workspace, person):
        return False
    try:
        signed = canonical_json.loads(person["signed"])
    except ValueError:
        return False
    expected = {"purpose": purpose, "subject": subject, "said": said}
    return isinstance(signed, dict) and all(
        signed.get(name) == canonical_json.loads(canonical_json.dumps(value))
        for name, value in expected.items()
    )


def _verified(signers: str, text: str, signature: str) -> str:
    with tempfile.NamedTemporaryFile("w", prefix="holdfast-", suffix=".sig") as file:
        file.write(signature)
        file.flush()
        about = ["-f", signers, "-s", file.name]
        named = _run([PROGRAM, "-Y", "find-principals", *about, "-n", NAMESPACE], text)
        for principal in named.stdout.decode("utf-8", "replace").splitlines():
            words = [PROGRAM, "-Y", "verify", *about, "-n", NAMESPACE, "-I", principal]
            if principal and _run(words, text).returncode == 0:
                return principal
    return ""


def _run(
    words: list[str], text: str, seconds: int = VERIFY_SECONDS
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            words, input=text.encode(), capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HoldfastError(
            f"{PROGRAM} could not be run: {error}.",
            hint="gate.signers needs OpenSSH 8.9 or newer.",
            kind="no_ssh_keygen",
        ) from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no reason was given")
