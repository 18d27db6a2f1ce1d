"""`orchtw`, `orch-apiserver` and `python -m orchtw`: the server in the foreground, without the words around it.

The same as `twistd -n --pidfile= orch-apiserver`, with the same flags.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from orchtw.assembly.foreground import run_in_foreground


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server until a signal ends it; `arguments` are its flags."""
    run_in_foreground(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    main()
