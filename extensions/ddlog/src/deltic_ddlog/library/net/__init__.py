"""The modules of `net`: addresses of the Internet."""
