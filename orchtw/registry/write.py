"""Values of the write path: a write with its user and options, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from orchtw.registry.target import Target
from orchtw.request import Request, UserInfo
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.write_options import WriteOptions
from orchtw.storage.store import Guard, Op
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

PLAIN = WriteOptions()
"""Options of a write without any."""


class WriteView(Protocol):
    """View of an object through a sub-resource, which admission sees in its place: the Scale of a workload."""

    def show(self, obj: Object) -> Object:
        """Return the sub-resource of an object of the target's version."""

    def absorb(self, obj: Object, shown: Object) -> Object:
        """Return `obj` with the changes of its sub-resource `shown`. Raises Invalid (422) and BadRequest (400)."""


class AtHand(msgspec.Struct, eq=False):
    """Live object that a verb has loaded before its write: the first round takes it and loads none of its own."""

    entry: Entry | None = None
    obj: Object | None = None

    def take(self, live: Entry) -> Object | None:
        """Return the object of `live`, which from now on is the caller's own; None: it is not at hand."""
        if self.entry is not live:
            return None
        obj, self.obj, self.entry = self.obj, None, None
        return obj


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """Write of one object by a user, perhaps as a dry run.

    `from_live`: the wanted object is made from the live one, so that no kind asks for its resourceVersion. `shares`:
    its transform changes nothing of what it is given, and the result may share parts with that. `whole`: it does not
    even look at what it is given.
    `manager` is who comes to own the changed fields; without one ownership stays as it is. `applies`: the wanted
    object is the outcome of a server-side apply, which has settled ownership and may create. `size_bytes`: of what
    was sent, which says with the live object's size how long the write may take. Admission is shown `options`, and
    `view` in place of the object; its warnings go to `request`. `admitted`: admission has seen the request that this
    write is a part of, and does not see the write. `own`: an object of the server's, whose content the rules of its
    kind do not bind: it says how things are. `at_hand` may have the live object as a draft. `guard` gives what the
    store is to compare at the moment of the commit, and raises where the writer may not write any more. `unowned`:
    the object is stored without managed fields.
    """

    target: Target
    namespace: str
    name: str
    user: UserInfo
    subresource: str = ""
    dry_run: bool = False
    from_live: bool = False
    shares: bool = False
    whole: bool = False
    manager: str = ""
    applies: bool = False
    size_bytes: int = 0
    options: WriteOptions | DeleteOptions = PLAIN
    request: Request | None = None
    view: WriteView | None = None
    admitted: bool = False
    own: bool = False
    at_hand: AtHand = msgspec.field(default_factory=AtHand)
    guard: Callable[[], Guard] | None = None
    unowned: bool = False

    def step(self, text: str) -> None:
        """Note a step of the request that this write belongs to, if there is one."""
        if self.request is not None:
            self.request.step(text)


    def guarded(self, op: Op) -> Op:
        """Return `op` with the condition of `guard`. Raises what that raises."""
        return op if self.guard is None else msgspec.structs.replace(op, guard=self.guard())


class Written(msgspec.Struct, frozen=True):
    """Outcome of a write: the object's entry, and a flag for a new one."""

    entry: Entry
    created: bool = False


Transform = Callable[[Object | None], Object]
"""Makes the wanted object from the live one (None: there is none), both in the target's version."""
