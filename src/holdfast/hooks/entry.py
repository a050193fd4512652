"""The file that a client starts: `python -I -S entry.py LIBRARIES HOOK [ARGUMENT...]`.

`-I -S` skips the user's settings and the site packages, which is a quarter of a bare interpreter's
time; LIBRARIES says where to find what is needed. This file is compiled anew at each start, so it
stays short.
"""

import gc
import sys

# A hook is over before its garbage matters.
gc.disable()
sys.path[0:0] = [__file__.rpartition("/holdfast/")[0], sys.argv[1]]

from holdfast.hooks.run import run  # noqa: E402

run(sys.argv[2:])
