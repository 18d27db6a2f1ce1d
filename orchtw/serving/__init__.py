"""The edge: TLS listeners, the HTTP/1.1 channel, bodies, streams, compression and upgrade.

It turns bytes into `orchtw.request.Request` values, and `orchtw.request.Response` values into bytes. The meaning of
a request is left to the app, built by the composition root from `filters` and `verbs`. Nothing below the edge
imports it.
"""
