"""The C preprocessor, as Soufflé uses it: includes, macros, conditions. Positions refer to the original files."""
