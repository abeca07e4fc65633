"""A naive evaluator beside Datalog: rules as functions of Python from all rows to rows, until nothing is new.

It shares nothing with the product, not even its values.
"""

import pytest

import deltic


def seeds(few, many):
    """Seeds of random programs: few by default, and many in the slow suite."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(few, many))]


def epochs_agree(declarations, rules, tables, draw, text, rng, epochs=3, check=None):
    """Rules give the same rows in a pipeline as by their functions, after each of some epochs of random changes.

    A rule is its text, the relation that it derives and the function; those with `!` or an aggregate read what others
    have derived, so that they come last. `draw` makes a row of a table, and `text` a value as the pipeline has it.
    """
    program = declarations + "\n".join(rule for rule, _, _ in rules)
    pipeline = deltic.Pipeline()
    pipeline.datalog(program)
    rows = {table: set() for table in tables}
    history = []
    for _ in range(epochs):
        gone = {t: {r for r in sorted(rows[t], key=repr) if rng.random() < 0.4} for t in tables}
        come = {t: {draw(t) for _ in range(rng.randint(0, 4))} - rows[t] for t in tables}
        history.append((gone, come))
        with pipeline.transaction() as change:
            for table in tables:
                change.delete(table, [tuple(map(text, row)) for row in gone[table]])
                change.insert(table, [tuple(map(text, row)) for row in come[table]])
        rows = {t: rows[t] - gone[t] | come[t] for t in tables}
        wanted = fixpoint(rules, rows)
        if check:
            wanted = check(wanted)
        for name, expected in wanted.items():
            found = rows_of(pipeline[name])
            assert found == {tuple(map(text, row)) for row in expected}, (program, history, name)


def fixpoint(rules, rows):
    """All rows of the relations that rules derive."""
    last = [r for r in rules if "!" in r[0] or "count" in r[0]]
    db = {**{name: set() for _, name, _ in rules}, **rows}
    for stratum in ([r for r in rules if r not in last], last):
        size = -1
        while size != (size := sum(map(len, db.values()))):
            for _, name, derive in stratum:
                db[name] = db[name] | derive({**{key: set() for key in "lspq"}, **db})
    return {name: db[name] for _, name, _ in rules}


def rows_of(view):
    """The rows of a view as tuples."""
    return {tuple(row.values()) for row in view.to_arrow().to_pylist()}


def changed(pipeline, table, come=(), gone=()):
    """Change a table in an epoch of its own."""
    with pipeline.transaction() as change:
        change.delete(table, gone)
        change.insert(table, come)
