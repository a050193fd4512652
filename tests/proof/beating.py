"""A process that beats through the hooks' entry: `python -m tests.proof.beating ROOT AGENT BEATS SECONDS
PAUSE` prints each step that was acknowledged. It ends after so many beats, or so long."""

from __future__ import annotations

import sys
import time

from holdfast.hooks.run import _own


def main(root: str, agent: str, beats: int, seconds: float, pause: float) -> None:
    end = time.monotonic() + seconds
    for number in range(beats):
        if time.monotonic() > end:
            return
        step = f"{agent} {number}"
        answer = _own(["beat", agent], {"cwd": root, "step": step}, "")
        if "failed" in answer:
            sys.exit(f"{step}: {answer['failed']}")
        print(step, flush=True)
        time.sleep(pause)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
