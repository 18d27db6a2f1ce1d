Faults of a test server have a live `struck` and `faults.get`, accept a mapping as `labels` and resource names as for kubectl, and refuse unknown resources.
