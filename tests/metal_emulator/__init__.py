"""The Metal implementation of the tests, which runs kernels on the processor."""
