"""Reading and writing the files of a data folder; every failure is a ConfigError that names the file."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from twisted.logger import Logger

from orchtw.errors import ConfigError

T = TypeVar("T")

PRIVATE_FILE, PUBLIC_FILE, PRIVATE_FOLDER = 0o600, 0o644, 0o700
OTHERS = 0o077
"""Permissions of everybody but the owner."""

_log = Logger()


def read(path: Path) -> bytes:
    """The content of a file that the operator names. Raises ConfigError when it is missing or unreadable."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def read_own(path: Path) -> bytes:
    """The content of a file in a folder of ours; raises ConfigError as `read`, and for links, pipes and the like."""
    return _read_own(path)[0]


def read_private(path: Path) -> bytes:
    """As `read_own`, for a private key: raises ConfigError when others have permissions on the file, too."""
    content, mode = _read_own(path)
    _refuse_others(path, mode)
    return content


def check_private(path: Path) -> None:
    """Raises ConfigError when anybody but the owner has permissions on this private key, or it is missing."""
    try:
        _refuse_others(path, path.stat().st_mode)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def is_private(path: Path) -> bool:
    """Report whether only the owner has permissions on an existing file or folder."""
    return not path.stat().st_mode & OTHERS


def _refuse_others(path: Path, mode: int) -> None:
    if mode & OTHERS:
        raise ConfigError(
            f"{path}: others have rights on this private key (mode {stat.S_IMODE(mode):04o}); "
            f"run: chmod 600 {quote(str(path))}"
        )


def _read_own(path: Path) -> tuple[bytes, int]:
    """Content and mode. Neither the file nor its folder may be a link: somebody may have planted it."""
    try:
        with _folder(path.parent) as folder:
            # Without O_NONBLOCK a pipe in the file's place would be waited for.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise ConfigError(f"{path}: is no regular file")
            return file.read(), found.st_mode
    except OSError as error:
        refuse_link(path.parent)
        refuse_link(path)
        raise ConfigError(f"{path}: {error.strerror}") from error


def refuse_link(path: Path) -> None:
    """Raises ConfigError when `path` is a symbolic link. A missing file is fine."""
    if path.is_symlink():
        raise ConfigError(f"{path}: is a symbolic link, which is not followed; put in its place what it points to")


def read_certificates(path: Path, read: Callable[[Path], bytes] = read) -> tuple[x509.Certificate, ...]:
    """The certificates of a PEM file, one at least. Raises ConfigError."""
    try:
        return tuple(x509.load_pem_x509_certificates(read(path)))
    except (ValueError, x509.InvalidVersion) as error:
        raise ConfigError(f"{path}: holds no readable PEM certificate") from error


def read_key(path: Path, read: Callable[[Path], bytes] = read) -> PrivateKeyTypes:
    """The unencrypted private key of a PEM file. Raises ConfigError."""
    try:
        return serialization.load_pem_private_key(read(path), password=None)
    except UnsupportedAlgorithm as error:
        raise ConfigError(f"{path}: holds a private key of a kind that is not supported: {error}") from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: holds no readable, unencrypted PEM private key") from error


def of_flag(flag: str, read: Callable[[Path], T], path: Path) -> T:
    """Read the file that a flag names; a ConfigError names the flag."""
    try:
        return read(path)
    except ConfigError as error:
        raise ConfigError(*(f"--{flag}: {problem}" for problem in error.problems)) from error


def make_folder(path: Path) -> Path:
    """Make the folder, 0700, and those above it; one that is there is left as it is. Raises ConfigError.

    Returns where it really is: the operator may give a link.
    """
    try:
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        return path.resolve(strict=True)
    except FileExistsError as error:
        raise ConfigError(f"{path}: is a file, not a folder") from error
    except OSError as error:
        raise ConfigError(f"{path}: the folder cannot be made: {error.strerror}") from error


def warn_of_rights(folder: Path) -> None:
    """Say in the log that others can look into a folder of ours, or change what is in it."""
    if not is_private(folder):
        _log.warn(
            "{folder}: others have rights on this folder (mode {mode}); run: chmod 700 {quoted}",
            folder=str(folder),
            mode=f"{stat.S_IMODE(folder.stat().st_mode):04o}",
            quoted=quote(str(folder)),
        )


def write_folder(path: Path, contents: dict[str, tuple[bytes, int]]) -> None:
    """Make the folder with all its files (content and mode by name) appear at once: complete or not at all.

    An empty folder at `path` is replaced. Raises ConfigError.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
            fresh = Path(folder) / path.name
            fresh.mkdir(PRIVATE_FOLDER)
            with _folder(fresh) as inside:
                for name, (content, mode) in contents.items():
                    _write(name, content, mode, inside)
                os.fsync(inside)
            fresh.rename(path)
        with _folder(path.parent) as above:
            os.fsync(above)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def replace(path: Path, content: bytes, mode: int) -> None:
    """Replace or make one file: readers see the old content or the new, even after a crash. Raises ConfigError.

    A link in its place is replaced itself; what it points to stays as it is.
    """
    fresh = f".{path.name}.{os.getpid()}"
    try:
        with _folder(path.parent) as folder:
            with suppress(FileNotFoundError):
                os.unlink(fresh, dir_fd=folder)
            _write(fresh, content, mode, folder)
            os.replace(fresh, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _write(name: str, content: bytes, mode: int, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, mode, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    """A descriptor of the folder itself, for as long as it is used: nobody can put another in its place meanwhile."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
