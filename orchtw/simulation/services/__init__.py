"""Services that lead to pods: Endpoints, EndpointSlices, and addresses of load balancers (reference SIM-70)."""
