Webhooks may have `matchConditions`, expressions that narrow the requests for which they are called.
