"""`python -m tests.forking_main [-W ACTION] -m MODULE ARGUMENTS…`: a program whose servers are forked like itself.

`fork_server` forks it, and it leaves a copy of that behind before it does anything else. The servers and modules of
this project that the program starts by `subprocess` are forks of this copy. Tests of what a user runs start the
program itself at least once for each runner: a fork gives no warnings of imports, for one.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import warnings

from tests import fork_client, fork_server


def main() -> None:
    """Run the program, or, in a fork for a server, that."""
    if command := fork_server.leave_copy():
        fork_server.run(command, nested=False)  # bench counts what a server's processes take
        return
    subprocess.Popen = fork_client.ForkedPopen  # type: ignore[misc]
    _run(sys.argv[1:])


def _run(words: list[str]) -> None:
    if words[0] == "-W":
        sys.warnoptions.append(words[1])
        warnings.simplefilter(words[1])  # type: ignore[arg-type]
        del words[:2]
    option, program, *arguments = words
    assert option == "-m"
    sys.path.insert(0, os.getcwd())  # as the interpreter does
    sys.argv = [program, *arguments]
    runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
