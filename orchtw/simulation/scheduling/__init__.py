"""The scheduler: its queue, its picture of the cluster, filters, scores and preemption (reference SIM-60).

Everything but `scheduler` and `binding` is computation on the picture of the cluster, without writes.
"""
