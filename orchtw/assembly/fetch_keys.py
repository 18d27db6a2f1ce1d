"""`python -m orchtw.assembly.fetch_keys`: asks a store for its sealed keys, for a server that starts; see `joining`.

Its input is what `joining` sends, its output the sealed keys or, with status REFUSED, why there are none.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchtw.assembly.joining import REFUSED
from orchtw.assembly.store import claim_store
from orchtw.bootstrap.sealed_record import Reason, found_or_made
from orchtw.config import Config
from orchtw.errors import ConfigError, StatusError
from orchtw.naming.naming import Naming
from orchtw.pki.sealed_keys import FLAG


async def ask(config: Config, made: bytes, reactor: Any) -> bytes:
    """See `found_or_made`. Raises ConfigError."""
    store = claim_store(config, Naming.of(config.generic.vocabulary), reactor)
    await store.start()
    try:
        found = await found_or_made(store, made)
    except StatusError as error:
        raise ConfigError(f"--{FLAG}: failed to ask the store: {error.message}") from None
    finally:
        await store.stop()
    if isinstance(found, Reason):
        advice = f"start one that has them with --{FLAG}, or copy its folder pki"
        raise ConfigError(f"--{FLAG}: there are no keys in the store, and {found.value}: {advice}")
    return found


def main() -> None:
    """Ask once, and end."""
    from twisted.internet import reactor as installed

    reactor: Any = installed
    config, made = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - from the process that has started this one
    ended: list[bytes | Failure] = []

    def end(result: bytes | Failure) -> None:
        ended.append(result)
        reactor.stop()

    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(ask(config, made, reactor)).addBoth(end))
    reactor.run(installSignalHandlers=False)
    result = ended[0]
    if isinstance(result, bytes):
        sys.stdout.buffer.write(result)
        return
    problem = result.value
    if not isinstance(problem, ConfigError):
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
        sys.exit(1)
    print(*problem.problems, sep="\n")
    sys.exit(REFUSED)


if __name__ == "__main__":
    main()
