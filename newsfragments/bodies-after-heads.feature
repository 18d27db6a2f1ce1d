A request with wrong credentials, or an anonymous one that is not allowed, is refused by its head before its body is received.
