"""Plugin ImagePolicyWebhook (reference PLUG-50, PLUG-51)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from hashlib import sha256
from typing import Final
from weakref import WeakKeyDictionary

import orjson
from twisted.logger import Logger

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.image_policy.backend import ANSWER_BYTES, ImageBackend
from orchtw.admission.plugins.image_policy.review import ImageVerdict, question
from orchtw.admission.plugins.image_policy.settings import read
from orchtw.naming.naming import Naming
from orchtw.outbound import retries
from orchtw.outbound.answers import BadResponse
from orchtw.outbound.caller import CallFailed
from orchtw.registry.emission_order import put
from orchtw.registry.metadata import ORDER
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

_EPHEMERAL: Final = "ephemeralcontainers"
_OPEN: Final = "failed-open"
_META_TAIL: Final = ORDER[ORDER.index("annotations") :]


class ImagePolicyWebhook:
    """Plugin ImagePolicyWebhook: calls the backend in the mutating pass, where it can annotate pods without a review.

    In the validating pass it calls again if a later plugin has changed the review.
    """

    _log = Logger()

    def __init__(self, backend: ImageBackend, naming: Naming, *, default_allow: bool) -> None:
        self._backend = backend
        self._default_allow = default_allow
        self._domain = naming.translate(".image-policy.orch.io/")
        self._audit = f"imagepolicywebhook{self._domain}"
        self._mark = f"alpha{self._domain}{_OPEN}"
        self._passed: WeakKeyDictionary[Attributes, bytes] = WeakKeyDictionary()

    @classmethod
    def of(cls, host: AdmissionHost, given: Given | None) -> ImagePolicyWebhook:
        """Return the plugin, which calls the backend through `host.caller`. Raises ConfigError."""
        remote, settings = read(given, host.naming, host.clock)

        def ask(body: bytes) -> Awaitable[bytes]:
            return retries.post(
                host.caller,
                remote,
                body,
                host.clock,
                host.random,
                limit_bytes=ANSWER_BYTES,
                first_s=settings.backoff_s,
            )

        api_version = host.naming.api_version("imagepolicy.orch.io/v1alpha1")
        backend = ImageBackend(ask, settings, api_version, host.clock)
        return cls(backend, host.naming, default_allow=settings.default_allow)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods, and updates of their ephemeral containers."""
        written = operation == "CREATE" and not subresource
        changed = operation == "UPDATE" and subresource in ("", _EPHEMERAL)
        return resource.qualified == "pods" and (written or changed)

    async def admit(self, attributes: Attributes) -> None:
        """Annotate a pod that passes because the backend failed. Raises what `validate` raises."""
        if _images(attributes.obj, attributes.subresource) == _images(attributes.old, attributes.subresource):
            return
        spec = self._question(attributes)
        if not await self._check(attributes, spec) and not attributes.subresource:
            self._marked(attributes)
            spec = self._question(attributes)
        self._passed[attributes] = _key(spec)

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) if the backend refuses an image, or fails and images are not allowed by default."""
        if _images(attributes.obj, attributes.subresource) == _images(attributes.old, attributes.subresource):
            return
        spec = self._question(attributes)
        if self._passed.get(attributes) != _key(spec):
            await self._check(attributes, spec)

    def _question(self, attributes: Attributes) -> bytes:
        pod = attributes.obj or {}
        annotations = (pod.get("metadata") or {}).get("annotations") or {}
        told = {key: value for key, value in annotations.items() if self._domain in key}
        return orjson.dumps(question(_images(pod, attributes.subresource), told, attributes.namespace))

    async def _check(self, attributes: Attributes, spec: bytes) -> bool:
        """Ask the backend, and report whether it answered: a failure may be tolerated. Raises Forbidden (403)."""
        try:
            verdict = await self._backend.verdict(_key(spec), spec)
        except (CallFailed, BadResponse) as problem:
            self._fail(attributes, problem)
            return False
        self._take(attributes, verdict)
        return True

    def _fail(self, attributes: Attributes, problem: CallFailed | BadResponse) -> None:
        code = getattr(problem, "code", 0)
        why = f"Error contacting webhook: {code}" if code else str(problem)
        if not self._default_allow:
            raise attributes.forbidden(why)
        self._log.debug("images are allowed without review: {why}", why=why)
        attributes.annotate(f"{self._audit}{_OPEN}", "true")

    def _take(self, attributes: Attributes, verdict: ImageVerdict) -> None:
        for key, value in verdict.annotations.items():
            attributes.annotate(f"{self._audit}{key}", value)
        if verdict.allowed:
            return
        if verdict.reason:
            raise attributes.forbidden(f"image policy webhook backend denied one or more images: {verdict.reason}")
        raise attributes.forbidden("one or more images rejected by webhook backend")

    def _marked(self, attributes: Attributes) -> None:
        pod = attributes.obj or {}
        meta = dict(pod.get("metadata") or {})
        annotations = meta.get("annotations") or {}
        if annotations.get(self._mark) != "true":
            put(meta, "annotations", dict(sorted({**annotations, self._mark: "true"}.items())), _META_TAIL)
            attributes.fill({**pod, "metadata": meta})


def _images(pod: Object | None, subresource: str) -> Sequence[str]:
    """Return the images of ephemeral containers at their sub-resource, elsewhere those of all other containers."""
    spec = (pod or {}).get("spec") or {}
    lists = ("ephemeralContainers",) if subresource == _EPHEMERAL else ("containers", "initContainers")
    return [container.get("image", "") for name in lists for container in spec.get(name) or ()]


def _key(spec: bytes) -> bytes:
    return sha256(spec).digest()
