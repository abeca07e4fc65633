"""A DDlog program under its command language: what `PROGRAM_cli < FILE.dat` does and prints."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic.datalog.syntax.source import Span
from deltic.errors import ChangeError, DataError, did_you_mean
from deltic_ddlog.checked import Index, ResolvedRelation
from deltic_ddlog.commands import Command, Plain, QueryIndex, RecordUpdate, Updates, commands
from deltic_ddlog.inputs import Input, Row
from deltic_ddlog.library.log import heard
from deltic_ddlog.lowering.columns import Form, catalog_name, delayed_name, index_name
from deltic_ddlog.lowering.program import Inspected, Lowered
from deltic_ddlog.records import RecordError

if TYPE_CHECKING:
    from deltic.pipeline.epochs.report import EpochReport
    from deltic.pipeline.epochs.transaction import Transaction
    from deltic.pipeline.watching import Watching


class Profile:
    """What a session's transactions took, and which relations are large and change much: what `profile;` prints.

    DDlog has these numbers by operator; here they are by relation.
    """

    def __init__(self) -> None:
        self._transactions, self._seconds, self._visited = 0, 0.0, 0
        self._inserted, self._deleted = Counter[str](), Counter[str]()

    def note(self, report: EpochReport, given: Mapping[str, Counter[Row]]) -> None:
        """One more transaction, which has changed tables by `given`."""
        self._transactions += 1
        self._seconds += report.seconds
        self._visited += report.rows_visited
        for name, changed in report.changed.items():
            self._inserted[name] += changed.inserted
            self._deleted[name] += changed.deleted
        for name, weights in given.items():
            if name not in report.changed:
                self._inserted[name] += sum(weight for weight in weights.values() if weight > 0)
                self._deleted[name] -= sum(weight for weight in weights.values() if weight < 0)

    def lines(self, records: Mapping[str, int], names: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield the text, given how many records there are in each view, and pairs of a relation and its view.

        Large relations come first.
        """
        took = f"{self._seconds:.3f} s, {self._visited:,} rows visited"
        yield f"{self._transactions:,} transaction{'s' * (self._transactions != 1)}: {took}"
        for relation, view in sorted(names, key=lambda pair: (-records[pair[1]], pair[0])):
            count = records[view]
            changed = f"+{self._inserted[view]:,} −{self._deleted[view]:,}"
            yield f"{relation}: {count:,} record{'s' * (count != 1)}, {changed}"


class Session:
    """Runs commands over a pipeline with a DDlog program, and gives what they print to `write`, line by line.

    Only its commands may change the inputs.
    """

    def __init__(self, pipeline: Watching, lowered: Lowered, write: Callable[[str], Any] = print) -> None:
        self._pipeline, self.lowered, self.write = pipeline, lowered, write
        relations = lowered.checked.relations.values()
        self._inputs = {r.name: Input(r, lowered) for r in relations if r.role == "input"}
        self._outputs = sorted((r for r in relations if r.role == "output"), key=lambda r: r.name)
        self._past = {name: [Counter[Row]() for _ in range(depth)] for name, depth in lowered.delays.items()}
        self._held = {r.name: Counter[Row]() for r in self._outputs if r.semantics != "relation"}
        self._shown: set[str] = set()
        self._is_open = False
        self._committed = 0
        self._log_level: int | None = None
        self._profile = Profile()
        self._began = time.monotonic_ns()

    def begin(self, is_silent: bool = False) -> None:
        """Compute what follows from facts alone, and print it as changes, as DDlog does when it starts."""
        self._inspect(self._pairs)
        changes = {r.name: self._hold(r, self._weighted(catalog_name(r.name))) for r in self._outputs}
        self._note(changes)
        if not is_silent:
            self._dump_changes(changes)

    def run(self, text: str, file: str = "<commands>", folder: Path | None = None) -> None:
        """Run commands up to the end or an `exit`. Raises DataError, with the place of the command that failed."""
        for command in commands(text, file, folder):
            if isinstance(command, Plain) and command.word == "exit":
                return
            self._run(command)

    def _run(self, command: Command) -> None:
        match command:
            case Updates():
                self._update_all(command.updates)
            case QueryIndex():
                self._query(command)
            case Plain():
                try:
                    self._plain(command)
                except ChangeError as error:
                    raise _at(command.span, error) from error

    def _plain(self, command: Plain) -> None:
        if command.word in ("commit", "rollback", "clear"):
            self._require_open()
        match command.word:
            case "start":
                self._start()
            case "commit":
                changes = self._commit()
                if command.argument:
                    self._dump_changes(changes)
            case "rollback":
                self._rollback()
            case "clear":
                self._input(command.argument, command.span).clear()
            case "dump":
                self._dump(command)
            case "dump_index":
                self._print_records(self._indexed(self._index(command.argument, command.span), {}))
            case "mssleep" | "sleep":
                time.sleep(int(command.argument) / 1000)
            case _:
                self._tell(command)

    def _tell(self, command: Plain) -> None:
        match command.word:
            case "echo":
                self.write(command.argument)
            case "timestamp":
                self.write(f"Timestamp: {time.monotonic_ns() - self._began}")
            case "profile" if not command.argument:
                self._tell_profile()
            case "log_level":
                self._log_level = int(command.argument)

    def _tell_profile(self) -> None:
        relations = self.lowered.checked.relations.values()
        names = [(r.name, catalog_name(r.name)) for r in relations if not r.name.startswith("ddlog_std::")]
        for line in self._profile.lines({view: len(self._pipeline[view]) for _, view in names}, names):
            self.write(line)

    def _hear(self, level: int | None, text: str) -> None:
        """Print what `Inspect` prints, and what it logs at a level up to the one that was asked for."""
        if level is None:
            self.write(text)
        elif self._log_level is not None and level <= self._log_level:
            self.write(f"LOG ({level}): {text}")

    def _start(self) -> None:
        if self._is_open:
            raise ChangeError("a transaction has begun already: commit it first")
        self._is_open = True

    def _rollback(self) -> None:
        for each in self._inputs.values():
            each.rollback()
        self._is_open = False

    def _require_open(self) -> None:
        if not self._is_open:
            raise ChangeError("there is no transaction in progress: begin one with `start;`")

    # Changes

    def _update_all(self, updates: Iterable[RecordUpdate]) -> None:
        """Apply updates together: if one fails, none is applied."""
        changed: set[Input] = set()
        try:
            for update in updates:
                self._update(update, changed)
        except DataError:
            for each in changed:
                each.undo()
            raise

    def _update(self, update: RecordUpdate, changed: set[Input]) -> None:
        try:
            self._require_open()
            relation = self._input(update.relation, update.span)
            if relation not in changed:
                relation.begin()
                changed.add(relation)
            relation.apply(update)
        except (RecordError, ChangeError) as error:
            raise _at(update.span, error) from error

    def _input(self, name: str, span: Span) -> Input:
        result = self._inputs.get(name.replace(".", "::"))
        if result is None:
            raise DataError([span.error(f"there is no input relation {name}", _meant(name, self._inputs))])
        return result

    def _commit(self) -> dict[str, Counter[Row]]:
        """One epoch: the changes of inputs, and what delayed relations had before; gives the changes of outputs."""
        given = {name: each.change() for name, each in self._inputs.items()}
        with self._pipeline.transaction(conflicts="trust") as change:
            for name, rows in given.items():
                _apply(change, catalog_name(name), rows)
            for name, past in self._past.items():
                for delay, rows in enumerate(past, 1):
                    _apply(change, delayed_name(name, delay), rows)
        for each in self._inputs.values():
            each.commit()
        self._is_open = False
        self._committed += 1
        self._profile.note(change.report, {catalog_name(name): rows for name, rows in given.items()})
        self._advance(change, given)
        self._inspect(change.of)
        changes = {r.name: self._hold(r, _weights(change, catalog_name(r.name))) for r in self._outputs}
        self._note(changes)
        return changes

    def _advance(self, change: Transaction, given: dict[str, Counter[Row]]) -> None:
        """The changes of this transaction become those of the delayed relations in the next."""
        views = self._pipeline.catalog.views
        for name, past in self._past.items():
            past.insert(0, _weights(change, catalog_name(name)) if catalog_name(name) in views else given[name])
            past.pop()

    def _hold(self, relation: ResolvedRelation, change: Counter[Row]) -> Counter[Row]:
        """Return how an output has changed; of a stream all that it has now.

        What is no set is held here, for its weights may be below zero, where views have no rows.
        """
        if relation.semantics == "relation":
            return change
        held = self._held[relation.name]
        for row, weight in change.items():
            held[row] += weight
            if not held[row]:
                del held[row]
        return held if relation.semantics == "stream" else change

    def _inspect(self, changes: Callable[[str], Iterable[tuple[Row, int]]]) -> None:
        """Compute what `Inspect` says, for each change of what it looks at."""
        with heard(self._hear):
            for inspected in self.lowered.inspected:
                self._look(inspected, sorted(changes(inspected.name), key=_in_order))

    def _look(self, inspected: Inspected, weights: Iterable[tuple[Row, int]]) -> None:
        names = list(inspected.known)
        function = self.lowered.checked.functions.expression(
            inspected.clause.expression, [*names, "ddlog_weight", "ddlog_timestamp"]
        )
        schema = self._pipeline.views[inspected.name].names
        for row, weight in weights:
            values = dict(zip(schema, map(_in_python, row), strict=True))
            known = [b.read(*(values[c.name] for c in b.columns)) for b in inspected.known.values()]
            try:
                function(*known, weight, self._committed)
            except Exception as error:
                message = f"what is inspected failed, after the transaction: {error}"
                raise DataError([inspected.clause.span.error(message)]) from error

    # Dumps

    def _note(self, changes: dict[str, Counter[Row]]) -> None:
        self._shown |= {name for name, rows in changes.items() if rows}

    def _dump_changes(self, changes: dict[str, Counter[Row]]) -> None:
        for name, rows in changes.items():
            if rows:
                self.write(f"{name}:")
                for record, weight in self._sorted(self.lowered.form(name), rows.items()):
                    self.write(f"{record}: {weight:+}")

    def _dump(self, command: Plain) -> None:
        if not command.argument:
            for relation in self._outputs:
                if relation.name in self._shown and relation.semantics != "stream":
                    self.write(f"{relation.name}:")
                    self._print_relation(relation)
                    self.write("")
            return
        name = command.argument.replace(".", "::")
        result = next((r for r in self._outputs if r.name == name), None)
        if result is None:
            message = f"there is no output relation {command.argument}"
            raise DataError([command.span.error(message, _meant(command.argument, [r.name for r in self._outputs]))])
        self._print_relation(result)
        self._shown.add(name)

    def _print_relation(self, relation: ResolvedRelation) -> None:
        if relation.semantics == "stream":
            return
        rows = self._held.get(relation.name) or self._weighted(catalog_name(relation.name))
        for record, weight in self._sorted(self.lowered.form(relation.name), rows.items()):
            self.write(record if weight == 1 else f"{record} {weight:+}")

    def _sorted(self, form: Form, rows: Iterable[tuple[Row, int]]) -> Iterator[tuple[str, int]]:
        """Return the records as text in the order of their values."""
        codecs = self.lowered.columns.codecs
        show, order = codecs.of(form.record).show, codecs.key(form.record)
        records = sorted(((form.of_row(row), weight) for row, weight in rows), key=lambda pair: order(pair[0]))
        return ((show(record), weight) for record, weight in records)

    def _weighted(self, view: str) -> Counter[Row]:
        """Return the rows of a view with their weights."""
        return _counted(self._pairs(view))

    def _pairs(self, view: str) -> Iterator[tuple[Row, int]]:
        for *row, weight in self._pipeline[view].rows(counted=True):
            yield tuple(row), weight

    # Indexes

    def _query(self, command: QueryIndex) -> None:
        index, columns = self._index(command.index, command.span), self.lowered.columns
        types, given = [type_ for _, type_ in index.parameters], command.arguments.arguments
        try:
            if len(given) != len(types):
                raise RecordError(f"{index.name} takes {len(types)} values")
            key = [
                columns.writing(type_)(columns.codecs.of(type_).read(value))
                for type_, (_, value) in zip(types, given, strict=True)
            ]
        except RecordError as error:
            raise _at(command.span, error) from error
        self._print_records(self._indexed(index, {f"key?{i}": value for i, value in enumerate(key)}))

    def _index(self, name: str, span: Span) -> Index:
        result = self.lowered.checked.indexes.get(name.replace(".", "::"))
        if result is None:
            raise DataError([span.error(f"there is no index {name}", _listed(self.lowered.checked.indexes))])
        return result

    def _indexed(self, index: Index, key: Mapping[str, Any]) -> Iterator[str]:
        view, width = self._pipeline[index_name(index.name)], len(index.parameters)
        rows = view.lookup(**key) if key else view
        result = dict.fromkeys(tuple(row[width:]) for row in rows)
        return (record for record, _ in self._sorted(self.lowered.form(index.relation), [(r, 1) for r in result]))

    def _print_records(self, records: Iterable[str]) -> None:
        for record in records:
            self.write(record)


def _apply(change: Transaction, table: str, weights: Counter[Row]) -> None:
    """Insert and delete rows as their weights say."""
    inserted = [row for row, weight in weights.items() for _ in range(weight)]
    deleted = [row for row, weight in weights.items() for _ in range(-weight)]
    if inserted:
        change.insert(table, inserted)
    if deleted:
        change.delete(table, deleted)


def _weights(change: Transaction, name: str) -> Counter[Row]:
    """Return how a table or view has changed; nothing is made of one that has not."""
    return _counted(change.of(name) if name in change.report.changed else ())


def _counted(weights: Iterable[tuple[Row, int]]) -> Counter[Row]:
    """Return the weight of each row."""
    result = Counter[Row]()
    for row, weight in weights:
        result[row] += weight
    return result


def _in_python(value: Any) -> Any:
    """Return a value as functions of Python have it: those of a group are pairs."""
    return [tuple(pair.values()) for pair in value] if isinstance(value, list) else value


def _in_order(change: tuple[Row, int]) -> Row:
    """Return the sort key of changes of bindings: their values, and the texts of groups, which are lists."""
    row, weight = change
    return (*(repr(value) if isinstance(value, list) else value for value in row), weight)


def _at(span: Span, error: Exception) -> DataError:
    return DataError([span.error(str(error))])


def _meant(name: str, names: Iterable[str]) -> str:
    """Return the hint for an unknown name: one of another module, the nearest one, or all."""
    of_modules = [each for each in names if each.rpartition("::")[2] == name]
    return f"did you mean `{of_modules[0]}`?" if of_modules else did_you_mean(name, names) or _listed(names)


def _listed(names: Iterable[str]) -> str:
    result = ", ".join(sorted(names))
    return f"there are {result}" if result else "there is none"
