"""Random parts of requests: names, resources, objects, bodies, parameters and headers."""

from __future__ import annotations

import base64
from random import Random
from typing import Any
from urllib.parse import quote

from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.kind_codec import KindCodec
from tests.fuzz import encodings, words
from tests.fuzz.customs import Shapes
from tests.fuzz.surface import Surface
from tests.fuzz.values import Values, spoilt

_SELECTORS = (
    "app", "app=a", "app!=a", "app in (a,b)", "app notin (a)", "!app", "x/y>1", "x/y<9", "app in ()", "app=a,tier",
    ",", "=",
    "app in (", "app==a==b", "A B", "a" * 400, "app in (" + "a," * 400 + ")", "app>" + "9" * 30, "\u00fc=\u00fc", "",
)  # fmt: skip
_FIELDS = (
    "metadata.name=a", "metadata.namespace=fuzz-0", "metadata.name!=a", "spec.nodeName=n", "status.phase=Active",
    "type=x",
    "involvedObject.name=a", "metadata.name=a,metadata.name=b", "metadata.name", "=", "spec.x=1",
    "metadata.name=a\\,b", "",
    "reason=\\", "metadata.name==", "a" * 400 + "=b",
)  # fmt: skip
_TOKENS = (
    "x", "===", "\u00fc", "A" * 5000,
    *(
        base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()
        for text in (
            "{}", "[]", "null", '{"v":"meta.orch.io/v1","rv":1,"start":"fuzz-0/a\\u0000","sig":"x"}',
            '{"v":1,"rv":"1","start":[]}',
            '{"v":"meta.orch.io/v1","rv":-1,"start":"../a\\u0000"}', '{"v":"meta.orch.io/v1","rv":1e30,"start":"a"}',
            '{"v":"meta.orch.io/v1","rv":9223372036854775808,"start":"\u00fc","sig":"\u00fc"}', "[" * 500,
        )
    ),
)  # fmt: skip
_NUMBERS = (
    "1", "3", "0", "500", "-1", "x", "9" * 30, "9" * 5000, "1.5", "", "+2", "\u0663", str(2**63 - 1), str(-(2**63)),
)  # fmt: skip
_WORDS = ("m1", "m2", "m" * 128, "", "x", "true", "0", "\u00fc\x07", "m" * 200)
_DURATIONS = ("1s", "30s", "1ns", "x", "", "-1s", "9" * 30 + "h", "1h", "0")
_FLAGS = ("true", "false", "1", "0", "", "x", "True")
_CUSTOM = 0.25
"""Of the resources that are asked for."""
_GOOD = 3
"""The first values of a parameter are such that it may be given."""

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "limit": _NUMBERS,
    "continue": _TOKENS,
    "resourceVersion": words.VERSIONS,
    "resourceVersionMatch": ("Exact", "NotOlderThan", "NotOlderThan", "x", ""),
    "labelSelector": _SELECTORS,
    "fieldSelector": _FIELDS,
    "dryRun": ("All", "All", "", "x"),
    "fieldManager": _WORDS,
    "fieldValidation": ("Strict", "Warn", "Ignore", "", "x"),
    "force": _FLAGS,
    "pretty": _FLAGS,
    "timeout": _DURATIONS,
    "timeoutSeconds": _NUMBERS,
    "watch": _FLAGS,
    "allowWatchBookmarks": _FLAGS,
    "propagationPolicy": ("Foreground", "Background", "Orphan", "", "x"),
    "orphanDependents": _FLAGS,
    "gracePeriodSeconds": _NUMBERS,
    "includeObject": ("Metadata", "Object", "None", "x", ""),
    "unknown": _WORDS,
}
_OFTEN = {"dryRun": 0.1, "fieldManager": 0.15}
_ACCEPTS = (
    "application/json", "*/*", "", "application/yaml", "application/json;as=Table;v=v1;g=meta.orch.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    "application/json;as=Table;v=v1beta1;g=meta.orch.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.orch.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.orch.io,application/json", "text/html",
    "application/json;q=0",
    "application/vnd.orch.protobuf;as=PartialObjectMetadata;v=v1;g=meta.orch.io,*/*",
    "application/json;stream=watch", "x" * 600,
    "application/vnd.orch.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.orch.io,application/json",
    "application/*;q=0.1,;;,=",
    "application/json;as=Table;v=v9;g=x,application/json;pretty=1",
    "application/yaml;as=Table;v=v1;g=meta.orch.io,*/*;q=nan",
)  # fmt: skip
_HEADERS = (
    ("Impersonate-User", "bob"), ("Impersonate-Group", "g"), ("Impersonate-User", "system:serviceaccount:fuzz-0:a"),
    ("Impersonate-User", "\u00fc"),
    ("User-Agent", "fuzz/1 (x)"), ("User-Agent", ""), ("User-Agent", "\u00fc\u4e2d" * 100),
    ("Accept-Encoding", "gzip"),
    ("Accept-Encoding", "gzip;q=0, br"), ("Expect", "100-continue"), ("Connection", "keep-alive"),
    ("X-Remote-User", "root"),
    ("Cookie", "a=b"), ("Content-Encoding", "gzip"), ("If-None-Match", "*"), ("Authorization", ""),
    ("Authorization", "Bearer nobody"), ("Range", "bytes=0-1"), ("X-Long", "y" * 8000),
)  # fmt: skip
JSON, YAML = "application/json", "application/yaml"


class Draw:
    """The random choices of one request."""

    def __init__(self, surface: Surface, random: Random) -> None:
        self.surface = surface
        self.random = random
        self.values = Values(random, surface.translate)

    def chance(self, share: float) -> bool:
        """True in that share of all draws."""
        return self.random.random() < share

    def name(self) -> str:
        """A name of an object, seldom an impossible one."""
        return self.random.choice(words.BAD_NAMES if self.chance(0.03) else words.NAMES)

    def namespace(self) -> str:
        """A namespace that is there, seldom another one."""
        if self.chance(0.05):
            return self.random.choice((*words.BAD_NAMES, "default", "absent", *words.NAMES))
        return self.random.choice(words.NAMESPACES)

    def resource(self) -> ResourceType:
        """Any resource in any version; mostly one that is stored, often one with rules of its own."""
        if self.chance(_CUSTOM):
            return self.random.choice(self.surface.customs)
        draw = self.random.random()
        some = self.surface.special if draw < 0.5 else self.surface.stored if draw < 0.93 else self.surface.resources
        return self.random.choice(some)

    def collection(self, resource: ResourceType) -> str:
        """The path of a collection."""
        return self.surface.collection(resource, quote(self.namespace(), safe=""))

    def object_path(self, resource: ResourceType, name: str) -> str:
        """The path of an object."""
        return f"{self.collection(resource)}/{quote(name, safe='')}"

    def obj(self, resource: ResourceType, name: str) -> dict[str, Any]:
        """An object of the kind: the smallest one, with some fields of its schema, before it is spoilt."""
        obj = self.surface.minimal(resource)
        if self.chance(0.7):
            obj |= self._fields(resource)
        meta = obj.get("metadata")
        obj["metadata"] = self._metadata(resource, meta if isinstance(meta, dict) else {}, name)
        obj["kind"], obj["apiVersion"] = resource.kind, resource.api_version
        if self.chance(0.04):
            del obj[self.random.choice(list(obj))]
        return obj

    def _fields(self, resource: ResourceType) -> dict[str, Any]:
        """Some fields of the kind."""
        structure = self.surface.structures.get((resource.api_version, resource.kind))
        if structure is None:
            return self.values.struct(self.surface.codec(resource).schema)
        fields = Shapes(self.random, self.surface.naming.extension_prefix).value(structure)
        return fields if isinstance(fields, dict) else {}

    def _metadata(self, resource: ResourceType, meta: dict[str, Any], name: str) -> dict[str, Any]:
        if self.chance(0.9):
            some = [key for key in ("ownerReferences", "managedFields") if key in meta and self.chance(0.3)]
            meta = {key: meta[key] for key in some}
        meta["name"] = name
        if self.chance(0.04):
            meta["managedFields"] = self.values.managed_fields(resource.api_version)
        if self.chance(0.04):
            meta["ownerReferences"] = self.values.owners(self.surface.kinds)
        if self.chance(0.03):
            meta["generateName"] = meta.pop("name")
        if self.chance(0.3):
            meta["labels"] = self.values.labels()
        if self.chance(0.2):
            meta["annotations"] = self.values.annotations()
        if resource.kind == "HorizontalPodAutoscaler" and self.chance(0.4):
            name, node = self.random.choice(self.surface.annotated)
            kept = encodings.json_body(self.spoil(self.values.value(node)), self.random).decode(errors="replace")
            meta["annotations"] = {**meta.get("annotations", {}), name: kept}
        if self.chance(0.05):
            meta["finalizers"] = [self.random.choice((*words.MEANT, "example.com/hold")) for _ in range(2)]
        if self.chance(0.02):
            meta["resourceVersion"] = self.random.choice(words.VERSIONS)
        return meta

    def spoil(self, value: Any) -> Any:
        """`value`, with up to a few places changed, often with none."""
        for _ in range(self.random.choice((0, 0, 0, 0, 0, 1, 1, 2, 4))):
            value = spoilt(value, self.random)
        return value

    def body(self, value: Any, codec: Codec) -> tuple[str, bytes]:
        """Content type and bytes of a value in one of the three formats, sometimes broken or mislabelled."""
        draw = self.random.random()
        if draw < 0.55:
            found, body = JSON, encodings.json_body(value, self.random)
        elif draw < 0.65 or not codec.protobuf:
            found, body = YAML, encodings.yaml_body(value, self.random)
        else:
            assert isinstance(codec, KindCodec)
            found = self.surface.naming.protobuf_media_type
            body = encodings.protobuf_body(value, codec, self.random)
        if self.chance(0.08):
            body = encodings.broken(body, self.random)
        if self.chance(0.02):
            found = self.random.choice((JSON, YAML, "text/plain", "", "application/json; charset=x", "\u00fc"))
        return found, body

    def query(self, *likely: str) -> str:
        """A query with some parameters, of the `likely` ones and of all; with its question mark, or empty."""
        names = [name for name in likely if self.chance(_OFTEN.get(name, 0.2))]
        if self.chance(0.1):
            names += self.random.choices(tuple(_PARAMETERS), k=self.random.choice((1, 2, 5)))
        pairs = [(name, self._parameter(name)) for name in names]
        text = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
        if self.chance(0.01):
            text += self.random.choice(("&", "&&=", "%", "%zz", "&a", "&limit=1&limit=2", ";x=y", "&" * 300, "+%00"))
        return f"?{text}" if text else ""

    def _parameter(self, name: str) -> str:
        if name == "resourceVersion" and self.chance(0.003):
            return self.random.choice(words.FUTURE_VERSIONS)
        known = _PARAMETERS[name]
        return self.random.choice(known[:_GOOD] if self.chance(0.75) else known)

    def headers(self, *, odd: float = 0.13, **given: str) -> dict[str, str]:
        """Headers of a request: the given ones, an Accept (an `odd` one in that share), and seldom others."""
        out = {name.replace("_", "-"): value for name, value in given.items()}
        draw = self.random.random()
        if draw < 0.15:
            out["Accept"] = self.surface.naming.protobuf_media_type
        elif draw < 0.15 + odd:
            out["Accept"] = self.surface.translate(self.random.choice(_ACCEPTS))
        if self.chance(0.03):
            out["Accept-Encoding"] = "gzip"
        if self.chance(0.06):
            name, value = self.random.choice(_HEADERS)
            out[name] = value
        return out
