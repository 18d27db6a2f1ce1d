"""What becomes of bootstrap tokens: they sign what newcomers are told of the cluster, and end."""
