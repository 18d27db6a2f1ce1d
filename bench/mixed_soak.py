"""Mixed soak: writes of every sort to Pods, ConfigMaps and custom objects, half of them like no other.

Memory must not grow: tables of known parts, field sets and repeated requests are bounded.
"""

from __future__ import annotations

import orjson

from bench.bodies import numbered
from bench.custom import GROUP, PLURAL
from bench.definitions import define
from bench.http1 import JSON
from bench.objects import APPLY, APPLY_QUERY
from bench.session import Bench
from bench.soak import DELETED_AFTER, UPDATED_AFTER, run_in_quarters
from bench.subjects import Subject
from bench.writes import MERGE, varied

_KINDS = ("pods", "configmaps", PLURAL)
_REQUESTS = ("create", "get", "label", "status", "apply", "list", "delete")


class _Mix:
    """The requests of a run, each known by its number alone: of seven that follow each other, one of each sort."""

    def __init__(self, bench: Bench, path: str) -> None:
        self._endpoint = bench.endpoint
        self._subjects = [bench.subject(plural) for plural in _KINDS]
        self._paths = [subject.within(path) for subject in self._subjects]
        self._unlike = [_unlike(subject) for subject in self._subjects]

    def make(self, worker: int, number: int) -> bytes:
        """Return the bytes of a request: a create, or what its place in its turn asks for."""
        turn, sort = divmod(number, len(_REQUESTS))
        name, old = _REQUESTS[sort], turn - UPDATED_AFTER
        if name == "create":
            return self._create(turn, "soak")
        if turn < DELETED_AFTER:
            return self._create(number, "fill")
        if name == "delete":
            old = turn - DELETED_AFTER
            return self._endpoint.request("DELETE", self._where(old))
        if name == "get":
            return self._endpoint.request("GET", self._where(old))
        if name == "list":
            path = self._paths[turn % len(_KINDS)]
            return self._endpoint.request("GET", f"{path}?limit=20&labelSelector=round!%3Dn{number}", JSON)
        return self._change(name, old, number)

    def lists(self, worker: int, number: int) -> bytes:
        """Return a list of everything of one kind."""
        return self._endpoint.request("GET", self._paths[number % len(_KINDS)], JSON)

    def _create(self, turn: int, prefix: str) -> bytes:
        body = self._body(turn, numbered(prefix, turn), turn)
        return self._endpoint.request("POST", self._paths[turn % len(_KINDS)], JSON, JSON, body)

    def _body(self, turn: int, name: str, sequence: int) -> bytes:
        """Return the object of a turn with a number in an annotation: every other one is like no other."""
        kind = turn % len(_KINDS)
        if turn // len(_KINDS) % 2 == 0:
            return self._subjects[kind].template.render(name, sequence, shard=turn)
        text = self._unlike[kind].replace(b"@NAME@", name.encode()).replace(b'"00000000-@N@"', b'"%08d"' % sequence)
        return text.replace(b"@N@", b"%06d" % turn)

    def _change(self, name: str, old: int, number: int) -> bytes:
        """Return a change of a label, of the status (of a ConfigMap's data), or an apply with another annotation."""
        kind, where = old % len(_KINDS), self._where(old)
        if name == "apply":
            body = self._body(old, numbered("soak", old), number)
            return self._endpoint.request("PATCH", f"{where}{APPLY_QUERY}&force=true", JSON, APPLY, body)
        if name == "label":
            body = b'{"metadata":{"labels":{"round":"n%d"}}}' % number
            return self._endpoint.request("PATCH", where, JSON, MERGE, body)
        if _KINDS[kind] == "configmaps":
            body = b'{"data":{"n%d":"%d"}}' % (number % 7, number)
            return self._endpoint.request("PATCH", where, JSON, MERGE, body)
        body = b'{"status":{"phase":"%b"}}' % (b"Running" if number // len(_REQUESTS) % 2 else b"Pending")
        return self._endpoint.request("PATCH", f"{where}/status", JSON, MERGE, body)

    def _where(self, turn: int) -> str:
        return f"{self._paths[turn % len(_KINDS)]}/{numbered('soak', turn)}"


def _unlike(subject: Subject) -> bytes:
    """Return a body whose free texts end with a mark."""
    return orjson.dumps(varied(orjson.loads(subject.template.render("@NAME@", 0))))


def mixed_soak(bench: Bench) -> None:
    """Send the requests; lines as those of `soak`."""
    define(bench.endpoint, bench.options.naming, PLURAL, GROUP)
    mix = _Mix(bench, bench.namespace())
    run_in_quarters(bench, "mixed_soak", mix.make, mix.lists, JSON)
