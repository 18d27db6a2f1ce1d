"""POST on serviceaccounts/token: a token for an account (reference AUTHN-28, AUTHN-29, AUTHN-30)."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from orchtw.authn.service_accounts.issuer import AccountTokens, credential_id
from orchtw.authn.service_accounts.lifetime import token_lifetime
from orchtw.errors import BadRequest, Cause, Conflict, Invalid, NotFound
from orchtw.registry.targets import Targets
from orchtw.request import Response
from orchtw.rules.write_options import create_options
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.values.causes import invalid
from orchtw.values.times import rfc3339
from orchtw.values.uuids import new_uuid
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_in, find_most_recent
from orchtw.verbs.request_bodies import read
from orchtw.wire.objects import Object
from orchtw.writes.identity import check_namespace

MIN_S: Final = 600
MAX_S: Final = 1 << 32
_BOUND: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class TokenRequests:
    """Handler of requests for tokens. Nothing is stored."""

    def __init__(self, context: Writing, targets: Targets, tokens: AccountTokens) -> None:
        self._context = context
        self._tokens = tokens
        self._bound = {kind: targets.stored_target("", "v1", plural) for kind, plural in _BOUND.items()}

    async def create(self, call: VerbCall) -> Response:
        """Create a token: 201 and the request with it.

        Raises NotFound (404), Invalid (422, the time), BadRequest (400, an object that it cannot be bound to),
        Conflict (409, another uid).
        """
        context = self._context
        codec = context.kinds.token_request
        options = create_options(call.request.params, context.naming)
        request = await read(context.offload, call.request, codec, context.negotiator)
        check_namespace(request, call.info.namespace)
        account = call.target.load(await find_most_recent(call))
        now = int(time.time())
        settle = partial(self._settle, call, account, now)
        request = await context.writes.permit(call.submission("CREATE", request, options), codec, settle)
        bound = await self._find_bound(request, call)
        node = await self._node_of(bound)
        self._cap(request, call)
        token_id = self._new_id(call)
        size = codec.work_bytes(len(call.request.body))
        issue = partial(self._answer, codec, request, account, bound, now, node, token_id)
        answer = await context.offload.run(size, issue)
        return context.representations.obj(answer, context.representations.untransformed(call.accept), 201)

    def _new_id(self, call: VerbCall) -> str:
        """Return the id of the new token, which the audit event names, or "" (reference AUTHN-61)."""
        if not self._tokens.credential_ids:
            return ""
        token_id = new_uuid()
        call.request.annotations[self._context.naming.issued_credential_annotation] = credential_id(token_id)
        return token_id

    async def _node_of(self, bound: Object | None) -> Object | None:
        """Return name and uid of a pod's node; the name alone if there is no such node."""
        name = "" if bound is None or bound["kind"] != "Pod" else bound["spec"].get("nodeName", "")
        if not name or not self._tokens.node_info:
            return None
        try:
            node = await find_in(self._bound["Node"], "", name)
        except NotFound:
            return {"name": name}
        return {"name": name, "uid": node["metadata"]["uid"]}

    def _answer(
        self,
        codec: KindCodec,
        request: Object,
        account: Object,
        bound: Object | None,
        now: int,
        node: Object | None,
        token_id: str,
    ) -> Object:
        """Return the request with its token."""
        spec = request["spec"]
        audiences, seconds = spec["audiences"], spec["expirationSeconds"]
        is_pod = bound is not None and bound["kind"] == "Pod"
        lifetime = token_lifetime(self._tokens, seconds, audiences, pod_bound=is_pod)
        token = self._tokens.bound(account, audiences, now, lifetime, bound, node=node, token_id=token_id)
        status = {"token": token, "expirationTimestamp": rfc3339(now + seconds)}
        return codec.normalise({**request, "status": status})

    def _settle(self, call: VerbCall, account: Object, now: int, request: Object) -> None:
        """Complete a request, and refuse one that is another account's or asks for a time that is not given."""
        kind, group = self._context.kinds.token_request.kind, self._context.naming.authentication_group
        _check_names(request, call, kind, group)
        self._complete(request, account, now)
        _refuse(request, kind, group)

    def _complete(self, request: Object, account: Object, now: int) -> None:
        """Fill in what the request leaves open."""
        if not request["spec"].get("audiences"):
            request["spec"]["audiences"] = list(self._tokens.audiences)
        meta = account["metadata"]
        named = {"name": meta["name"], "namespace": meta["namespace"], "creationTimestamp": rfc3339(now)}
        request["metadata"] = {**request["metadata"], **named}
        request["status"] = {"token": "", "expirationTimestamp": None}

    async def _find_bound(self, request: Object, call: VerbCall) -> Object | None:
        reference = request["spec"].get("boundObjectRef")
        if reference is None:
            return None
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        kind, name, uid = reference.get("kind", ""), reference.get("name", ""), reference.get("uid", "")
        target = None if kind == "Node" and not self._tokens.binds_nodes else self._bound.get(kind)
        if group or target is None:
            raise BadRequest(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        found = await find_in(target, call.info.namespace, name)
        account = call.info.name
        if kind == "Pod" and found["spec"].get("serviceAccountName", "") != account:
            why = "to pod running with different serviceaccount name."
            raise BadRequest(f'cannot bind token for serviceaccount "{account}" {why}')
        if uid and uid != found["metadata"]["uid"]:
            raise Conflict.of(
                kind,
                "",
                name,
                f"the UID in the bound object reference ({uid}) does not match the UID in record. The object might "
                "have been deleted and then recreated",
            )
        return {**found, "kind": kind}

    def _cap(self, request: Object, call: VerbCall) -> None:
        """Cut the time to the longest that is allowed, with a warning."""
        asked, longest = request["spec"]["expirationSeconds"], self._tokens.max_s
        if longest and asked > longest:
            call.request.warnings.append(f"requested expiration of {asked} seconds shortened to {longest} seconds")
            request["spec"]["expirationSeconds"] = longest


def _check_names(request: Object, call: VerbCall, kind: str, group: str) -> None:
    """Raise Invalid (422) for another name or namespace than the path's; both may be left out."""
    for key, wanted in (("name", call.info.name), ("namespace", call.info.namespace)):
        if (found := request["metadata"].get(key)) and found != wanted:
            text = f"must match the service account {key} if specified"
            raise Invalid.of(kind, group, call.info.name, [invalid(f"metadata.{key}", found, text)])


def _refuse(request: Object, kind: str, group: str) -> None:
    """Raise Invalid (422), which names no object, for a time that is too short or too long."""
    asked, field = request["spec"].get("expirationSeconds", 0), "spec.expirationSeconds"
    causes: list[Cause] = []
    if asked < MIN_S:
        causes.append(invalid(field, asked, "may not specify a duration less than 10 minutes"))
    if asked > MAX_S:
        causes.append(invalid(field, asked, "may not specify a duration larger than 2^32 seconds"))
    if causes:
        raise Invalid.of(kind, group, "", causes)
