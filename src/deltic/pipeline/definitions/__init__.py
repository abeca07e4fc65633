"""What front ends have defined, and how texts and options become definitions."""
