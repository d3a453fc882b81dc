"""`verify()` and `trap_nan()`: hooks that look at what operations compute."""
