"""Tokens of service accounts as the flags want them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchtw.authn.service_accounts.issuer import AccountTokens, default_issuer
from orchtw.authn.service_accounts.keys import (
    PrivateKey,
    SigningKey,
    TokenKeys,
    VerifyingKey,
    read_signing_key,
    read_verifying_keys,
)
from orchtw.config import Config
from orchtw.config.accounts import AccountOptions
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import files
from orchtw.pki.certificates import pem


def account_tokens(config: Config, naming: Naming, address: str, generated: PrivateKey | None) -> AccountTokens:
    """Return the keys and issuers of service account tokens; `generated` is the key for servers without a flag.

    `address` is the public host and port. Without any key one is made for the life of the process.
    Raises ConfigError for files that cannot be used.
    """
    gates = config.generic.gates
    issuers = config.accounts.issuer or (default_issuer(naming),)
    return AccountTokens(
        naming=naming,
        keys=_keys(config, generated),
        issuers=issuers,
        audiences=config.accounts.api_audiences or issuers,
        lookup=config.accounts.lookup,
        max_s=int(config.accounts.max_token_expiration_s),
        extends=config.accounts.extend_token_expiration,
        credential_ids=gates["ServiceAccountTokenJTI"],
        node_info=gates["ServiceAccountTokenPodNodeInfo"],
        binds_nodes=gates["ServiceAccountTokenNodeBinding"],
        jwks_uri=config.accounts.jwks_uri or f"https://{address}/openid/v1/jwks",
    )


def root_ca(options: AccountOptions) -> str:
    """Return the PEM text of `--root-ca-file`, empty if it is not given. Raises ConfigError."""
    if options.root_ca_file is None:
        return ""
    certificates = files.of_flag("root-ca-file", files.read_certificates, options.root_ca_file)
    return b"".join(map(pem, certificates)).decode()


def _believed(config: Config) -> Sequence[VerifyingKey]:
    """Return the keys of `--service-account-key-file`; without it the serving certificate's, if it is of a kind for
    it.
    """
    flag = "service-account-key-file"
    if config.accounts.key_file:
        return [key for path in config.accounts.key_file for key in read_verifying_keys(flag, path)]
    if config.serving.tls.private_key_file is None:
        return []
    try:
        return read_verifying_keys("tls-private-key-file", config.serving.tls.private_key_file)
    except ConfigError:
        return []


def _keys(config: Config, generated: PrivateKey | None) -> TokenKeys:
    signing = _signing("service-account-signing-key-file", config.accounts.signing_key_file)
    if signing is None:
        signing = TokenKeys.fresh().signing if generated is None else SigningKey.of(generated)
    in_secrets = _signing("service-account-private-key-file", config.accounts.private_key_file)
    return TokenKeys(signing, _believed(config), in_secrets)


def _signing(flag: str, path: Path | None) -> SigningKey | None:
    return None if path is None else read_signing_key(flag, path)
