"""Validation of the settings of the etcd store (reference FLAG-16)."""

from __future__ import annotations

from urllib.parse import urlsplit

from orchtw.config.storage import StorageOptions

OF_ETCD_ONLY = ("servers", "servers_overrides", "cafile", "certfile", "keyfile")
SCHEMES = ("http", "https")


def etcd_problems(options: StorageOptions) -> list[str]:
    """Return the problems of the etcd settings, one line each, naming the flag."""
    etcd = options.etcd
    if options.backend != "etcd3":
        given = [f"--etcd-{name.replace('_', '-')}" for name in OF_ETCD_ONLY if getattr(etcd, name)]
        return [f"{', '.join(given)}: only for --storage-backend=etcd3"] if given else []
    problems = [] if etcd.servers else ["--etcd-servers must be specified"]
    problems += [f'--etcd-servers: "{url}" is not a URL such as https://host:2379'
                 for url in etcd.servers if not _is_endpoint(url)]  # fmt: skip
    if etcd.servers_overrides:
        problems.append(
            "--etcd-servers-overrides: not supported, all objects share one sequence of revisions in one cluster"
        )
    if (etcd.certfile is None) != (etcd.keyfile is None):
        problems.append("--etcd-certfile and --etcd-keyfile must be given together")
    if not etcd.prefix.strip("/"):
        problems.append("--etcd-prefix: must not be empty")
    elif not _is_text(etcd.prefix):
        problems.append("--etcd-prefix: must be valid text")
    return problems


def _is_endpoint(text: str) -> bool:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return False
    plain = not (url.username or url.password or url.query or url.fragment or url.path.strip("/"))
    return url.scheme in SCHEMES and bool(url.hostname) and port != 0 and plain and _is_word(text)


def _is_word(text: str) -> bool:
    """Report whether `text` is printable and without spaces."""
    return text.isprintable() and " " not in text


def _is_text(text: str) -> bool:
    """Report whether `text` can be a key prefix: valid UTF-8 (arguments may not be) without NUL."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
