"""Joining a cluster: a server without keys fetches the cluster's before it starts (reference CTRL-54).

The store needs the reactor, which does not run yet and can run but once: a process of its own asks the store. It
handles sealed secrets only.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import orchtw
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import first_start
from orchtw.pki.sealed_keys import FLAG, WrongSecret, seal, unseal

ASK_S: Final = 60.0
"""The store is given up earlier; this ends a process that hangs."""

REFUSED: Final = 3
"""The exit status of the process that asks, when its output is the reason why there are no keys."""


def handed_keys(
    config: Config, naming: Naming, secret: bytes | None, now: datetime, *, shared: bool
) -> Mapping[str, bytes] | None:
    """Return the keys that the store hands over, for a server that has none; None: it has its own, or asks for none.

    In an empty store they are new. `shared` says whether other servers can have written to it. Raises ConfigError.
    """
    if secret is not None and not shared:
        raise ConfigError(f"--{FLAG}: only where servers share the store (--storage-backend=etcd3)")
    if secret is None or first_start.has_keys(config.generic.data_dir):
        return None
    sealed = _asked(config, seal(secret, first_start.common_keys(naming, now)))
    try:
        return unseal(secret, sealed)
    except WrongSecret:
        raise ConfigError(f"--{FLAG}: the keys in the store are sealed with another secret") from None


def _asked(config: Config, made: bytes) -> bytes:
    """Return the sealed keys of the store. Raises ConfigError."""
    command = (sys.executable, "-m", "orchtw.assembly.fetch_keys")
    given = pickle.dumps((config, made))
    try:
        ended = subprocess.run(command, input=given, capture_output=True, env=_environment(), timeout=ASK_S)
    except subprocess.TimeoutExpired:
        raise ConfigError(f"--{FLAG}: the store does not respond") from None
    if not ended.returncode:
        return ended.stdout
    if ended.returncode == REFUSED:
        raise ConfigError(*ended.stdout.decode(errors="replace").splitlines())
    lines = ended.stderr.decode(errors="replace").splitlines() or [f"exit status {ended.returncode}"]
    raise ConfigError(f"--{FLAG}: failed to ask the store: {lines[-1]}")


def _environment() -> dict[str, str]:
    """Return the process finds the same orchtw, however this one has."""
    root = str(Path(orchtw.__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}
