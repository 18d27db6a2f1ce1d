"""gRPC client on the reactor, for etcd and KMS: one HTTP/2 connection at a time, unary calls and streams.

It is in `outbound` rather than `wire`, which does no I/O: `wire.http2_frames` has the frames.
"""
