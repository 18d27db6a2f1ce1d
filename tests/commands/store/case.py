"""Stores with objects of all kinds, and the command on them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import gatherResults
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase

from orchtw.commands.store.command import perform
from orchtw.commands.store.values import StoredValues
from orchtw.naming.naming import Naming
from orchtw.storage.sqlite.store import FILE, SqliteStore
from orchtw.storage.store import Op
from orchtw.wire.objects import Object

reactor: Any = installed_reactor
UID, TIME = "0a1b2c3d-0000-4000-8000-000000000001", "2026-01-02T03:04:05Z"


def named(api_version: str, kind: str, name: str, namespace: str = "", **members: Any) -> Object:
    """An object as it could be stored."""
    meta = {"name": name, "uid": UID, "creationTimestamp": TIME, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **members}


def objects(naming: Naming) -> dict[str, Object]:
    """Some objects by key."""
    networking = naming.group("networking.orch.io")
    return {
        "/registry/namespaces/a": named("v1", "Namespace", "a", status={"phase": "Active"}),
        "/registry/configmaps/a/one": named("v1", "ConfigMap", "one", "a", data={"k": "v", "ü": "\u2028"}),
        "/registry/secrets/a/s": named("v1", "Secret", "s", "a", data={"k": "AAEC"}, type="Opaque"),
        "/registry/events/a/e": named("v1", "Event", "e", "a", reason="Because"),
        "/registry/networking.orch.io/networkpolicies/a/p": named(f"{networking}/v1", "NetworkPolicy", "p", "a"),
        "/registry/example.com/widgets/a/w": named("example.com/v1", "Widget", "w", "a", spec={"size": 1.5}),
    }


class CommandCase(TestCase):
    timeout = 180

    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.data = self.folder / "data"
        self.store = self.data / FILE

    async def opened(self, folder: Path, vocabulary: str = "orch") -> SqliteStore:
        """A store that a server could be using."""
        folder.mkdir(exist_ok=True)
        store = SqliteStore(str(folder / FILE), vocabulary, reactor=reactor, clock=Clock())
        await store.start()
        return store

    async def filled(self, vocabulary: str = "orch", **more: bytes) -> dict[str, Object]:
        """Make the store; `more` are values by name that are not objects."""
        naming = Naming.of(vocabulary)
        values, found = StoredValues(naming), objects(naming)
        store = await self.opened(self.data, vocabulary)
        stored = {key: values.value(key, obj) for key, obj in found.items()}
        stored |= {f"/registry/{name}/x": value for name, value in more.items()}
        writes = [Op(key, value, None, None, 1000.0 * ("events" in key)) for key, value in stored.items()]
        await gatherResults([store.commit(each) for each in writes])
        await store.stop()
        return found

    async def run_command(self, command: str, *arguments: str | os.PathLike[str], folder: Path | None = None) -> str:
        """Return the command's output; it must succeed."""
        status, output, errors = await self.tried(command, *arguments, folder=folder)
        self.assertEqual((status, errors), (0, ""))
        return output

    async def refused(self, command: str, *arguments: str | os.PathLike[str], folder: Path | None = None) -> str:
        """The one line with which it fails."""
        status, _, errors = await self.tried(command, *arguments, folder=folder)
        self.assertEqual((status, errors.count("\n")), (1, 1), errors)
        return errors.removeprefix("orch-store: ").rstrip()

    async def tried(
        self, command: str, *arguments: str | os.PathLike[str], folder: Path | None = None
    ) -> tuple[int, str, str]:
        """Exit status, output and errors."""
        output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with redirect_stdout(output), redirect_stderr(errors):
            where = f"--data-dir={folder or self.data}"
            status = await perform([command, where, *[os.fspath(each) for each in arguments]], reactor)
        output.flush()
        assert isinstance(output.buffer, io.BytesIO)
        return status, output.buffer.getvalue().decode(), errors.getvalue()

    def with_input(self, text: bytes) -> None:
        """Standard input for the rest of the test."""
        self.patch(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
