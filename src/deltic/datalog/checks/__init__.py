"""Static checks of programs: names, types, bound variables, stratified negation."""
