"""Gateways: classes, listeners, routes to services, and leave to refer to other namespaces.

The group is one of the API's own, so that the definitions carry an approval (reference CRD-1).
"""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.definitions.build import (
    AGE,
    DNS_LABEL,
    HOST,
    KIND,
    Schema,
    big,
    choice,
    column,
    definition,
    keyed,
    listed,
    mapped,
    part,
    ready_column,
    set_of,
    text,
    version,
    whole,
)
from tests.definitions.workloads import conditions, label_selector

GROUP = "gateway.networking.orch.io"
APPROVAL = "https://example.com/approved/1538"
_GROUP_PATTERN = r"^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_PENDING = [{
    "type": "Accepted", "status": "Unknown", "reason": "Pending", "message": "Waiting for controller",
    "lastTransitionTime": "1970-01-01T00:00:00Z",
}]  # fmt: skip


def definitions() -> list[Object]:
    """Five kinds, eleven versions; classes have no namespace."""
    addresses = [
        column("Class", ".spec.gatewayClassName"), column("Address", ".status.addresses[*].value"),
        ready_column("Programmed"), AGE,
    ]  # fmt: skip
    classes = [
        column("Controller", ".spec.controllerName"), ready_column("Accepted"), AGE,
        column("Description", ".spec.description", priority=1),
    ]  # fmt: skip
    hosts = [column("Hostnames", ".spec.hostnames"), AGE]
    found = [
        definition(
            GROUP, "GatewayClass", [
                version("v1alpha2", _class(), _class_status(), deprecated=True, additionalPrinterColumns=classes,
                        deprecationWarning="The v1alpha2 version of GatewayClass is deprecated; use v1beta1."),
                version("v1beta1", _class(), _class_status(), additionalPrinterColumns=classes,
                        description="The class of the gateway."),
            ],
            plural="gatewayclasses", short="gc", category="gateway-api", cluster=True,
        ),
        definition(
            GROUP, "Gateway", [
                version("v1alpha2", _gateway(), _gateway_status(), deprecated=True),
                version("v1beta1", _gateway(), _gateway_status(), additionalPrinterColumns=addresses),
            ],
            short="gtw", category="gateway-api",
        ),
        definition(
            GROUP, "HTTPRoute", [
                version("v1alpha2", _http_route(), _route_status(), deprecated=True, additionalPrinterColumns=hosts),
                version("v1beta1", _http_route(), _route_status(), additionalPrinterColumns=hosts),
                version("v1", _http_route(), _route_status(), additionalPrinterColumns=hosts),
            ],
            category="gateway-api",
        ),
        definition(
            GROUP, "TCPRoute", [
                version("v1alpha2", _plain_route(), _route_status()),
                version("v1alpha3", _plain_route(), _route_status()),
            ],
            category="gateway-api",
        ),
        definition(
            GROUP, "ReferenceGrant", [version("v1alpha2", _grant(), deprecated=True), version("v1beta1", _grant())],
            short="refgrant", category="gateway-api",
        ),
    ]  # fmt: skip
    for each in found:
        each["metadata"]["annotations"] = {"api-approved.orch.io": APPROVAL}
    return found


def objects() -> list[Object]:
    """Return an object of each kind of the gateway API."""
    listener = {
        "name": "https", "port": 443, "protocol": "HTTPS", "hostname": "*.example.com",
        "tls": {"certificateRefs": [{"name": "web-tls"}]},
    }  # fmt: skip
    weighted = [{"name": "web", "port": 80, "weight": 9}, {"name": "new", "port": 80}]
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": "/shop"}, "method": "GET"}], "backendRefs": weighted,
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["x-old"]}}],
    }  # fmt: skip
    parents = [{"name": "sample", "sectionName": "https"}]
    grant = {"from": [{"group": "", "kind": "Service", "namespace": "web"}], "to": [{"group": "", "kind": "Secret"}]}
    return [
        _obj("v1beta1", "GatewayClass", {"controllerName": "example.com/gateways"}),
        _obj("v1beta1", "Gateway", {"gatewayClassName": "sample", "listeners": [listener]}),
        _obj("v1", "HTTPRoute", {"parentRefs": parents, "hostnames": ["shop.example.com"], "rules": [rule]}),
        _obj("v1alpha3", "TCPRoute", {"parentRefs": parents, "rules": [{"backendRefs": weighted}]}),
        _obj("v1beta1", "ReferenceGrant", grant),
    ]


def _obj(name: str, kind: str, spec: Object) -> Object:
    return {"apiVersion": f"{GROUP}/{name}", "kind": kind, "metadata": {"name": "sample"}, "spec": spec}


def _reference(group: str = "", kind: str = "", **more: Schema) -> Schema:
    default = {"default": kind} if kind else {}
    return part(
        "name", group=text(maxLength=253, pattern=_GROUP_PATTERN, default=group),
        kind=text(minLength=1, maxLength=63, pattern=KIND, **default), name=text(minLength=1, maxLength=253),
        namespace=text(minLength=1, maxLength=63, pattern=DNS_LABEL), **more,
    )  # fmt: skip


def _class() -> Schema:
    path = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$"
    return part(
        "controllerName", controllerName=text(minLength=1, maxLength=253, pattern=path),
        description=text(maxLength=64), parametersRef=_reference(),
    )  # fmt: skip


def _class_status() -> Schema:
    waiting = {"maxItems": 8, "default": _PENDING}
    return part(conditions={**conditions(), **waiting}, more={"default": {"conditions": _PENDING}})


def _gateway() -> Schema:
    certificates = listed(_reference(kind="Secret"), maxItems=64)
    tls = part(
        mode=choice("Terminate", "Passthrough", default="Terminate"), certificateRefs=certificates,
        options=mapped(text(minLength=0, maxLength=4096), maxProperties=16),
    )  # fmt: skip
    kinds = listed(
        part("kind", group=text(pattern=_GROUP_PATTERN, default=GROUP), kind=text(pattern=KIND)), maxItems=8
    )
    places = part(
        selector=label_selector(), more={"default": {"from": "Same"}},
        **{"from": choice("All", "Selector", "Same", default="Same")},
    )  # fmt: skip
    listener = part(
        "name", "port", "protocol", name=text(minLength=1, maxLength=253, pattern=HOST),
        hostname=text(minLength=1, maxLength=253, pattern=HOST), port=whole(1, 65535),
        protocol=text(minLength=1, maxLength=255), tls=tls,
        allowedRoutes=part(namespaces=places, kinds=kinds, more={"default": {"namespaces": {"from": "Same"}}}),
    )  # fmt: skip
    address = part("value", type=text(default="IPAddress"), value=text(minLength=1, maxLength=253))
    formats = [
        {
            "properties": {
                "type": {"enum": ["IPAddress"]},
                "value": {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
            }
        },
        {"properties": {"type": {"not": {"enum": ["IPAddress"]}}}},
    ]
    return part(
        "gatewayClassName", "listeners", gatewayClassName=text(minLength=1, maxLength=253),
        listeners=keyed(listener, "name", minItems=1, maxItems=64),
        addresses=listed({**address, "oneOf": formats}, maxItems=16),
    )  # fmt: skip


def _gateway_status() -> Schema:
    kind = part("kind", group=text(default=GROUP), kind=text())
    listener = part(
        "attachedRoutes", "conditions", "name", "supportedKinds", attachedRoutes=whole(), name=text(),
        supportedKinds=listed(kind, maxItems=8), conditions={**conditions(), "maxItems": 8},
    )  # fmt: skip
    return part(
        addresses=listed(part("value", type=text(default="IPAddress"), value=text()), maxItems=16),
        conditions={**conditions(), "maxItems": 8, "default": _PENDING},
        listeners=keyed(listener, "name", maxItems=64),
    )  # fmt: skip


def _parents() -> Schema:
    return listed(_reference(GROUP, "Gateway", port=whole(1, 65535), sectionName=text(maxLength=253)), maxItems=32)


def _backend(**more: Schema) -> Schema:
    return _reference("", "Service", port=whole(1, 65535), weight=whole(0, 1000000, default=1), **more)


def _filters() -> Schema:
    header = part("name", "value", name=text(minLength=1, maxLength=256), value=text(minLength=1, maxLength=4096))
    pairs = keyed(header, "name", maxItems=16)
    change = part(add=pairs, set=pairs, remove=set_of(text(), maxItems=16))
    kinds = ("RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "RequestRedirect", "URLRewrite")
    path = part(
        "type", type=choice("ReplaceFullPath", "ReplacePrefixMatch"), replaceFullPath=text(maxLength=1024),
        replacePrefixMatch=text(maxLength=1024),
    )  # fmt: skip
    redirect = part(
        scheme=choice("http", "https"), hostname=text(pattern=HOST), path=path, port=whole(1, 65535),
        statusCode={"type": "integer", "enum": [301, 302], "default": 302},
    )  # fmt: skip
    return listed(
        part(
            "type", type=choice(*kinds, "ExtensionRef"), requestHeaderModifier=change, responseHeaderModifier=change,
            requestMirror=part("backendRef", backendRef=_reference("", "Service", port=whole(1, 65535))),
            requestRedirect=redirect, urlRewrite=part(hostname=text(pattern=HOST), path=path),
            extensionRef=part("group", "kind", "name", group=text(), kind=text(), name=text()),
        ),
        maxItems=16,
    )  # fmt: skip


def _http_route() -> Schema:
    exact = choice("Exact", "RegularExpression", default="Exact")
    pair = part("name", "value", type=exact, name=text(minLength=1, maxLength=256), value=text(maxLength=4096))
    match = part(
        path=part(
            type=choice("Exact", "PathPrefix", "RegularExpression", default="PathPrefix"),
            value=text(maxLength=1024, default="/"), more={"default": {"type": "PathPrefix", "value": "/"}},
        ),
        headers=keyed(pair, "name", maxItems=16), queryParams=keyed(pair, "name", maxItems=16),
        method=choice("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"),
    )  # fmt: skip
    everything = [{"path": {"type": "PathPrefix", "value": "/"}}]
    rule = part(
        matches=listed(match, maxItems=8, default=everything), filters=_filters(),
        backendRefs=listed(_backend(filters=_filters()), maxItems=16),
    )  # fmt: skip
    return part(
        parentRefs=_parents(), hostnames=listed(text(minLength=1, maxLength=253, pattern=HOST), maxItems=16),
        rules=listed(rule, maxItems=16, default=[{"matches": everything}]),
    )  # fmt: skip


def _plain_route() -> Schema:
    rule = part(name=text(), backendRefs=listed(_backend(), minItems=1, maxItems=16))
    return part("rules", parentRefs=_parents(), rules=listed(rule, minItems=1, maxItems=16))


def _route_status() -> Schema:
    parent = part(
        "controllerName", "parentRef", parentRef=_parents()["items"], controllerName=text(minLength=1, maxLength=253),
        conditions={**conditions(), "minItems": 1, "maxItems": 8}, observedGeneration=big(),
    )  # fmt: skip
    return part("parents", parents=listed(parent, maxItems=32))


def _grant() -> Schema:
    origin = part("group", "kind", "namespace", group=text(), kind=text(), namespace=text())
    target = part("group", "kind", group=text(), kind=text(), name=text(minLength=1), **{"as": text()})
    return part("from", "to", to=listed(target, minItems=1, maxItems=16), **{"from": listed(origin, minItems=1)})
