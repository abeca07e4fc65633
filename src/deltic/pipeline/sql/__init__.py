"""Questions in SQL: planned, prepared and answered."""
