"""Programs: the relations, delta queries and strata that engines run, compiled from an incremental circuit."""
