`--simulate` makes the server a cluster that behaves: nodes, a scheduler, pods that seem to run, workloads, volumes and Services, in real time, faster, or by hand (`--simulate-speed`).
