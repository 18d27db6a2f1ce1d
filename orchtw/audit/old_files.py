"""Retention and compression of rotated log files (reference AUDIT-11)."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

import msgspec

GZIP: Final = ".gz"
PART: Final = ".part"
"""Suffix of a file while it is being compressed; one left by a crash is overwritten."""

_PIECE_BYTES: Final = 1 << 20
_STOP_S: Final = 10.0
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}", re.ASCII)


class Keeping(msgspec.Struct, frozen=True, kw_only=True):
    """Retention of old log files: number and days (0: unlimited), compressed or not."""

    files: int = 0
    days: int = 0
    compress: bool = False


def backup_path(path: Path, seconds: float) -> Path:
    """Return an unused path for a log that ends at a time, such as `audit-2022-05-03T12-00-00.000.log`."""
    moment = datetime.fromtimestamp(int(seconds * 1000) / 1000, UTC)
    while True:
        text = moment.strftime("%Y-%m-%dT%H-%M-%S.") + f"{moment.microsecond // 1000:03}"
        found = path.with_name(f"{path.stem}-{text}{path.suffix}")
        if not found.exists() and not found.with_name(found.name + GZIP).exists():
            return found
        moment += timedelta(milliseconds=1)


class _Old(msgspec.Struct, frozen=True, order=True):
    ended: datetime
    path: Path


class Keeper:
    """Removal and compression of old files, in a thread of its own, one pass at a time. `say` reports errors."""

    def __init__(self, path: Path, keeping: Keeping, say: Callable[[str], None]) -> None:
        self._path = path
        self._keeping = keeping
        self._say = say
        self._lock = Lock()
        self._thread: Thread | None = None
        self._again = False
        self._stopping = Event()
        self.alone: Callable[[], AbstractContextManager[None]] = nullcontext
        """Lock under which one process at a time works on the files."""

    def look(self) -> None:
        """Start a pass over the old files, or another one after the current."""
        if self._keeping == Keeping():
            return
        with self._lock:
            self._again = True
            if self._thread is None and not self._stopping.is_set():
                self._thread = Thread(target=self._run, name="audit-old-files", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop the current pass; a file that is being compressed stays as it was."""
        self._stopping.set()
        self.wait()

    def wait(self) -> None:
        """Wait until the thread has ended, up to _STOP_S."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(_STOP_S)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._again or self._stopping.is_set():
                    self._thread = None
                    return
                self._again = False
            try:
                with self.alone():
                    self.tidy(datetime.now(UTC))
            except OSError as error:
                self._say(f"old files of {self._path} cannot be compressed or removed: {error}")

    def tidy(self, now: datetime) -> None:
        """Remove files beyond the limits of number and age, and compress the rest if configured. Raises OSError."""
        kept: list[datetime] = []
        oldest = now - timedelta(days=self._keeping.days)
        for each in sorted(self._found(), reverse=True):
            if each.ended not in kept:
                too_many = self._keeping.files and len(kept) >= self._keeping.files
                if too_many or (self._keeping.days and each.ended < oldest):
                    each.path.unlink(missing_ok=True)
                    continue
                kept.append(each.ended)
            if self._keeping.compress and each.path.suffix != GZIP:
                self._compress(each.path)

    def _found(self) -> Iterator[_Old]:
        """Yield the old files; of equal times, a compressed file sorts after the one that it was made of."""
        start, end = f"{self._path.stem}-", self._path.suffix
        for name in os.listdir(self._path.parent):
            plain = name.removesuffix(GZIP)
            if not plain.startswith(start) or not plain.endswith(end):
                continue
            text = plain[len(start) : len(plain) - len(end)]
            if _TIME.fullmatch(text):
                try:
                    ended = datetime.strptime(text, "%Y-%m-%dT%H-%M-%S.%f").replace(tzinfo=UTC)
                except ValueError:
                    continue
                yield _Old(ended, self._path.with_name(name))

    def _compress(self, path: Path) -> None:
        target = path.with_name(path.name + GZIP)
        part = path.with_name(path.name + GZIP + PART)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(path, "rb") as source, open(fd, "wb") as raw, gzip.GzipFile(path.name, "wb", 6, raw) as packed:
            while piece := source.read(_PIECE_BYTES):
                if self._stopping.is_set():
                    part.unlink()
                    return
                packed.write(piece)
        os.replace(part, target)
        path.unlink()
