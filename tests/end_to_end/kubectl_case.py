"""`kubectl`, unmodified, as the administrator runs it in the namespace of a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from twisted.internet.task import deferLater

from orchtw.testing.kubectl import Command, Kubectl, Result
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor
from tests.forked import forking


class KubectlCase(ServerCase):
    """Tests with `kubectl`; `variables` are more of its environment."""

    variables: ClassVar[Mapping[str, str]] = {}
    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.kubectl = Kubectl(forking, self.server.kubeconfig, self.mktemp(), self.variables)

    async def run_any(self, *arguments: str, stdin: str = "") -> Result:
        """A command in the test's namespace, unless it names another one."""
        return await self.kubectl.run(f"--namespace={self.namespace}", *arguments, stdin=stdin)

    async def run_ok(self, *arguments: str, stdin: str = "") -> str:
        """Standard output of a command that succeeds."""
        result = await self.run_any(*arguments, stdin=stdin)
        self.assertEqual(result.status, 0, result)
        return result.output

    async def lines_until(self, command: Command, text: str) -> None:
        """Wait for a line with this text in the output of a running command, which kubectl may write in parts."""
        while not (await command.until(text)).endswith("\n"):
            await deferLater(reactor, 0.01)

    async def words(self, *arguments: str) -> list[list[str]]:
        """The words of each line of a table."""
        return [line.split() for line in (await self.run_ok(*arguments)).splitlines()]
