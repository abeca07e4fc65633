"""Programs: the relations, delta queries and strata that every engine reads off an incremental circuit."""
