"""A cluster without containers: nodes, a scheduler, pods, workloads, volumes, services that behave (reference SIM-1).

Its controllers work through the client of all controllers, and are plugins like those of other packages: nothing
outside this package knows them. It is imported only if a flag asks for it.
"""
