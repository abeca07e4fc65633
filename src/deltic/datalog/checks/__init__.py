"""What a program must be to have a meaning: names, types, bound variables, negation without recursion."""
