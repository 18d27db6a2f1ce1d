"""Construction of the parts that `orchtw.server.Server` joins: one module a part.

`foundation` is the ground of all others; `front` has the stages and handlers, `lifecycle` the order of start and
stop, and `process` the listener around them. Only `server`, `workers`, `commands` and `testing` import
this package.
"""
