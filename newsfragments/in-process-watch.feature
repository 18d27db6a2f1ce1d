`InProcessServer.watch` reads the events of a watch without a network.
