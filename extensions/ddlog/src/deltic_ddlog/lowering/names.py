"""What relations of DDlog are called in the catalog, where names have dots between their parts."""

from __future__ import annotations

INDEX, INSPECTED = "index?", "inspect?"


def catalog_name(relation: str) -> str:
    """The name of a relation, `module.R` for `module::R`."""
    return relation.replace("::", ".")


def delayed_name(relation: str, delay: int) -> str:
    """The name of the table that has what a relation had so many transactions ago."""
    return f"{catalog_name(relation)}.delayed{delay}" if delay else catalog_name(relation)


def index_name(index: str) -> str:
    """The name of the view of an index's records with what they are found by."""
    return f"{INDEX}.{catalog_name(index)}"
