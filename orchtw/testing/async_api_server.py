"""The API server for tests with asyncio: an asynchronous context manager over a child process.

```python
from orchtw.testing import AsyncApiServer

async with AsyncApiServer() as server:
    await kubernetes_asyncio.config.load_kube_config(str(server.kubeconfig))
    ...  # start the operator
    await server.eventually("configmaps/out", lambda found: found["data"]["x"] == "2", namespace="shop")
```
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from orchtw.testing.control.asynchronous import AsyncioNetwork
from orchtw.testing.control.network import Network
from orchtw.testing.control.server_control import ServerControl
from orchtw.testing.server_handle import ServerHandle


class AsyncApiServer(ServerHandle, ServerControl):
    """`ApiServer` whose methods are coroutines, of any event loop of asyncio, also of one after the other.

    Functions as conditions of `eventually` are coroutine functions, and their reader's methods are coroutines.
    """

    def __init__(
        self,
        *,
        flags: Sequence[str] = (),
        vocabulary: str = "kubernetes",
        storage: str = "memory",
        data_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        ServerHandle.__init__(self, flags=flags, vocabulary=vocabulary, storage=storage, data_dir=data_dir)
        ServerControl.__init__(self, self._reached)

    async def start(self) -> Self:
        """Start the server and wait until it is ready. Raises StartFailed with its last words."""
        network: Network = AsyncioNetwork()
        await network.run(lambda: self._launch(network))
        self.forget_state()
        return self

    async def stop(self) -> None:
        """End the server and remove its temporary folder."""
        await AsyncioNetwork().run(self._finish)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()
