"""`orch-user NAME`: issues a client certificate for a user, as a kubeconfig and PEM files.

The data folder's CA signs it, so anyone who can read the CA's key can impersonate any user, administrators included.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from orchtw.errors import ConfigError
from orchtw.flags.exit_status import document_exit_status
from orchtw.flags.version import add_version
from orchtw.pki import certificates, files, kubeconfig
from orchtw.pki.first_start import CA, FOLDER, KUBECONFIG
from orchtw.pki.stored_pairs import read_pair

USERS = "users"
_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status (`orchtw.flags.exit_status.COMMAND`)."""
    options = command_line().parse_args(arguments)
    try:
        path = write_user(
            options.data_dir,
            options.name,
            options.group,
            output=options.output,
            life=timedelta(days=options.days),
            now=datetime.now(UTC),
        )
    except ConfigError as error:
        print(f"orch-user: {error}", file=sys.stderr)
        return 1
    print(path)
    return 0


def write_user(
    data_dir: Path, name: str, groups: Sequence[str], *, output: Path | None, life: timedelta, now: datetime
) -> Path:
    """Issue a certificate for user `name` in `groups` and write its files; returns the kubeconfig's path.

    The default is `users/NAME.kubeconfig` in the data folder. PEM files are written beside it: NAME.crt, NAME.key and
    NAME-ca.crt, the server's CA. Raises ConfigError for a data folder without keys, and for names that a certificate
    cannot hold.
    """
    for text in (name, *groups):
        _check(text)
    authority = _authority(data_dir / FOLDER)
    cluster, server, trust = _cluster(data_dir / KUBECONFIG)
    key = certificates.new_key()
    certificate = certificates.issue(
        authority, key, name, certificates.CLIENT, now, organizations=groups, life=life
    )
    certificate_pem, key_pem = certificates.pem(certificate), certificates.key_pem(key)
    content = kubeconfig.compose(
        cluster=cluster, user=name, server=server, ca_pem=trust, certificate_pem=certificate_pem, key_pem=key_pem
    )
    if output is None:
        output = data_dir / USERS / f"{_FILE_NAME.sub('_', name)}.kubeconfig"
        files.make_folder(output.parent)
    files.replace(output, content, files.PRIVATE_FILE)
    base = output.with_suffix("") if output.suffix == ".kubeconfig" else output
    for suffix, pem in ((".crt", certificate_pem), (".key", key_pem), ("-ca.crt", trust)):
        files.replace(base.with_name(base.name + suffix), pem, files.PRIVATE_FILE)
    return output


def _authority(folder: Path) -> certificates.Authority:
    pair = read_pair(folder, CA)
    return certificates.Authority(pair.certificate, pair.key)


def _check(text: str) -> None:
    # Upper bounds of commonName and organizationName in X.509 (RFC 5280).
    if not text or len(text) > 64 or not text.isprintable():
        raise ConfigError(f"{text!r}: a name has 1 to 64 printable characters")


def _cluster(path: Path) -> tuple[str, str, bytes]:
    """Read the cluster's name, URL and CA certificates from the administrator's kubeconfig. Raises ConfigError."""
    try:
        document: Any = yaml.safe_load(files.read(path))
        (cluster,) = document["clusters"]
        trust = base64.b64decode(cluster["cluster"]["certificate-authority-data"], validate=True)
        return cluster["name"], cluster["cluster"]["server"], trust
    except (yaml.YAMLError, KeyError, TypeError, ValueError, binascii.Error):
        raise ConfigError(f"{path}: is not the kubeconfig that the server wrote") from None


def _days(text: str) -> int:
    value = int(text)
    if not 1 <= value <= certificates.CA_LIFE.days:
        raise argparse.ArgumentTypeError(f"must be between 1 and {certificates.CA_LIFE.days}")
    return value


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        "orch-user", description="Issues a client certificate for a user, as a kubeconfig and as PEM files."
    )
    parser.add_argument("name", help="name of the user")
    parser.add_argument("--group", action="append", default=[], help="group of the user; repeatable")
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        default=Path("orch-data"),
        help="the server's data folder (default: %(default)s)",
    )
    parser.add_argument(
        "--days",
        type=_days,
        default=certificates.LEAF_LIFE.days,
        help="validity of the certificate in days (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="kubeconfig to write (default: users/NAME.kubeconfig in the data folder); NAME.crt, NAME.key and "
        "NAME-ca.crt are written next to it",
    )
    add_version(parser)
    document_exit_status(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
