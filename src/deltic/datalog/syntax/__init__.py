"""The syntax tree of Datalog dialects: the nodes, and their positions in the text."""
