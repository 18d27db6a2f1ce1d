# mypy: disallow-untyped-calls=False
"""A store as a list of states, and the comparison of real stores with it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from orchtw.storage.store import Change, KeyValue, Op, Store
from orchtw.storage.testing import PODS, Recorder
from tests.properties import examples

KEYS = st.sampled_from([PODS + "a", PODS + "b", PODS + "b/c", PODS + "é", "/registry/q"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "delete", "compact", "reopen", "replace"]),
        KEYS,
        st.binary(max_size=3),
        st.sampled_from(["any", "right", "absent", "stale"]),
    ),
    max_size=40,
)


class Model:
    """A store as a list of states: what `interface` promises in its plainest form."""

    def __init__(self) -> None:
        self.states: dict[int, dict[str, KeyValue]] = {1: {}}
        self.changes: list[Change] = []
        self.revision = 1
        self.compacted = 0

    def commit(self, op: Op) -> tuple[int, KeyValue | None]:
        """(revision, current) of the outcome."""
        state = dict(self.states[self.revision])
        held = state.get(op.key)
        if op.expected not in (None, held.revision if held else 0) or (op.value is None and held is None):
            return 0, held
        self.revision += 1
        if op.value is None:
            del state[op.key]
        else:
            state[op.key] = KeyValue(op.key, op.value, self.revision, held.create_revision if held else self.revision)
        self.states[self.revision] = state
        self.changes.append(Change(self.revision, op.key, op.value, held))
        return self.revision, None


class ModelRules(TestCase):
    """Comparison of a store with the model."""

    async def open_store(self, number: int) -> Store:
        """Return the store of a script: new, or what `stop` has left."""
        raise NotImplementedError

    keeps = True
    """Whether a store that has been stopped can be opened again."""

    async def test_store_is_as_the_model(self) -> None:
        """Any run of writes, compactions and restarts shows the model's outcomes, states and changes."""
        scripts: list[Any] = []

        @examples(25)
        @given(STEPS)
        def collect(steps: Any) -> None:
            scripts.append(steps)

        collect()
        for number, steps in enumerate(scripts):
            await self._play(number, steps)

    async def _play(self, number: int, steps: Any) -> None:
        store, model = await self.open_store(number), Model()
        pending: list[tuple[Deferred[Any], tuple[int, KeyValue | None]]] = []
        for action, key, value, expecting in steps:
            if action in ("put", "delete"):
                held = model.states[model.revision].get(key)
                right = held.revision if held else 0
                expected = {"any": None, "right": right, "absent": 0, "stale": max(right - 1, 1)}[expecting]
                op = Op(key, value if action == "put" else None, expected)
                pending.append((store.commit(op), model.commit(op)))
                continue
            await self._settle(pending)
            if action == "compact":
                model.compacted = max(model.compacted, model.revision - len(value))
                await store.compact(max(0, model.revision - len(value)))
            elif action == "replace":
                ops = [Op(key, value), Op(PODS + "b", None), Op(key, value + b"!")]
                reached = await store.replace(ops, model.revision if expecting != "stale" else model.revision - 1)
                if expecting != "stale":
                    for op in ops:
                        model.commit(op)
                self.assertEqual(reached, 0 if expecting == "stale" else model.revision)
            elif self.keeps:
                await store.stop()
                store = await self.open_store(number)
        await self._settle(pending)
        await self._compare(store, model)
        await store.stop()

    async def _settle(self, pending: list[tuple[Deferred[Any], tuple[int, KeyValue | None]]]) -> None:
        for waiting, expected in pending:
            outcome = await waiting
            self.assertEqual((outcome.revision, outcome.current), expected)
        pending.clear()

    async def _compare(self, store: Store, model: Model) -> None:
        self.assertEqual(await store.revision(), model.revision)
        for revision in range(max(model.compacted, 1), model.revision + 1):
            state = model.states[revision]
            below = [state[key] for key in sorted(state, key=str.encode) if key.startswith(PODS)]
            self.assertEqual((await store.list(PODS, revision=revision)).items, below)
            page = await store.list(PODS, revision=revision, limit=1, start=PODS + "b")
            rest = [item for item in below if item.key >= PODS + "b"]
            self.assertEqual((page.items, page.remaining), (rest[:1], max(0, len(rest) - 1)))
            for key in (PODS + "a", "/registry/q"):
                self.assertEqual(await store.get(key, revision), state.get(key))
        recorder = Recorder()
        (await store.subscribe(model.compacted, recorder.deliver)).stop()
        self.assertEqual(recorder.changes, [c for c in model.changes if c.revision > model.compacted])
