"""Folder of a server for tests: its flags, files and users."""

from __future__ import annotations

import base64
import os
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchtw.faults.tester import TESTER

_GROUP = "system:masters"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_TRUST = re.compile(rb"certificate-authority-data: (\S+)")
_OWN_FLAGS = ("data-dir", "token-auth-file", "service-map-file")


class ServerFolder:
    """Folder of one server, private to this user; a temporary one unless `data_dir` is given."""

    def __init__(self, data_dir: str | os.PathLike[str] | None) -> None:
        self.temporary = data_dir is None
        if data_dir is None:
            self.root = Path(tempfile.mkdtemp(prefix="orchtw-"))
        else:
            self.root = Path(data_dir).absolute()
            self.root.mkdir(parents=True, exist_ok=True)
        self.data = self.root / "data" if self.temporary else self.root
        self.log = self.root / "server.log"
        self.service_map = self.root / "service-map"
        self.ca = self.root / "ca.crt"
        self.token = secrets.token_urlsafe(24)
        self.own_token = secrets.token_urlsafe(24)
        self._users: dict[tuple[str, tuple[str, ...]], Path] = {}
        self._lock = threading.Lock()

    @property
    def kubeconfig(self) -> Path:
        """Return the path of the administrator's kubeconfig, which the server writes."""
        return self.data / "admin.kubeconfig"

    def flags(self, vocabulary: str, storage: str, more: Sequence[str]) -> list[str]:
        """Write the administrator's token and return the server's flags.

        Raises ValueError for flags whose values the folder determines.
        """
        for flag in more:
            name = flag.lstrip("-").partition("=")[0]
            if name in _OWN_FLAGS:
                raise ValueError(f"{flag}: is set by the test server; see data_dir, user() and map_service()")
        tokens = self.root / "tokens.csv"
        # The administrator has the same name by token and by certificate.
        users = ((self.token, f"{vocabulary}-admin"), (self.own_token, TESTER))
        write_private(tokens, "".join(f'{token},{name},{name},"{_GROUP}"\n' for token, name in users))
        port = () if any(flag.startswith("--secure-port") for flag in more) else ("--secure-port=0",)
        return [
            f"--data-dir={self.data}",
            f"--vocabulary={vocabulary}",
            f"--storage={storage}",
            f"--token-auth-file={tokens}",
            f"--service-map-file={self.service_map}",
            "--enable-state-control",
            "--enable-faults",
            "--enable-history",
            *port,
            *more,
        ]

    def read_ca(self) -> str:
        """Return the server's authority, in PEM, of the administrator's kubeconfig; it is written to `ca` as well."""
        found = _TRUST.search(self.kubeconfig.read_bytes())
        assert found is not None
        pem = base64.b64decode(found[1]).decode()
        write_private(self.ca, pem)
        return pem

    def user(self, name: str, groups: Sequence[str]) -> Path:
        """Return the path of a kubeconfig of a user, whose certificate the server's authority for clients signs.

        Raises ConfigError for names that a certificate cannot hold: of 1 to 64 printable characters.
        """
        from datetime import UTC, datetime

        from orchtw.pki.certificates import LEAF_LIFE
        from orchtw.pki.user_command import write_user

        key = (name, tuple(groups))
        with self._lock:
            if key not in self._users:
                folder = self.root / "users"
                folder.mkdir(mode=0o700, exist_ok=True)
                output = folder / f"{_UNSAFE.sub('_', name)}-{len(self._users)}.kubeconfig"
                now = datetime.now(UTC)
                self._users[key] = write_user(self.data, name, groups, output=output, life=LEAF_LIFE, now=now)
            return self._users[key]

    def log_text(self) -> str:
        """Return what the server has written."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def remove(self) -> None:
        """Remove the folder if it is a temporary one."""
        if self.temporary:
            shutil.rmtree(self.root, ignore_errors=True)


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read."""
    opener: Any = lambda name, flags: os.open(name, flags, 0o600)  # noqa: E731
    with open(path, "w", opener=opener) as file:
        file.write(text)
