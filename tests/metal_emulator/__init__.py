"""The Metal emulator: an implementation of Metal for tests that runs on the processor."""
