"""A Metal for tests: it runs on the CPU what mxnp would run on a GPU."""
