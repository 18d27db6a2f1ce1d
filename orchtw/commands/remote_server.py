"""The server that the command talks to: its URL, trust and credentials, by a kubeconfig or by options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.credentials import Fixed, bearer
from orchtw.outbound.kubeconfig import load
from orchtw.outbound.policy import BadTLS, TLSPolicy
from orchtw.outbound.remote import Remote, server_url

DEFAULT: Final = Path("orch-data/admin.kubeconfig")
"""Kubeconfig of the server that was started in this folder."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the server."""
    group = parser.add_argument_group("server")
    add = group.add_argument
    add("--kubeconfig", type=Path, metavar="FILE",
        help=f"kubeconfig of the server (default: that of KUBECONFIG, else {DEFAULT})")  # fmt: skip
    add("--server", metavar="URL", help="URL of the server, in place of a kubeconfig")
    add("--certificate-authority", type=Path, metavar="FILE", help="CA certificates (PEM) of --server")
    add("--token-file", type=Path, metavar="FILE", help="file with the bearer token for --server")


def remote_of(options: argparse.Namespace, reactor: Any, environ: Mapping[str, str] = os.environ) -> Remote:
    """Return the server that the options name. Raises ConfigError with one line."""
    if options.server is None:
        if options.certificate_authority is not None or options.token_file is not None:
            raise ConfigError("--certificate-authority and --token-file are for --server")
        named = next(filter(None, environ.get("KUBECONFIG", "").split(os.pathsep)), "")
        return load(options.kubeconfig or Path(named or DEFAULT), Naming.kubernetes(), reactor)
    if options.kubeconfig is not None:
        raise ConfigError("--server and --kubeconfig cannot be given together")
    tls = TLSPolicy(authorities=_read(options.certificate_authority))
    try:
        tls.tls()
    except BadTLS as problem:
        raise ConfigError(f"--certificate-authority: {problem}") from None
    token = _read(options.token_file).decode("utf-8", "replace").strip()
    if not token.isprintable() or not token.isascii():
        raise ConfigError("--token-file: holds characters that no header can have")
    credentials = Fixed(bearer(token)) if token else None
    return Remote(url=_url(options.server), tls=tls, credentials=credentials)


def _url(text: str) -> str:
    try:
        return server_url(text)
    except ValueError:
        raise ConfigError("--server: must be a URL such as https://host:port") from None


def _read(path: Path | None) -> bytes:
    """Return the bytes of a file, none without one. Raises OSError."""
    return b"" if path is None else path.read_bytes()
