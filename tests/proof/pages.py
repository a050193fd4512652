"""`python -m tests.proof.pages ROOT PEOPLE`: the page of a workspace, and so many people signed in.

Prints one line of JSON with the port and a cookie for each of them, and serves until it is interrupted.
"""

from __future__ import annotations

import json
import signal
import sys

from scripts.page_server import Serving


def main(root: str, people: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    with Serving([root]) as serving:
        cookies = [serving.cookie() for _ in range(people)]
        print(json.dumps({"port": serving.address.port, "cookies": cookies}), flush=True)
        signal.sigwait([signal.SIGINT])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
