A create whose generated name is taken gets another name, up to eight times, instead of a 409.
