"""Settings that the server's keys and certificates depend on."""

from __future__ import annotations

from orchtw.config import Config
from orchtw.pki.first_start import PkiOptions


def pki_options(config: Config) -> PkiOptions:
    """Return the settings of `first_start.prepare`."""
    return PkiOptions(
        data_dir=config.generic.data_dir,
        serving=config.serving,
        authn=config.authn,
        accounts=config.accounts,
        aggregation=config.aggregation,
    )
