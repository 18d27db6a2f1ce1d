"""Following, exporting, importing and replaying of a server's record of writes, by the code of `orch-record`."""

from __future__ import annotations

import io
import json
import math
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

from orchtw.exports import export_file
from orchtw.exports.client import JSON, Params, ServerAnswer
from orchtw.exports.exporting import export_lines
from orchtw.exports.importing import Imported, import_objects
from orchtw.exports.replaying import Replay, Replayed
from orchtw.exports.writing import ExportWriter
from orchtw.testing.control import calls
from orchtw.testing.control.http import HttpClient, ServerRequest
from orchtw.testing.control.network import Network
from orchtw.testing.control.reader import Send
from orchtw.testing.control.records import RecordedWrite
from orchtw.wire.objects import Object

ExportFile = str | os.PathLike[str] | BinaryIO
"""Path of an export, or a binary file."""

LOOK_S: Final = 60.0
"""Longest wait for one line of the record, after which the next wait begins."""


async def follow(
    client: HttpClient, send: Send, filters: Mapping[str, Any], timeout_s: float | None
) -> AsyncGenerator[RecordedWrite, None]:
    """Yield writes as they are recorded, until none comes within `timeout_s`. Raises ApiError, ConnectionError."""
    async with client.lines(calls.history(filters, follow=True).request) as lines:
        while True:
            try:
                line = await lines.next(LOOK_S if timeout_s is None else timeout_s)
            except TimeoutError:
                if timeout_s is None:
                    continue
                return
            if line is None:
                await send(calls.revision())  # raises ServerDied where that is the reason
                raise ConnectionError("the server ended the record of writes")
            yield calls.recorded(line)


class Recording:
    """Exports of one server, and imports and replays on it."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def export(self, target: ExportFile, since: int | None, filters: Mapping[str, Any]) -> int:
        """Write an export; returns the number of lines behind the header. Raises ApiError and OSError."""
        params = [(name, str(value)) for name, value in filters.items() if value]
        lines = [value async for value in export_lines(_ControlReader(self._client), since, params, _silent)]
        content = b"".join(map(export_file.line_of, lines))
        await self._client.network.run(lambda: _write(target, content))
        return len(lines) - 1

    async def load(self, source: ExportFile, at: int | None) -> Imported:
        """Create the objects of an export, as they were at a revision, by default in the end. Raises ConfigError."""
        lines = export_file.state_at(await self._read(source), at)
        return await import_objects(lines, self._writer(), _NetworkPace(self._client.network), _silent)

    async def replay(self, source: ExportFile, speed: float, users: Collection[str]) -> tuple[Imported, Replayed]:
        """Create the objects at the beginning of an export, and repeat its writes. Raises ConfigError, ValueError."""
        if math.isnan(speed) or speed <= 0:
            raise ValueError(f"speed must be a number above 0, not {speed!r}")
        lines, writer, pace = await self._read(source), self._writer(), _NetworkPace(self._client.network)
        existing = [line for line in lines if line["type"] == export_file.EXISTING]
        imported = await import_objects(existing, writer, pace, _silent)
        replay = Replay(
            writer=writer, pace=pace, speed=speed, users=users, show=lambda record: None, complain=_silent
        )
        return imported, await replay.run(line for line in lines if line["type"] != export_file.EXISTING)

    async def _read(self, source: ExportFile) -> list[Object]:
        content = await self._client.network.run(lambda: _content(source))
        return list(export_file.read(io.BytesIO(content), _name(source)))

    def _writer(self) -> ExportWriter:
        return ExportWriter(_ControlClient(self._client))


class _ControlClient:
    """Client for imports (a `ServerClient`)."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def ask(
        self, method: str, path: str, params: Params = (), obj: Object | None = None, content: str = JSON
    ) -> ServerAnswer:
        headers = {} if obj is None else {"Content-Type": content}
        asked = ServerRequest(method=method, path=_asked(path, params), body=obj, headers=headers)
        answer = await self._client.answer(asked)
        try:
            return ServerAnswer(answer.code, answer.json)
        except ValueError:
            return ServerAnswer(answer.code, None)


class _ControlReader:
    """Reader of the record for exports (a `RecordReader`)."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    def records(self, params: Params) -> AsyncIterator[Object]:
        return self._lines(calls.HISTORY, params)

    def states(self, params: Params) -> AsyncIterator[Object]:
        return self._lines(calls.AT, params)

    async def _lines(self, path: str, params: Params) -> AsyncIterator[Object]:
        request = ServerRequest(method="GET", path=_asked(path, params))
        answer = (await self._client.answer(request)).checked(str(request))
        for line in answer.body.splitlines():
            value = json.loads(line)
            if value.get("type") == "ERROR":
                raise calls.watch_error(value["object"])
            yield value


class _NetworkPace:
    """Clock and sleep of a network (a `Pace`)."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def seconds(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def _asked(path: str, params: Params) -> str:
    return f"{path}?{urlencode(params)}" if params else path


def _silent(complaint: str) -> None:
    """Take a complaint, which the result has as well."""


def _name(file: ExportFile) -> str:
    return os.fspath(file) if isinstance(file, str | os.PathLike) else str(getattr(file, "name", "export"))


def _content(source: ExportFile) -> bytes:
    return Path(source).read_bytes() if isinstance(source, str | os.PathLike) else source.read()


def _write(target: ExportFile, content: bytes) -> None:
    if isinstance(target, str | os.PathLike):
        Path(target).write_bytes(content)
    else:
        target.write(content)
