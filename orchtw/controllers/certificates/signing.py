"""Built-in signers: approved requests get their certificate, or fail (reference CTRL-31, CSR-13)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import msgspec
from twisted.logger import Logger

from orchtw.client.work_queue import Backoff, Retry
from orchtw.config.signing import SigningOptions
from orchtw.controllers.certificates import request_state as state
from orchtw.controllers.certificates.requests import RequestController
from orchtw.controllers.certificates.signer_rules import RULES
from orchtw.controllers.controller import ControllerHost
from orchtw.pki import certificates
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.issuing import sign_request
from orchtw.registry.offload import INLINE_BYTES, Offload
from orchtw.rules.certificate_requests import read_request
from orchtw.wire.objects import Object

CONCURRENCY: Final = 5
LEAST_LIFE: Final = timedelta(minutes=10)
WEIGHT_BYTES: Final = INLINE_BYTES + 1
"""Weight of a signature: always enough for the thread, for large keys of operators are slow."""

_REASON: Final = "SignerValidationFailure"


class Means(msgspec.Struct, frozen=True, eq=False):
    """Means of signing: the authorities, the longest life of a certificate, and a thread."""

    authorities: ClusterSigning
    life: timedelta
    offload: Offload

    @classmethod
    def none(cls) -> Means:
        """Return those of a host without any authority: nothing is signed."""
        return cls(ClusterSigning(SigningOptions()), timedelta(), Offload(None))


class Signer(RequestController):
    """Signer of requests to the built-in signers; it leaves all others alone."""

    name = "csrsigning"
    backoff = Backoff(first_s=0.2, limit_s=1000.0)
    _log = Logger()

    def __init__(self, host: ControllerHost, means: Means) -> None:
        super().__init__(host, CONCURRENCY)
        self._means = means
        self._signers = {host.naming.translate(signer): signer for signer in RULES}

    async def look_at(self, name: str, request: Object) -> None:
        """Sign one request that is due. Retry: it cannot be at present, which the log tells the operator."""
        signer = self._signers.get(request["spec"].get("signerName", ""))
        if signer is None or self._means.authorities.authority(signer) is None or not _due(request):
            return
        try:
            outcome = await self._means.offload.run(WEIGHT_BYTES, partial(self._judge, signer, request))
        except ValueError as error:
            self._log.warn("{name} cannot be signed: {why}", name=name, why=str(error))
            raise Retry("not signed") from error
        await self.client.update(self.requests, "", name, outcome, "status")

    def _judge(self, signer: str, request: Object) -> Object:
        """Return the request with its certificate, or as failed. Runs in a thread."""
        spec = request["spec"]
        usages = spec.get("usages") or ()
        try:
            asked = read_request(b64decode(spec["request"]))
        except ValueError as error:
            return state.with_condition(request, state.FAILED, _REASON, f"unable to parse request: {error}")
        if why := RULES[signer](asked, usages):
            return state.with_condition(request, state.FAILED, _REASON, why)
        authority = self._means.authorities.authority(signer)
        if authority is None:
            raise ValueError("no signer is configured")
        now = datetime.fromtimestamp(int(self.host.now()), UTC)
        issued = sign_request(authority, asked, usages, self._life(spec.get("expirationSeconds")), now)
        return state.with_status(request, certificate=b64encode(certificates.pem(issued)).decode())

    def _life(self, asked_s: int | None) -> timedelta:
        """Return the requested lifetime, within bounds."""
        if asked_s is None:
            return self._means.life
        return min(self._means.life, max(LEAST_LIFE, timedelta(seconds=asked_s)))


def _due(request: Object) -> bool:
    """Report whether the request is approved, and neither issued nor failed."""
    if state.certificate(request) or state.has(request, state.DENIED, state.FAILED):
        return False
    return state.has(request, state.APPROVED)
