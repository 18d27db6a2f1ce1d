A Lease's duration and transitions, a RuntimeClass's handler and a PriorityClass's value and preemption policy are checked as 1.24 does, with a 422 that has a cause for each field that is wrong.
