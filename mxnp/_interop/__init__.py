"""Other packages: what lets them take mxnp's arrays."""
