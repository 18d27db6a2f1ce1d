Mutating and validating admission webhooks are called, with everything that their configurations can say; `orchtw.testing.admission_webhook` has one for your tests.
