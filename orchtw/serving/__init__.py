"""The edge: TLS listeners, the HTTP/1.1 channel, bodies, streams, compression and upgrade.

It makes `orchtw.request.Request` values of bytes and bytes of `orchtw.request.Response` values. What a
request means is not here: that is the app it is given, built by the composition root of `filters` and
`verbs`. Nothing below the edge imports it.
"""
