"""Client of controllers that must see all objects of a cluster, even those of aggregated API servers.

It has discovery of those servers, requests to them, items, watches, and the client that joins them with the one of
this process. Objects of aggregated servers are listed, followed, patched and deleted, but never created. Controllers
get the client from their host.
"""
