"""`/healthz`, `/livez` and `/readyz`, and the single checks below them (reference OPS-1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.endpoints.checks import HEALTHZ, LIVEZ, READYZ, Check, CheckFailed, Checks, Underway
from orchtw.endpoints.paths import TEXT
from orchtw.request import Request, Response

_NO_SNIFF = ("X-Content-Type-Options", "nosniff")


class Health:
    """Endpoints of the health checks. Reasons of failures appear only in the log and on the paths of single checks.

    The progress of a check that is `Underway` is shown everywhere. For `livez_grace_period_s` seconds from its
    creation, `/livez` passes unfinished start steps.
    """

    methods = frozenset({"GET", "HEAD"})
    _log = Logger()

    def __init__(self, checks: Checks, clock: IReactorTime, livez_grace_period_s: float = 0.0) -> None:
        self._checks = checks
        self._clock = clock
        self._forgiven_until = clock.seconds() + livez_grace_period_s

    def paths(self) -> Iterable[str]:
        """Return the endpoints and the path of each of their checks."""
        for endpoint in (HEALTHZ, LIVEZ, READYZ):
            yield f"/{endpoint}"
            yield from (f"/{endpoint}/{check.name}" for check in self._checks.of(endpoint))

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return no aliases: a trailing slash is not accepted (reference REQ-14)."""
        return ()

    async def handle(self, request: Request, path: str) -> Response:
        """Run the requested checks and return 200 if all pass, 500 if one fails."""
        _, endpoint, *names = path.split("/", 2)
        checks = self._checks.of(endpoint)
        if names:
            return await self._single(endpoint, next(check for check in checks if check.name == names[0]))
        return await self._all(endpoint, checks, "verbose" in request.params, request.params.get("exclude", ()))

    async def _single(self, endpoint: str, check: Check) -> Response:
        try:
            await self._run(endpoint, check)
        except CheckFailed as failure:
            return _text(f"internal server error: {failure}\n", 500)
        return _text("ok")

    async def _all(self, endpoint: str, checks: Sequence[Check], verbose: bool, excluded: Iterable[str]) -> Response:
        left = set(excluded)
        lines: list[str] = []
        failed: list[str] = []
        for check in checks:
            if check.name in left:
                left.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            try:
                remark = await self._run(endpoint, check)
            except CheckFailed as failure:
                shown = failure if isinstance(failure, Underway) else "reason withheld"
                lines.append(f"[-]{check.name} failed: {shown}")
                failed.append(f"{check.name}: {failure}")
            else:
                lines.append(f"[+]{check.name} ok: {remark}" if remark else f"[+]{check.name} ok")
        if left:
            names = ",".join(f'"{name}"' for name in sorted(left))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            self._log.warn("{endpoint} check failed: {failed}", endpoint=endpoint, failed="; ".join(failed))
            return _text("\n".join([*lines, f"{endpoint} check failed\n"]), 500)
        return _text("\n".join([*lines, f"{endpoint} check passed\n"]) if verbose else "ok")

    async def _run(self, endpoint: str, check: Check) -> str | None:
        """Run a check and return its remark. Raises CheckFailed for any exception of the check."""
        if check.graced and endpoint == LIVEZ and self._clock.seconds() < self._forgiven_until:
            return None
        try:
            return await check.run()
        except (CancelledError, CheckFailed):
            raise
        except Exception as error:
            raise CheckFailed(str(error)) from error


def _text(text: str, code: int = 200) -> Response:
    return Response(code=code, content_type=TEXT, body=text.encode(), headers=[_NO_SNIFF])
