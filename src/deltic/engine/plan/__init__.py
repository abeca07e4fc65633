"""Plans of delta queries: orders of variables and columns, and the tables that kernels search by."""
