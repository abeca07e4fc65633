"""The syntax tree that every Datalog dialect is parsed into; what each node says, and where it stands in the text."""
