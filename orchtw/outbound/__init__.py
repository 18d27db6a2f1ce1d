"""Connections that the server opens itself: to node agents, pods and services, and to webhooks.

Here is how one is dialled, secured and spoken HTTP/1.1 on, and how a Service or a client configuration file says
where and as whom; nothing about what is asked. Two ways lead out. An `Exchange` carries a request that a client has
passed on, by a connection of its own: no request can meet the credentials or the rest of another. `Exchanges` keep
those to servers where every request says itself who asks. A `Caller` makes the server's own calls: it keeps its
connections, and shares them only where all that they were made with is equal.

`web` and what it imports need treq, which takes long to import: nothing here imports that at the start.
"""
