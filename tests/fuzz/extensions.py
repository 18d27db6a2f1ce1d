"""Requests about definitions and APIServices: made, changed and deleted under those who use what they define."""

from __future__ import annotations

import copy
from typing import Any

from orchtw.schema.catalogue import ResourceType
from tests.fuzz import customs, encodings, words
from tests.fuzz.case import Case
from tests.fuzz.customs import Shapes
from tests.fuzz.draw import Draw

_PATCHES = ("merge-patch+json", "merge-patch+json", "json-patch+json", "apply-patch+yaml")
_CONVERSIONS: tuple[Any, ...] = (
    {"strategy": "None"}, {"strategy": "Webhook"}, {"strategy": "x"}, None,
    *(
        {"strategy": "Webhook", "webhook": {"conversionReviewVersions": versions, "clientConfig": config}}
        for versions, config in (
            (["v1"], {"url": "https://127.0.0.1:1/x"}), (["v1", "v1beta1"], {"url": "https://absent.invalid/"}),
            (["v2"], {"url": "http://a"}), (["v1"], {"url": "https://u:p@h/?q#f"}), (["v1"], {"caBundle": "eA=="}),
            (["v1"], {"service": {"namespace": "fuzz-0", "name": "absent", "port": 0}}),
            (["v1"], {"service": {"namespace": "fuzz-0", "name": "out"}, "caBundle": "x"}), ([], {}),
        )
    ),
)  # fmt: skip
_APIS = (
    ("v1", "far.example.com"), ("v1alpha1", "far.example.com"), ("v1", customs.GROUP), ("v1", "batch"), ("v2",
    "policy"),
    ("v1", ""), ("V1", "far.example.com"), ("v9", "\u00fc"), ("v1", "x" * 300),
)  # fmt: skip
_SERVICES: tuple[Any, ...] = (
    {"namespace": "fuzz-0", "name": "absent"}, {"namespace": "fuzz-0", "name": "out"}, {"namespace": "fuzz-1",
    "name": "out"},
    {"namespace": "fuzz-0", "name": "a", "port": 1}, {"namespace": "fuzz-0", "name": "out", "port": 65536}, {}, None,
    {"namespace": "../x", "name": "a b"},
)  # fmt: skip
_HOSTS = ("127.0.0.1", "localhost", "absent.invalid", "169.254.169.254", "0.0.0.0", "a..b", "x" * 260, "[::1]")


def define(draw: Draw, resource: ResourceType) -> Case:
    """POST, PUT or apply of a definition that is good, changed in a version, or spoilt anywhere."""
    obj = copy.deepcopy(draw.random.choice(draw.surface.definitions))
    shapes = Shapes(draw.random, draw.surface.naming.extension_prefix)
    if obj["spec"]["group"] != customs.STEADY_GROUP:
        if draw.chance(0.5):
            shapes.spoil_version(draw.random.choice(obj["spec"]["versions"]))
        if draw.chance(0.1):
            obj["spec"]["conversion"] = copy.deepcopy(draw.random.choice(_CONVERSIONS))
        if draw.chance(0.25):
            obj["spec"] = draw.spoil(obj["spec"])
            obj = draw.spoil(obj)
    path, name = draw.collection(_definitions(draw)), _name(obj)
    method = draw.random.choice(("POST", "POST", "POST", "PUT", "PATCH"))
    if method == "PATCH":
        body = encodings.json_body(obj, draw.random)
        headers = draw.headers(Content_Type="application/apply-patch+yaml")
        return Case("PATCH", f"{path}/{name}?fieldManager=m0&force=true", headers, body)
    content_type, body = draw.body(obj, draw.surface.codec(_definitions(draw)))
    target = path if method == "POST" else f"{path}/{name}"
    return Case(
        method, target + draw.query("dryRun", "fieldValidation"), draw.headers(Content_Type=content_type), body
    )


def redefine(draw: Draw, resource: ResourceType) -> Case:
    """A patch of a definition, or of its status."""
    obj = copy.deepcopy(_changing(draw))
    shapes = Shapes(draw.random, draw.surface.naming.extension_prefix)
    path = f"{draw.collection(_definitions(draw))}/{_name(obj)}"
    kind = draw.random.choice(_PATCHES)
    spec = obj["spec"]
    value: Any
    if draw.chance(0.05):
        path += "/status"
        value = {"status": draw.spoil({"acceptedNames": spec["names"], "storedVersions": ["v1", "v2"]})}
    elif kind.startswith("json"):
        place = draw.random.choice(
            ("versions/0/schema/openAPIV3Schema/properties/spec", "versions/0/schema", "versions/-")
        )
        value = [{"op": "add", "path": f"/spec/{place}", "value": shapes.schema()}]
    else:
        for _ in range(draw.random.choice((0, 1, 1, 2))):
            shapes.spoil_version(draw.random.choice(spec["versions"]))
        value = {"spec": {"versions": spec["versions"]}}
        if draw.chance(0.1):
            value["spec"]["conversion"] = copy.deepcopy(draw.random.choice(_CONVERSIONS))
        if draw.chance(0.1):
            value["spec"]["names"] = draw.spoil({**spec["names"], "shortNames": ["po", "g"], "categories": ["all"]})
        if draw.chance(0.1):
            value["metadata"] = {"annotations": draw.values.annotations(), "finalizers": []}
    if kind.startswith("apply"):
        value = {**obj, **value} if isinstance(value, dict) else obj
        path += "?fieldManager=m1&force=true"
    body = encodings.json_body(draw.spoil(value), draw.random)
    return Case("PATCH", path, draw.headers(Content_Type=f"application/{kind}"), body)


def undefine(draw: Draw, resource: ResourceType) -> Case:
    """DELETE of a definition."""
    path = f"{draw.collection(_definitions(draw))}/{_name(draw.random.choice(draw.surface.definitions))}"
    return Case("DELETE", path + draw.query("propagationPolicy", "dryRun", "gracePeriodSeconds"), draw.headers())


def api_service(draw: Draw, resource: ResourceType) -> Case:
    """An APIService that leads nowhere, the Service that it leads to, or a request for what it serves."""
    found = draw.surface.catalogue.find(draw.surface.naming.group("apiregistration.orch.io"), "v1", "apiservices")
    assert found is not None
    version, group = draw.random.choice(_APIS[: draw.random.choice((3, 3, 3, len(_APIS)))])
    chosen = draw.random.random()
    if chosen < 0.35:
        return _asked(draw, f"/apis/{group}/{version}")
    if chosen < 0.45:
        return _outside(draw)
    path = draw.collection(found)
    if chosen < 0.6:
        return Case("DELETE", f"{path}/{version}.{group}", draw.headers())
    spec = {
        "group": group, "version": version, "service": copy.deepcopy(draw.random.choice(_SERVICES)),
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": draw.random.choice((1, 100, 20_000, 0)), "versionPriority": draw.random.choice((1,
        15, 0)),
    }  # fmt: skip
    if draw.chance(0.2):
        spec["caBundle"] = draw.random.choice(("eA==", "x", ""))
    obj = {"kind": found.kind, "apiVersion": found.api_version, "metadata": {"name": f"{version}.{group}"}}
    content_type, body = draw.body(draw.spoil({**obj, "spec": spec}), draw.surface.codec(found))
    if chosen < 0.8:
        return Case("POST", path, draw.headers(Content_Type=content_type), body)
    body = encodings.json_body(draw.spoil({"spec": spec}), draw.random)
    headers = draw.headers(Content_Type="application/merge-patch+json")
    return Case("PATCH", f"{path}/{version}.{group}" + ("/status" if draw.chance(0.1) else ""), headers, body)


def _asked(draw: Draw, root: str) -> Case:
    rests = (
        "",
        "/",
        "/namespaces/fuzz-0/x",
        "/x/a/status",
        "//x",
        "/../v1",
        "/%2e%2e/v1",
        "/x%2fy",
        "/x?watch=1&timeoutSeconds=1",
    )
    method = draw.random.choice(("GET", "GET", "POST", "DELETE", "PATCH"))
    body = b'{"a":1}' if method in ("POST", "PATCH") else b""
    headers = draw.headers(Content_Type="application/json") if body else draw.headers()
    return Case(method, root + draw.random.choice(rests[:-1] if method != "GET" else rests), headers, body)


def _outside(draw: Draw) -> Case:
    """A Service that leads out."""
    spec = {"type": "ExternalName", "externalName": draw.random.choice(_HOSTS)}
    body = encodings.json_body({"metadata": {"name": "out"}, "spec": spec}, draw.random)
    path = f"/api/v1/namespaces/{draw.random.choice(words.NAMESPACES)}/services"
    if draw.chance(0.5):
        return Case("POST", path, draw.headers(Content_Type="application/json"), body)
    return Case("PATCH", f"{path}/out", draw.headers(Content_Type="application/merge-patch+json"), body)


def _definitions(draw: Draw) -> ResourceType:
    group = draw.surface.naming.group("apiextensions.orch.io")
    found = draw.surface.catalogue.find(group, "v1", "customresourcedefinitions")
    assert found is not None
    return found


def _changing(draw: Draw) -> dict[str, Any]:
    some = [each for each in draw.surface.definitions if each["spec"]["group"] != customs.STEADY_GROUP]
    return draw.random.choice(some)


def _name(obj: Any) -> str:
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) and name.isascii() and name.isprintable() and " " not in name else "x"
