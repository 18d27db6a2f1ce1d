With the gate `CRDValidationRatcheting`, an update of a custom resource is no longer refused for errors in values that it does not change.
