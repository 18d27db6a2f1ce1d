"""Store in an etcd cluster (reference STORE-30): for many servers, and for data that outlives a machine.

`connection` speaks HTTP/2 as far as gRPC needs it, `channel` keeps one connection to one of the members, and
`calls` knows the messages; above them are `reading`, `writing`, `watching` and `leases`, which `store` joins. All
of it runs on the reactor thread.
"""
