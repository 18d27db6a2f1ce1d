"""The tests of everything; `tests/` mirrors `orchtw/`.

They start some two hundred Python processes. Where the environment forbids bytecode files, each of them would compile
the whole server first, which takes it half a second: theirs does not forbid them.
"""

import atexit
import gc
import os
import sys
from functools import cache

from orchtw.schema.codec import generated
from tests import emulated, mixed_order

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A server compiles the functions of its codecs once; the tests make hundreds of codecs from the same sources.
generated.compile = cache(compile)  # type: ignore[attr-defined]

# A third of the time of tests in this process went into passes of the garbage collector: whole servers come and go.
gc.set_threshold(1_000_000, 10, 100)
atexit.register(gc.freeze)  # at its end a process would look through everything once more

# Trial makes all modules forget, before each test, which warnings they have shown: two milliseconds. They do that by
# themselves when filters change, and trial changes them.
if (trial := sys.modules.get("twisted.trial._synctest")) is not None:
    setattr(trial, "_setWarningRegistryToNone", lambda modules: None)  # noqa: B010 - it has no declared type

emulated.emulate()
mixed_order.mix_tests()
