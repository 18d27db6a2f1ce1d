Encryption at rest: `--encryption-provider-config` with identity, aescbc, aesgcm, secretbox and key management services
(kms), per resource, with rotation. Objects whose key is missing are answered with a 500 and stay as they are.
