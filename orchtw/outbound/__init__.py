"""Connections that the server opens itself: to node agents, pods and services, webhooks and other API servers.

Here is how one is dialled, secured and spoken HTTP/1.1 on, and how a Service or a client configuration file says
where and as whom; nothing about what is asked. Three ways lead out. An `Exchange` carries one request on a connection
of its own, for what clients have passed on: no request can meet the credentials or the rest of another. `Exchanges`
use connections to another API server again, which learns who asks from each request. A `Caller` keeps its
connections, for the server's own calls, and shares them only where all that they were made with is equal.

`web` and what it imports need treq, which takes long to import: nothing here imports that at the start.
"""
