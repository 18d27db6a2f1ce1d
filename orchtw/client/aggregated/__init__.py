"""The client of controllers that must see all objects of a cluster, those of aggregated API servers too.

Discovery of those servers, requests to them, items, watches, and the client that joins them with the one of this
process. What aggregated servers store is listed, followed, patched and deleted; nothing new is created there.
Controllers get the client from their host.
"""
