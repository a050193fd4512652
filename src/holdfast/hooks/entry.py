"""The file that a client starts: `python -I -S entry.py LIBRARIES HOOK [ARGUMENT...]`.

`-I -S` skips the user's settings and the site packages, which is a quarter of a bare interpreter's
time; LIBRARIES says where to find what is needed. This file is compiled anew at each start, so it
stays short.
"""

import gc
import sys
from _frozen_importlib_external import SourceFileLoader

# A hook is over before its garbage matters.
gc.disable()
root = __file__.rpartition("/holdfast/")[0]
sys.path[0:0] = [root, sys.argv[1]]
# It finds all other modules faster than the interpreter would find this one.
loader = SourceFileLoader("holdfast.kernel.code_cache", f"{root}/holdfast/kernel/code_cache.py")
code_cache = sys.modules[loader.name] = type(sys)(loader.name)
code_cache.__file__ = loader.path
loader.exec_module(code_cache)
cache = code_cache.use_code_cache("hooks")

from holdfast.hooks.run import run  # noqa: E402

run(sys.argv[2:], cache)
