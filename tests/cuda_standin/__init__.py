"""A stand-in for NVIDIA's driver and NVRTC, which runs kernels on the processor."""
