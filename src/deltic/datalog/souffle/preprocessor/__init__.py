"""The C preprocessor, as Soufflé uses it: included files, macros, conditions. Places remain those of the files."""
