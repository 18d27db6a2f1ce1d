"""Dispatch of requests for resources to the verbs that serve them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping

from orchtw.errors import MethodNotAllowed, NotFound, StatusError
from orchtw.naming.naming import Naming
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.request import Request, RequestInfo, Response
from orchtw.responses.accept import Acceptance
from orchtw.rules.request_info import check_segments
from orchtw.verbs.call import VerbCall
from orchtw.verbs.equal_gets import Body, EqualCalls, EqualGets

Verb = Callable[[VerbCall], Awaitable[Response]]
AtOnce = Callable[[VerbCall], Body | None]
Endpoint = Callable[[Request], Awaitable[Response]]
Deprecated = Callable[[RequestInfo, str], None]
Virtual = Mapping[tuple[str, str, str], Mapping[str, Endpoint]]

PAGE_NOT_FOUND = b"404 page not found\n"
_NAMESPACES = "namespaces"  # the resource whose objects' names are namespaces too, for what is decided by those
_SUBRESOURCE_PARTS = 3  # resource, name, sub-resource: only proxies have paths below


class ResourceHandler:
    """Handler of resources; everything else goes to `endpoints`.

    `verbs` holds the verbs on whole objects and collections, `subresources` those on each sub-resource and `virtual`
    those on each resource (group, version, plural) that is never stored. `deprecated` is called for requests to
    deprecated versions. `at_once` says how verbs on whole objects answer equal calls at once.
    """

    def __init__(
        self,
        naming: Naming,
        targets: Targets,
        acceptance: Acceptance,
        verbs: Mapping[str, Verb],
        subresources: Mapping[str, Mapping[str, Verb]],
        endpoints: Endpoint,
        virtual: Virtual,
        deprecated: Deprecated,
        at_once: Mapping[str, AtOnce],
    ) -> None:
        self._naming = naming
        self._targets = targets
        self._acceptance = acceptance
        self._verbs = verbs
        self._subresources = subresources
        self._endpoints = endpoints
        self._virtual = virtual
        self._deprecated = deprecated
        self._at_once = at_once

    async def handle(self, request: Request) -> Response:
        """Answer the request. Raises NotFound (404) or MethodNotAllowed (405) if no verb can."""
        info = request.info
        assert info is not None
        if not info.is_resource:
            return await self._endpoints(request)
        if not info.exact:
            raise NotFound.generic()
        target = self._targets.find(info.group, info.version, info.resource)
        if target is None:
            return await self._without_target(request, info)
        if target.deprecation:
            self._warn(request, target, info)
        check_segments(info)
        _check_scope(target, info)
        verb = self._verb(request, target, info)
        return await verb(self._call(request, target, info))

    def plan(self, request: Request) -> EqualGets | None:
        """Return how to answer requests equal to one that has just been answered, as long as the target is served."""
        info = request.info
        at_once = None if info is None or info.subresource else self._at_once.get(info.verb)
        target = None if info is None else self._targets.find(info.group, info.version, info.resource)
        if at_once is None or info is None or target is None or info.resource == _NAMESPACES:
            return None
        body = at_once(self._call(request, target, info))
        find, path = self._targets.find, (info.group, info.version, info.resource)
        return None if body is None else EqualGets(stands=(lambda: find(*path) is target,), body=body)

    def calls(self, request: Request) -> EqualCalls | None:
        """Return how requests that differ from this one by name and body are handled, as long as the target is
        served; None if each has to be looked at.
        """
        info = request.info
        target = None if info is None else self._targets.find(info.group, info.version, info.resource)
        if info is None or target is None or target.deprecation or request.passed_on or info.resource == _NAMESPACES:
            return None
        try:
            check_segments(info)
            _check_scope(target, info)
            verb, accept = self._verb(request, target, info), self._call(request, target, info).accept
        except StatusError:
            return None

        async def run(request: Request) -> Response:
            info, user = request.info, request.user
            assert info is not None and user is not None
            return await verb(VerbCall(request=request, info=info, user=user, target=target, accept=accept))

        find, path = self._targets.find, (info.group, info.version, info.resource)
        return EqualCalls(stands=(lambda: find(*path) is target,), run=run)

    def _call(self, request: Request, target: Target, info: RequestInfo) -> VerbCall:
        """Return the request with its target and the form of its answer. Raises NotAcceptable (406)."""
        assert request.user is not None
        if request.passed_on:
            accept = self._acceptance.any(request)
        else:
            accept = self._acceptance.of(request, info, protobuf=target.codec.protobuf)
        return VerbCall(request=request, info=info, user=request.user, target=target, accept=accept)

    def _warn(self, request: Request, target: Target, info: RequestInfo) -> None:
        """Send the three signals of reference VER-8: the client's warning, the audit event's annotations, the
        metric.
        """
        request.warnings.append(target.deprecation)
        request.annotations |= self._annotations(target)
        self._deprecated(info, target.resource.removed or "")

    def _annotations(self, target: Target) -> dict[str, str]:
        annotations = {self._naming.deprecated_annotation: "true"}
        if target.resource.removed:
            annotations[self._naming.removed_release_annotation] = target.resource.removed
        return annotations

    def _verb(self, request: Request, target: Target, info: RequestInfo) -> Verb:
        """Return the function of a verb; HEAD is only for proxies (reference REQ-14)."""
        if info.subresource:
            declared = next((sub for sub in target.resource.subresources if sub.name == info.subresource), None)
            if declared is None or (len(info.parts) > _SUBRESOURCE_PARTS and declared.name != "proxy"):
                raise NotFound.generic()
            verb = self._subresources.get(info.subresource, {}).get(info.verb)
            allowed = declared.verbs
        else:
            verb = self._verbs.get(info.verb)
            allowed = target.resource.verbs
        if verb is None or not _applies(request, info, allowed):
            raise MethodNotAllowed
        return verb

    async def _without_target(self, request: Request, info: RequestInfo) -> Response:
        virtual = self._virtual.get((info.group, info.version, info.resource))
        if virtual is not None and not info.subresource:
            endpoint = virtual.get(info.verb)
            if endpoint is None or request.method == "HEAD" or (info.verb == "create" and len(info.parts) > 1):
                raise MethodNotAllowed
            return await endpoint(request)
        if foreign := self._naming.foreign(info.group):
            raise NotFound.generic(foreign)
        if (info.group, info.version) not in self._targets.versions:
            return Response(code=404, content_type="text/plain; charset=utf-8", body=PAGE_NOT_FOUND)
        raise NotFound.generic()


def _applies(request: Request, info: RequestInfo, allowed: Collection[str]) -> bool:
    """Report whether the method is allowed: proxies take HEAD and OPTIONS too, `/watch/` paths GET only."""
    if request.method in ("HEAD", "OPTIONS"):
        return info.subresource == "proxy"
    return info.verb in allowed and (info.verb != "watch" or request.method == "GET")


def _check_scope(target: Target, info: RequestInfo) -> None:
    """Check the scope: refuse namespaces on cluster resources, and single objects or creates without one.

    `/namespaces/x` itself carries its own name as namespace. A collection of a namespaced resource may be read across
    namespaces, not written (reference REQ-7).
    """
    resource = target.resource
    on_collection = len(info.parts) == 1
    if resource.namespaced and not info.namespace:
        if not on_collection:
            raise NotFound.generic()
        if info.verb not in ("list", "watch"):
            raise MethodNotAllowed
    elif not resource.namespaced and info.namespace and (resource.plural, resource.group) != ("namespaces", ""):
        raise NotFound.generic()
    if on_collection and info.verb in ("update", "patch"):
        raise MethodNotAllowed
    if not on_collection and info.verb == "create" and not info.subresource:
        raise MethodNotAllowed
