"""HTTP/2 at the edge: many requests and watches over one connection (RFC 9113), for the same app as HTTP/1.1.

`connection.py` is the protocol of a transport: it reads frames (`reader.py`) and fields (`field_decoder.py`,
`request_fields.py`) and makes a `Stream` of each request. Streams send through their `Outlet`, which respects the
peer's windows. `multiplexer.py` takes over the connections whose clients have chosen HTTP/2; `shared.py` is what
all connections of a listener have in common. All but `multiplexer.py` and `limits.py` is imported for the first
connection.
"""
