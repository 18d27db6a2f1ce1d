"""Reading and writing of key and certificate files; every failure is a ConfigError that names the file."""

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
"""Permission bits of group and others."""

_log = Logger()


def read(path: Path) -> bytes:
    """Read a file given by the operator. Raises ConfigError if it is missing or unreadable."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def read_own(path: Path) -> bytes:
    """Read a file in a folder of the server. Raises ConfigError like `read`, and for links and special files."""
    return _read_own(path)[0]


def read_private(path: Path) -> bytes:
    """Read a private key like `read_own`. Raises ConfigError also if others have permissions on the file."""
    content, mode = _read_own(path)
    _refuse_others(path, mode)
    return content


def check_private(path: Path) -> None:
    """Raise ConfigError if others have permissions on this private key, or it is missing."""
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
            f"{path}: other users have permissions on this private key (mode {stat.S_IMODE(mode):04o}); "
            f"run: chmod 600 {quote(str(path))}"
        )


def _read_own(path: Path) -> tuple[bytes, int]:
    """Return content and mode. Neither the file nor its folder may be a link, which an attacker may have planted."""
    try:
        with _folder(path.parent) as folder:
            # O_NONBLOCK: opening a pipe must not block.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise ConfigError(f"{path}: is not a regular file")
            return file.read(), found.st_mode
    except OSError as error:
        refuse_link(path.parent)
        refuse_link(path)
        raise ConfigError(f"{path}: {error.strerror}") from error


def refuse_link(path: Path) -> None:
    """Raise ConfigError if `path` is a symbolic link. A missing file is fine."""
    if path.is_symlink():
        raise ConfigError(f"{path}: is a symbolic link, which is not followed; replace it with its target")


def read_certificates(path: Path, read: Callable[[Path], bytes] = read) -> tuple[x509.Certificate, ...]:
    """Read the certificates of a PEM file, at least one. Raises ConfigError."""
    try:
        return tuple(x509.load_pem_x509_certificates(read(path)))
    except (ValueError, x509.InvalidVersion) as error:
        raise ConfigError(f"{path}: holds no readable PEM certificate") from error


def read_key(path: Path, read: Callable[[Path], bytes] = read) -> PrivateKeyTypes:
    """Read the unencrypted private key of a PEM file. Raises ConfigError."""
    try:
        return serialization.load_pem_private_key(read(path), password=None)
    except UnsupportedAlgorithm as error:
        raise ConfigError(f"{path}: holds a private key of an unsupported type: {error}") from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: holds no readable, unencrypted PEM private key") from error


def of_flag(flag: str, read: Callable[[Path], T], path: Path) -> T:
    """Read the file given by a flag. Raises ConfigError, with the flag's name added to that of `read`."""
    try:
        return read(path)
    except ConfigError as error:
        raise ConfigError(*(f"--{flag}: {problem}" for problem in error.problems)) from error


def make_folder(path: Path) -> Path:
    """Create the folder (mode 0700) and its parents if missing. Raises ConfigError.

    Returns the resolved path, since the operator may give a link.
    """
    try:
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        return path.resolve(strict=True)
    except FileExistsError as error:
        raise ConfigError(f"{path}: is a file, not a folder") from error
    except OSError as error:
        raise ConfigError(f"{path}: the folder cannot be created: {error.strerror}") from error


def warn_of_rights(folder: Path) -> None:
    """Log a warning if others have permissions on a folder of the server."""
    if not is_private(folder):
        _log.warn(
            "{folder}: other users have permissions on this folder (mode {mode}); run: chmod 700 {quoted}",
            folder=str(folder),
            mode=f"{stat.S_IMODE(folder.stat().st_mode):04o}",
            quoted=quote(str(folder)),
        )


def write_folder(path: Path, contents: dict[str, tuple[bytes, int]]) -> None:
    """Create the folder with all its files (content and mode by name) atomically. Raises ConfigError.

    An empty folder at `path` is replaced.
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
    """Create or replace a file atomically, even across a crash. Raises ConfigError.

    A link at `path` is itself replaced, not its target.
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
    """Yield a file descriptor of the folder, so that it cannot be swapped while it is used."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
