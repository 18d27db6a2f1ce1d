"""Client of controllers: the `Client` interface, informers, the keyed work queue, leader election.

`InProcessClient` reaches this server's own registry without HTTP. No controller is here, and nothing below this
band may import it.
"""
