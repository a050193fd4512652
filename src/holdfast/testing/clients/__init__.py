"""What every client must do. docs/how-to/add-a-client.md says how to add one, and how to run `suite` on it.

A client's folder is part of the sources, and its recordings are where you like: a `Case` names them.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

RECORDED_IN = "/home/dev/proj"


@dataclass(frozen=True, kw_only=True)
class Case:
    """The recordings of a client.

    The session is the same in each client, against a stub of its model: it reads `words.py`, edits it, runs a check
    that fails, and says what comes next. All recordings have `/home/dev/proj` for the project.

    Attributes:
        client: the client's name in `clients/table.py`.
        session: the id of the recorded session.
        transcript: where the client keeps it below the user's home; `{folder}` is the project's path with dashes.
        files: those that `init` writes in a project.
        recording: the session; a `.sql` is run on an empty database.
        payloads: the folder of `NAME.EVENT.json`, or `NAME.EVENT.VARIANT.json`: what hooks received.
        request, command, error, last_words: what the session was asked, what failed and how, and its end.
        answers, tokens: how often the model answered, and what it counted, as input and output together.
    """

    client: str
    session: str
    transcript: str
    files: tuple[str, ...]
    recording: Path
    payloads: Path
    request: str = "Keep the quotes in words.py. Do not touch the tests."
    command: str = "python3 check_words.py"
    error: str = "AssertionError: quotes were lost"
    last_words: str = "The test still fails. Next: use shlex.split in parse()."
    answers: int = 4
    tokens: int = 4 * (1234 + 42)

    def put(self, home: Path, project: Path) -> Path:
        """Put the recorded session into a home, as one of this project; return its transcript."""
        folder = "".join(letter if letter.isalnum() else "-" for letter in str(project))
        path = home / self.transcript.format(folder=folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = self.recording.read_text(encoding="utf-8").replace(RECORDED_IN, str(project))
        if self.recording.suffix == ".sql":
            with closing(apsw.Connection(str(path))) as database:
                for _ in database.execute(text):
                    pass
        else:
            path.write_text(text, encoding="utf-8")
        if self.client == "gemini":
            (path.parent.parent / ".project_root").write_text(str(project))
        return path
