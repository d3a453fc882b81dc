"""What only Metal has: kernels in the Metal Shading Language."""
