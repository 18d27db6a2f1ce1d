"""Static token file: records of `token,user,uid[,"group1,group2"]` (reference AUTHN-17).

It is read at startup and on SIGHUP.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from twisted.logger import Logger

from orchtw.authn.csv_records import MalformedRecord, records
from orchtw.authn.method import AuthnHost, authenticated
from orchtw.authn.validity import Validity
from orchtw.config.authentication import AuthenticationOptions
from orchtw.errors import ConfigError
from orchtw.request import UserInfo

_MIN_COLUMNS = 3
_log = Logger()


class StaticTokens:
    """Users by token.

    Only keyed digests are kept, with a key that lives as long as the process: lookup times reveal nothing about a
    token, and no memory dump or log contains one.
    """

    def __init__(self, users: Iterable[tuple[str, UserInfo]], key: bytes) -> None:
        self._key = key
        self._users = {self._digest(token): authenticated(user) for token, user in users}

    def find(self, token: str) -> UserInfo | None:
        """Return the token's user, or None."""
        return self._users.get(self._digest(token))

    def _digest(self, token: str) -> bytes:
        return hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._key, digest_size=32).digest()


class TokenFile:
    """The tokens of a file as last read. Raises ConfigError as `load` does."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key
        self.read()

    def read(self) -> None:
        """Reload the file; one that cannot be used (ConfigError) changes nothing."""
        self._tokens = load(self._path, self._key)

    def find(self, token: str) -> UserInfo | None:
        """Return the token's user, or None."""
        return self._tokens.find(token)

    def lasts(self, token: str) -> Validity:
        """Hold until the file is read again, see `lasting.LastingPlainTokens`."""
        tokens = self._tokens
        return Validity(known=tokens.find(token) is not None, stands=(lambda: self._tokens is tokens,))


def from_flags(host: AuthnHost, options: AuthenticationOptions) -> TokenFile | None:
    """Return the tokens of `--token-auth-file`, or None, and register the file for reloads.

    Raises ConfigError as `load` does.
    """
    if options.token_auth_file is None:
        return None
    file = TokenFile(options.token_auth_file, host.key)
    host.reloads.add("--token-auth-file", file.read)
    return file


def load(path: Path, key: bytes) -> StaticTokens:
    """Return the tokens of a file; `key` is 16 to 64 random bytes.

    The file is CSV in UTF-8; a byte-order mark is ignored. Of duplicate tokens the last counts, and a record with an
    empty token is skipped, each with a logged warning that names the line. Raises ConfigError for a file that cannot
    be read or parsed, or a record with too few columns.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"--token-auth-file: token file '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--token-auth-file: token file '{path}': is not UTF-8 text") from error
    try:
        return StaticTokens(_users(text, path).items(), key)
    except MalformedRecord as error:
        raise ConfigError(f"--token-auth-file: token file '{path}': {error}") from error


def _users(text: str, path: Path) -> dict[str, UserInfo]:
    users: dict[str, UserInfo] = {}
    for line, columns in records(text):
        if len(columns) < _MIN_COLUMNS:
            raise ConfigError(
                f"--token-auth-file: token file '{path}' must have at least {_MIN_COLUMNS} columns "
                f"(token, user name, user uid), found {len(columns)} on line {line}"
            )
        token, name, uid = columns[:_MIN_COLUMNS]
        if not token:
            _log.warn("empty token in token file {path}, line {line}", path=path, line=line)
            continue
        if token in users:
            _log.warn("duplicate token in token file {path}, line {line}", path=path, line=line)
        groups = columns[_MIN_COLUMNS] if len(columns) > _MIN_COLUMNS else ""
        users[token] = UserInfo(name=name, uid=uid, groups=tuple(groups.split(",")) if groups else ())
    return users
