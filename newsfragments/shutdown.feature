SIGTERM ends the server in good order: readiness fails first, running requests finish, watches end cleanly.
