"""Plans: rewrites of circuits that are chosen by what is known of the sizes of relations."""
