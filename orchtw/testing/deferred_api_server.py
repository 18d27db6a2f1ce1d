"""The API server for trial's asynchronous tests, whose reactor goes on while they wait."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

from orchtw.testing.control.deferred import DeferredNetwork
from orchtw.testing.control.server_control import ServerControl
from orchtw.testing.server_handle import ServerHandle


class DeferredApiServer(ServerHandle, ServerControl):
    """`ApiServer` whose methods are coroutines for Twisted: to be awaited in tests, or given to `ensureDeferred`.

    Functions as conditions of `eventually` are coroutine functions, and their reader's methods are coroutines.
    """

    def __init__(
        self,
        reactor: Any,
        *,
        flags: Sequence[str] = (),
        vocabulary: str = "kubernetes",
        storage: str = "memory",
        data_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        ServerHandle.__init__(self, flags=flags, vocabulary=vocabulary, storage=storage, data_dir=data_dir)
        ServerControl.__init__(self, self._reached)
        self._network = DeferredNetwork(reactor)

    async def start(self) -> Self:
        """Start the server and wait until it is ready. Raises StartFailed with its last words."""
        await self._network.run(lambda: self._launch(self._network))
        self.forget_state()
        return self

    async def stop(self) -> None:
        """End the server and remove its temporary folder."""
        await self._network.run(self._finish)

    def stop_now(self) -> None:
        """End the server without a reactor, at the end of the process."""
        self._finish()
