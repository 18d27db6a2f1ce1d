"""The store that the flags ask for, claimed before anything else is done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from orchtw.assembly.encryption import NOTHING, SealedEvidence, SealedTranslation, sealing
from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.pki.files import refuse_link
from orchtw.registry.rewriting import StoredNames
from orchtw.registry.stored_vocabulary import StoredVocabulary
from orchtw.storage import make_store
from orchtw.storage.encryption.store import EncryptedStore
from orchtw.storage.encryption.transformers import Transformers
from orchtw.storage.store import Evidence, Store, StoreHost


def claim_store(
    config: Config,
    naming: Naming,
    reactor: Any,
    *,
    remote: Store | None = None,
    over: Callable[[Store], Store] | None = None,
) -> Store:
    """Return the store, yet to be started; from now on ours, if it is one that cannot be shared.

    A `remote` one, which another process owns, takes the place of what the flags ask for. `over` may put another one
    over it, below what seals values: each process seals for itself.
    An embedded store of the other vocabulary is rewritten once, which standard error says, since it may take a while.
    Raises ConfigError for a store that cannot be used or is another process'.
    """
    path = config.storage.encryption_provider_config
    sealed = None if path is None else sealing(path, reactor, config.plugins)
    transformers = NOTHING if sealed is None else sealed.transformers
    host = StoreHost(
        reactor=reactor,
        vocabulary=naming.vocabulary,
        translation=partial(_other_names, naming, transformers),
        check_path=refuse_link,
        evidence=partial(evidence, transformers),
        folder=config.generic.data_dir,
    )
    store = make_store(host, config.storage, config.plugins) if remote is None else remote
    if over is not None:
        store = over(store)
    if sealed is not None:
        store = EncryptedStore(store, sealed.transformers, sealed.checks)
    store.probe()
    return store


def evidence(transformers: Transformers) -> Evidence:
    """Make what recognises the vocabulary of a store that does not record it."""
    return SealedEvidence(StoredVocabulary(), transformers)


def _other_names(new: Naming, transformers: Transformers, vocabulary: str) -> SealedTranslation:
    """Return the translation of a store of `vocabulary`. Raises ConfigError for an unknown one."""
    old = Naming.of(vocabulary)
    if sys.__stderr__ is not None:
        made, wanted = old.vocabulary, new.vocabulary
        text = f"The store was made with --vocabulary {made}: it is being rewritten for {wanted}"
        print(text, file=sys.__stderr__, flush=True)
    return SealedTranslation(StoredNames(old, new), transformers)
