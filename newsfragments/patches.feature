JSON patches, merge patches and strategic merge patches change objects, `status` and `scale`, with every directive and limit; patches that race are tried again inside the server.
