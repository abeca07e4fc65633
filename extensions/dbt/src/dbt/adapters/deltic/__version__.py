"""The version of the adapter, where dbt looks for it."""

version = "0.1.0"
