"""Two operators of bakeries, run as programs by the tests; nothing imports them."""
