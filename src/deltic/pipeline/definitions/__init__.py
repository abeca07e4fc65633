"""What front ends have defined, and how a pipeline goes on with other definitions."""
