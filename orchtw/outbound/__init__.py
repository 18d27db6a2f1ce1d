"""Connections that the server opens itself: to node agents, pods and services, webhooks and other API servers.

Here is how one is dialled, secured and spoken HTTP/1.1 on, and nothing about what is asked or where. A connection to
agents, pods and services carries one request, so that no request can meet the credentials or the rest of another.
Where all that tells requests apart is in them, connections are kept (`exchanges`, `pool`). Nothing else reaches out.
"""
