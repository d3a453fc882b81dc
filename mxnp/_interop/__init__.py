"""Support for other packages: make them accept mxnp arrays."""
