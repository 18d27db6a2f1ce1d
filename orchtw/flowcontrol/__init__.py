"""Priority and fairness: requests are executed, queued or rejected (reference FLOW-1 to FLOW-4).

`queueset` and `dealer` are the rules of fair queues and know nothing of requests; `matching` finds the flow of a
request; `live` follows the objects that configure both. The filters use `control`. Only they and the assembly import
this package.
"""
