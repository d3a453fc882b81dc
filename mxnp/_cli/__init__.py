"""`python -m mxnp`: the command, the runner, and the magics of notebooks."""
