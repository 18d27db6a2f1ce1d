"""Endpoint of the state's control: its path, refusals and limits."""
# covers: orchtw.assembly.state, orchtw.snapshots.snapshots

from __future__ import annotations

from typing import Any

import msgspec

from orchtw.assembly.state import endpoint
from orchtw.endpoints.state import PATH
from orchtw.snapshots.state_control import StateControl
from tests.snapshots.case import MAPS, STATE, StateCase, config_map


class EndpointTests(StateCase):
    """The endpoint of the control of the state."""

    def test_path(self) -> None:
        """It is under /debug, and no list of paths names it."""
        found = endpoint(self.control)
        self.assertEqual((list(found.paths()), PATH), ([], "/debug/state"))


class LimitTests(StateCase):
    """Limits of what is kept, and refusals."""

    async def test_number_of_snapshots(self) -> None:
        """Beyond the limit a snapshot is refused until another one is released."""
        self.control._snapshots._most = 3
        names = [await self.snapshot() for _ in range(2)]
        refused = await self.ask("POST", STATE, {"action": "snapshot"}, 403)
        self.assertIn("there are 3 snapshots already", refused.json["message"])
        await self.ask("POST", STATE, {"action": "release", "snapshot": names[0]})
        await self.snapshot()

    async def test_size_of_snapshots(self) -> None:
        """Beyond the limit of bytes in all of them a snapshot is refused, and keeps nothing."""
        self.control._snapshots._max_bytes = 1 << 20
        await self.created(MAPS, config_map("x", a="b" * 900_000))
        refused = await self.ask("POST", STATE, {"action": "snapshot"}, 403)
        self.assertIn("snapshots may hold 1048576 bytes in all", refused.json["message"])
        self.assertEqual(len((await self.ask("GET", STATE)).json), 1)

    async def test_values_are_shared(self) -> None:
        """A snapshot of the store in memory has the values of the store, not copies."""
        await self.created(MAPS, config_map("x"))
        await self.snapshot()
        store: Any = self.server.instance.resources.store
        kept = self.control.kept()[-1].items["/registry/configmaps/default/x"]
        self.assertIs(kept, store._versions._live["/registry/configmaps/default/x"])

    async def test_refusals(self) -> None:
        """Requests that are malformed, or name what is not there, are refused and change nothing."""
        for body, code, text in (
            (b"{", 400, "the body is not JSON"),
            ([], 400, "must be a JSON object"),
            ({"action": 1}, 400, "string values"),
            ({}, 400, "action: must be one of snapshot, restore, reset, release"),
            ({"action": "undo"}, 400, "action: must be one of"),
            ({"action": "snapshot", "x": "y"}, 400, "x: unknown field of action snapshot"),
            ({"action": "restore"}, 400, "snapshot: required"),
            ({"action": "reset", "watches": "end"}, 400, "watches: must be expire or follow"),
            ({"action": "restore", "snapshot": "no"}, 404, 'snapshots "no" not found'),
            ({"action": "release", "snapshot": "no"}, 404, 'snapshots "no" not found'),
            ({"action": "release", "snapshot": "start"}, 403, "is kept as long as the server runs"),
        ):
            refused = await self.ask("POST", STATE, body, code)
            self.assertIn(text, refused.json["message"])
        await self.ask("DELETE", STATE, code=405)

    async def test_other_users(self) -> None:
        """Only those who may do all reach the endpoint (reference STORE-40)."""
        for user in ("anyone", "system:anonymous", "system:serviceaccount:default:default"):
            await self.ask("GET", STATE, code=403, **{"impersonate-user": user})
            await self.ask("POST", STATE, {"action": "reset"}, 403, **{"impersonate-user": user})

    async def test_shared_store(self) -> None:
        """On a store that other processes write to, everything is refused with 405."""

        host: Any = msgspec.structs.replace(self.control._host, store=SharedStore())
        control = StateControl(host)
        await control.begin()
        state: Any = self.server.instance.state
        state._host = host
        for body in ({"action": "reset"}, {"action": "snapshot"}, {"action": "release", "snapshot": "x"}):
            refused = await self.ask("POST", STATE, body, 405)
            self.assertIn("can only be restored in a store of one process", refused.json["message"])
        await self.ask("GET", STATE, code=405)


class SharedStore:
    """A store of which only one property is asked."""

    shared = True
