"""Files and standard streams that commands read and write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import BinaryIO, Final

STDIO: Final = "-"
"""Name that stands for standard input or output."""


@contextmanager
def output(target: str) -> Iterator[BinaryIO]:
    """Yield standard output, or a new file of mode 0600, as it holds secrets; the file is removed on failure.

    Raises OSError with the file's name.
    """
    if target == STDIO:
        yield sys.stdout.buffer
        return
    file = open(target, "xb", opener=partial(os.open, mode=0o600))
    try:
        with file:
            yield file
    except BaseException as error:
        os.unlink(target)
        if isinstance(error, OSError):
            error.filename = error.filename or target
        raise


def source(name: str) -> AbstractContextManager[BinaryIO]:
    """Return standard input or an opened file. Raises OSError."""
    return nullcontext(sys.stdin.buffer) if name == STDIO else open(name, "rb")
