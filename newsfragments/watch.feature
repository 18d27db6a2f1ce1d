Watches of any number share the bytes of each event; a client that reads slowly costs a position in the log and holds nobody back.
