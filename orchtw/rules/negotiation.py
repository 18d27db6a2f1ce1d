"""Content negotiation: formats of request bodies and of responses (reference ENC-1, ENC-2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

import msgspec

from orchtw.errors import NotAcceptable, UnsupportedMediaType
from orchtw.naming.naming import Naming
from orchtw.schema.codec.body import Format

Transform = Literal["Table", "PartialObjectMetadata", "PartialObjectMetadataList", "APIGroupDiscoveryList"]
PatchType = Literal["json", "merge", "strategic", "apply"]

JSON: Final = "application/json"
YAML: Final = "application/yaml"

_PATCH_TYPES: Final[dict[str, PatchType]] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_TRANSFORMS: Final[dict[str, Transform]] = {
    "Table": "Table",
    "PartialObjectMetadata": "PartialObjectMetadata",
    "PartialObjectMetadataList": "PartialObjectMetadataList",
}
_DISCOVERY_GROUP: Final = "apidiscovery.orch.io"
_DISCOVERY_KIND: Final = "APIGroupDiscoveryList"
_NO_PEERS: Final = "nopeer"
_META_VERSIONS: Final = frozenset({"v1", "v1beta1"})
_PRETTY_AGENTS: Final = ("curl", "Wget", "Mozilla/5.0")
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_KEPT: Final = 256  # Accept values kept per Negotiator; clients send a dozen different ones
_LONGEST_KEPT: Final = 512  # characters of a cached Accept value


class Negotiated(msgspec.Struct, frozen=True, kw_only=True):
    """Negotiated form of a response.

    `transform` is the kind requested instead of the object itself, and `transform_version` its apiVersion, such as
    `meta.orch.io/v1`; `content_type` is the response header; `pretty` applies to JSON only.
    """

    format: Format
    content_type: str
    transform: Transform | None = None
    transform_version: str = ""
    pretty: bool = False


class _Clause(msgspec.Struct, frozen=True):
    media_type: str
    parameters: tuple[tuple[str, str], ...]


class Negotiator:
    """Content negotiation under one vocabulary, whose names errors use.

    The other vocabulary's names of Protobuf and of the meta group are accepted too, and the response then uses them
    (reference VOC-5). A bounded cache makes a repeated Accept value a dictionary lookup."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._formats: dict[str, Format] = {
            JSON: "json",
            YAML: "yaml",
            naming.protobuf_media_type: "protobuf",
            naming.counterpart.protobuf_media_type: "protobuf",
        }
        self._discovery_group = naming.group(_DISCOVERY_GROUP)
        self._meta_groups = frozenset((naming.meta_group, naming.counterpart.meta_group))
        self._kept = lru_cache(maxsize=_KEPT)(self._choose)

    def accept(
        self,
        header: str,
        *,
        watch: bool = False,
        protobuf: bool = True,
        transforms: bool = True,
        pretty: bool = False,
        discovery: tuple[str, ...] = (),
    ) -> Negotiated:
        """Negotiate the response for an Accept value, which may be empty. Raises NotAcceptable (406).

        The entry of highest quality that the endpoint can serve wins. `watch`: the response is a stream, which cannot
        be YAML. `protobuf` False: the kind has no Protobuf form (custom resources), but its metadata has.
        `transforms` False: no Table or partial metadata (discovery, reviews). `pretty`: the result of `wants_pretty`.
        `discovery`: the versions of aggregated discovery that the endpoint serves.
        """
        choose = self._kept if len(header) <= _LONGEST_KEPT else self._choose
        return choose(header, watch, protobuf, transforms, pretty, discovery)

    def discovery_version(self, version: str) -> str:
        """Return the apiVersion of aggregated discovery in a version."""
        return f"{self._discovery_group}/{version}"

    def status(self, header: str, *, pretty: bool = False) -> Negotiated:
        """Return the form of an error: as `header` requests, else JSON, and never transformed (reference ENC-7)."""
        try:
            asked = self.accept(header, pretty=pretty)
        except NotAcceptable:
            asked = Negotiated(format="json", content_type=JSON, pretty=pretty)
        return msgspec.structs.replace(asked, transform=None, transform_version="") if asked.transform else asked

    def served(self, *, watch: bool = False) -> tuple[str, ...]:
        """Return the media types that a 406 lists; for custom resources Protobuf serves only metadata."""
        return (f"{JSON};stream=watch", self._naming.protobuf_watch_media_type) if watch else self.read()

    def read(self, *, protobuf: bool = True) -> tuple[str, ...]:
        """Return the media types of request bodies that an endpoint accepts, as a 415 lists them."""
        return (JSON, YAML, self._naming.protobuf_media_type) if protobuf else (JSON, YAML)

    def body_format(self, content_type: str, *, protobuf: bool = True) -> Format:
        """Return the format of a request body; an empty type is JSON. Raises UnsupportedMediaType (415)."""
        if not content_type or content_type == JSON:
            return "json"
        found = self._formats.get(_media_type(content_type))
        if found is None or (found == "protobuf" and not protobuf):
            raise UnsupportedMediaType.of(self.read(protobuf=protobuf))
        return found

    def _choose(
        self,
        header: str,
        watch: bool,
        protobuf: bool,
        transforms: bool,
        pretty: bool,
        discovery: tuple[str, ...] = (),
    ) -> Negotiated:
        for clause in _clauses(header):
            for media_type, form in self._formats.items():
                if _covers(clause.media_type, media_type) and not (form == "yaml" and watch):
                    if discovery and "as" in dict(clause.parameters):
                        chosen = self._aggregated(clause, media_type, form, pretty, discovery)
                    else:
                        chosen = self._serve(clause, media_type, form, watch, transforms, pretty)
                    if chosen is not None and (protobuf or form != "protobuf" or chosen.transform):
                        return chosen
        raise NotAcceptable.of(self.served(watch=watch))

    def _serve(
        self, clause: _Clause, media_type: str, form: Format, watch: bool, transforms: bool, pretty: bool
    ) -> Negotiated | None:
        """Return the response for `clause` in `form`, or None if its parameters cannot be served in it."""
        parameters = dict(clause.parameters)
        stream = parameters.get("stream", "")
        if stream and (stream != "watch" or form == "yaml"):
            return None
        transform: Transform | None = None
        if any(key in parameters for key in ("as", "g", "v")):
            transform = self._transform(parameters, form) if transforms else None
            if transform is None:
                return None
        streamed = watch and form == "protobuf"
        return Negotiated(
            format=form,
            content_type=f"{media_type};stream=watch" if streamed else media_type,
            transform=transform,
            transform_version=f"{parameters['g']}/{parameters['v']}" if transform else "",
            pretty=form == "json" and (pretty or parameters.get("pretty") == "1"),
        )

    def _aggregated(
        self, clause: _Clause, media_type: str, form: Format, pretty: bool, versions: tuple[str, ...]
    ) -> Negotiated | None:
        """Return the form of aggregated discovery, whose parameters the Content-Type repeats; None for another kind.

        Only this vocabulary's group counts: clients compare the parameters with their own (reference DISC-13).
        """
        parameters = dict(clause.parameters)
        group, version, kind = (parameters.get(name) for name in ("g", "v", "as"))
        if group != self._discovery_group or version not in versions or kind != _DISCOVERY_KIND:
            return None
        if parameters.get("stream") or parameters.get("profile", _NO_PEERS) != _NO_PEERS:
            return None
        return Negotiated(
            format=form,
            content_type=f"{media_type};g={group};v={version};as={kind}",
            transform="APIGroupDiscoveryList",
            transform_version=f"{group}/{version}",
            pretty=form == "json" and (pretty or parameters.get("pretty") == "1"),
        )

    def _transform(self, parameters: Mapping[str, str], form: Format) -> Transform | None:
        if parameters.get("g") not in self._meta_groups or parameters.get("v") not in _META_VERSIONS:
            return None
        kind = _TRANSFORMS.get(parameters.get("as", ""))
        return None if kind == "Table" and form == "protobuf" else kind


def check_transform(negotiated: Negotiated, kind: str, *, is_list: bool) -> None:
    """Raise NotAcceptable (406) if PartialObjectMetadata is requested of a list, or its list kind of one object.

    `kind` is the untransformed response's (reference ERR-29).
    """
    if negotiated.transform == "PartialObjectMetadata" and is_list:
        raise NotAcceptable(f"you requested PartialObjectMetadata, but the requested object is a list ({kind})", {})
    if negotiated.transform == "PartialObjectMetadataList" and not is_list:
        raise NotAcceptable(
            f"you requested PartialObjectMetadataList, but the requested object is not a list ({kind})", {}
        )


def patch_type(content_type: str, *, strategic: bool = True) -> PatchType:
    """Return the patch type of a Content-Type; parameters are ignored.

    `strategic` False: the kind has no strategic merge patch (custom resources). Raises UnsupportedMediaType (415).
    """
    found = _PATCH_TYPES.get(_media_type(content_type))
    if found is None or (found == "strategic" and not strategic):
        read = [name for name, kind in _PATCH_TYPES.items() if strategic or kind != "strategic"]
        raise UnsupportedMediaType.of(read)
    return found


def wants_pretty(params: Mapping[str, list[str]], user_agent: str) -> bool:
    """Report whether to indent JSON: by query `pretty`, else for browsers, curl and Wget (reference REQ-20)."""
    values = params.get("pretty")
    if values and values[0]:
        return values[0] in _TRUE
    return user_agent.startswith(_PRETTY_AGENTS)


def _media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def _covers(pattern: str, media_type: str) -> bool:
    return pattern == media_type or pattern == "*/*" or (pattern == "application/*")


def _clauses(header: str) -> list[_Clause]:
    """Return the entries of an Accept value by descending quality, then wildcards last, then as given.

    Entries of quality 0 are left out.
    """
    if not header.strip():
        return [_Clause("*/*", ())]
    found: list[tuple[float, int, _Clause]] = []
    for entry in header.split(","):
        media_type, *rest = entry.split(";")
        if not media_type.strip():
            continue
        parameters = []
        quality = 1.0
        for parameter in rest:
            key, _, value = parameter.partition("=")
            key, value = key.strip().lower(), value.strip().strip('"')
            if key == "q":
                quality = _quality(value)
            else:
                parameters.append((key, value))
        name = media_type.strip().lower()
        if quality > 0:
            found.append((-quality, name.count("*"), _Clause(name, tuple(parameters))))
    found.sort(key=lambda item: item[:2])
    return [clause for _, _, clause in found]


def _quality(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if 0 <= value <= 1 else 1.0
