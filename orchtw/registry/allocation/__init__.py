"""Cluster IPs and node ports of services: who has which, in every process that works on a store (reference KIND-27,
CTRL-9).

`service.py` is what the record of Service names. A range is cut into blocks; where a store is shared, a block is a
record in it that is changed by compare and swap before a service is written, and where it is not, the services
themselves are the record, and blocks are only in memory.
"""
