"""What extension servers need to believe this server's clients: a ConfigMap that anybody they trust may read
(reference AGG-7).
"""

from __future__ import annotations

from orchtw.registry.bootstrap.maker import Maker

NAME = "extension-apiserver-authentication"
CLIENT_CA = "client-ca-file"


async def publish_authentication_info(maker: Maker, client_ca_pem: str) -> None:
    """Keep the ConfigMap at the certificate authorities of client certificates."""
    meta = {"name": NAME, "namespace": maker.naming.system_namespace}
    await maker.ensure_content("", "v1", "configmaps", {"metadata": meta, "data": {CLIENT_CA: client_ca_pem}})
