"""The descriptions of kernels, a file for each operation."""
