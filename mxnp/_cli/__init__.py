"""`python -m mxnp`: the runner, its options, and the magics of notebooks."""
