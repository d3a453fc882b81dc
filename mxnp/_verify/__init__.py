"""`verify()` and `trap_nan()`: watchers that check the results of operations."""
