"""The tests of everything; `tests/` mirrors `orchtw/`.

They start some two hundred Python processes. Where the environment forbids bytecode files, each of them would compile
the whole server first, which takes it half a second: theirs does not forbid them.
"""

import os

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
