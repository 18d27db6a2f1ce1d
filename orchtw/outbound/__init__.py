"""Connections that the server opens itself: to node agents, pods and services, webhooks and other API servers.

The package dials and secures connections, speaks HTTP/1.1 on them, and reads destinations and credentials from
Services and client configuration files; the contents of requests are not its concern. All HTTP is spoken by
`ClientExchange`, in three ways. A single exchange carries one request on a connection of its own, for requests that
clients have passed on: none can meet the credentials or the rest of another. `Exchanges` reuse connections to another
API server, to which each request names its user. A `Caller` has `Exchanges` under treq, for the server's own calls,
and shares connections only if all their settings are equal.

`web` and its imports need treq, which takes long to import: nothing here imports them at the start.
"""
