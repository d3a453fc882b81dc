"""The entry point of ``python -m mxnp``."""

from mxnp._cli.main import main

if __name__ == "__main__":
    main()
