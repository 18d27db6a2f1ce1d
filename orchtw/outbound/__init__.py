"""Connections that the server opens itself: to node agents, pods and services.

Here is how one is dialled, secured and spoken HTTP/1.1 on, and nothing about what is asked or where. A connection
carries one request: none is kept for a later one, so that no request can meet the credentials or the rest of another.
The verbs use it; nothing else reaches out.
"""
