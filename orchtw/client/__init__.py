"""Client of controllers: the `Client` interface, informers, the keyed work queue, leader election.

`InProcessClient` uses this server's own registry without HTTP. Controllers are elsewhere, and no lower layer may
import this package.
"""
