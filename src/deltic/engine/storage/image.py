"""A store as an image: its domains, its arrangements by name, their runs, and the interner.

An arrangement is described by its name, its layout and its runs. Runs that two arrangements share are one piece.
Domains are numbered, so that columns which share a domain do so again after a restore. Within an epoch a relation
also has its change, and its rows have the version before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple

from deltic.circuit.reading.parser import parse_value_type
from deltic.engine.image import GrowingSequence, Image, ImagePiece, Json, Saved, StoredArrays
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.columns import Domain, Place, Sorted
from deltic.engine.storage.dictionary import Dictionary
from deltic.engine.storage.domains import Domains
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.kinds import RelationKind, kind_of
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import KeptRun, Run
from deltic.engine.storage.spilling import Space
from deltic.engine.storage.state import Name, State
from deltic.engine.storage.store import Store
from deltic.engine.storage.value_order import Labels
from deltic.program.program import Program, Relation
from deltic.values.types import Type

# The fields of a domain that are written beside its type.
_FIELDS = ("base", "bits", "empty", "numbering", "nullable", "is_turned")


def image_of(store: Store) -> Image:
    """Return the image of a store. All layouts must fit their domains."""
    numbers: dict[Domain, int] = {}
    runs = _Runs()
    relations = {name: _relation(state, numbers, runs) for name, state in store.states.items()}
    interned = {str(type_): _number(domain, numbers) for type_, domain in store.domains.interned.items()}
    about = {
        "relations": relations,
        "interned": interned,
        "domains": [_domain(domain, store.interner) for domain in numbers],
        "dictionaries": {
            str(type_): [len(values), values.order.count, values.order.domain.numbering]
            for type_, values in store.interner.items()
        },
    }
    return Image(about, runs.pieces, dict(_growing(store.interner)))


def _growing(interner: Interner) -> Iterator[tuple[str, GrowingSequence]]:
    for type_, dictionary in interner.items():
        yield f"values of {type_}", dictionary.growing()
        if dictionary.order.count:
            yield _labels_name(type_, dictionary.order.domain.numbering), dictionary.order.growing()


def _labels_name(type_: Type, numbering: int) -> str:
    return f"labels of {type_}, numbering {numbering}"


def _number(domain: Domain, numbers: dict[Domain, int]) -> int:
    return numbers.setdefault(domain, len(numbers))


def _domain(domain: Domain, interner: Interner) -> dict[str, Json]:
    """Describe a domain. A domain of labels is identified by the type of its values and its direction."""
    about: dict[str, Json] = {field: getattr(domain, field) for field in _FIELDS}
    if isinstance(domain, Labels):
        type_ = next(t for t, d in interner.items() if domain in (d.order.domain, d.order.reversed))
        return about | {"labels of": str(type_), "descending": domain.descending}
    if isinstance(domain, Sorted):
        about["anchor"] = domain.anchor
    return about | {"type": str(domain.type)}


def _relation(state: State, numbers: dict[Domain, int], runs: _Runs) -> dict[str, Json]:
    named = sorted(state.named(), key=lambda pair: pair[0].role != "counts")  # what is shared with counts comes after
    return {
        "fingerprint": state.relation.fingerprint,
        "kind": state.kind.name,
        "set": state.is_set,
        "domains": [_number(domain, numbers) for domain in state.domains],
        "arrangements": [_arrangement(name, a, numbers, runs) for name, a in named],
        **({} if state.delta is None else {"change": _change(state, state.delta, runs)}),
    }


def _change(state: State, delta: Run, runs: _Runs) -> dict[str, Json]:
    """Describe the change of a relation, and whether it is the last run of its rows."""
    return {"run": runs.add(delta, Name(state.relation.name, "rows", state.canonical)), "last": state.is_appended}


def _arrangement(name: Name, arrangement: Arrangement, numbers: dict[Domain, int], runs: _Runs) -> dict[str, Json]:
    return {
        "role": name.role,
        "order": name.order,
        "domains": [_number(domain, numbers) for domain in arrangement.domains],
        "places": [astuple(place) for place in arrangement.layout.places],
        "words": arrangement.layout.words,
        "runs": [runs.add(run, name) for run in arrangement.runs],
        **({"before": [runs.add(run, name) for run in arrangement.before]} if _has_before(name, arrangement) else {}),
    }


def _has_before(name: Name, arrangement: Arrangement) -> bool:
    """Return whether the rows have another version before the present change."""
    return name.role == "rows" and list(map(id, arrangement.before)) != list(map(id, arrangement.runs))


class _Runs:
    """The runs of a store as pieces, without duplicates."""

    def __init__(self) -> None:
        self.pieces: list[ImagePiece] = []
        self._numbers: dict[int, int] = {}
        self._by_rows: dict[tuple[int, int], int] = {}

    def add(self, run: Run, name: Name) -> list[int]:
        """Return the index of a run's piece, and 1 if the run has the piece's rows but no weights, else 0."""
        if isinstance(run, KeptRun):
            number = self._numbers.get(id(run.source))
            return [self._new(run, name, id(run.source)) if number is None else number, int(run.is_bare)]
        if id(run) in self._numbers:
            return [self._numbers[id(run)], 0]
        rows = id(run.words), id(run.times)
        if rows in self._by_rows and not run.weights.size:
            return [self._by_rows[rows], 1]
        number = self._by_rows[rows] = self._new(run, name, id(run))
        return [number, 0]

    def _new(self, run: Run, name: Name, key: int) -> int:
        self._numbers[key] = len(self.pieces)
        self.pieces.append(_piece(run, name))
        return self._numbers[key]


def _piece(run: Run, name: Name) -> ImagePiece:
    about = {
        "relation": name.relation,
        "role": name.role,
        "order": name.order,
        "rows": len(run),
        "net": run.net,
        "bytes": run.nbytes,
        "max_time": run.max_time,
        **({"heavy": True} if run.is_heavy else {}),
    }
    return ImagePiece(about, run, run.arrays)


def restored(saved: Saved, program: Program, wanted: Collection[str], space: Space) -> Store:
    """Return a store with the saved contents of the wanted relations whose definitions are the same as then.

    Other relations are left out. Restored column orders are used when `declare` asks for them, until `end_evolution`.
    """
    there = saved.about["relations"]

    def is_same(name: str) -> bool:
        relation, entry = program.relations.get(name), there[name]
        same = relation is not None and entry["fingerprint"] == relation.fingerprint
        return same and name in wanted and entry["kind"] == kind_of(program, name).name

    return restored_as(saved, [(program.relations[name], name) for name in there if is_same(name)], space)


def restored_as(saved: Saved, relations: Iterable[tuple[Relation, str]], space: Space) -> Store:
    """Return a store with saved relations, each given with its saved name; see `restored`."""
    about, store = saved.about, Store(space)
    for text, counts in about["dictionaries"].items():
        _restore_values(store.interner[parse_value_type(text).type], counts, saved)
    domains = [_restored_domain(entry, store.interner) for entry in about["domains"]]
    store.domains = Domains(interned={parse_value_type(t).type: domains[n] for t, n in about["interned"].items()})
    for relation, name in relations:
        entry = about["relations"][name]
        state = State(relation, RelationKind[entry["kind"]], _chosen(domains, entry), entry["set"])
        kept = _KeptRuns(saved.pieces)
        for each in entry["arrangements"]:
            _restore(state, each, domains, kept)
        if "change" in entry:
            state.restore_change(kept[entry["change"]["run"]], entry["change"]["last"])
        store.states[relation.name] = state
    return store


def _restore_values(dictionary: Dictionary, counts: Sequence[int], saved: Saved) -> None:
    values, labels, numbering = counts
    order, text = dictionary.order, str(dictionary.type)
    dictionary.restore(values, saved.growing.get(f"values of {text}", ()))
    if labels:
        order.restore(labels, saved.growing[_labels_name(dictionary.type, numbering)])


def _restored_domain(about: Mapping[str, Json], interner: Interner) -> Domain:
    if "labels of" in about:
        order = interner[parse_value_type(about["labels of"]).type].order
        domain = order.reversed if about["descending"] else order.domain
    else:
        type_ = parse_value_type(about["type"]).type
        domain = Sorted(type_) if "anchor" in about else Domain(type_)
    for field in (*_FIELDS, "anchor"):
        if field in about:
            setattr(domain, field, about[field])
    return domain


def _chosen(domains: Sequence[Domain], entry: Mapping[str, Json]) -> tuple[Domain, ...]:
    return tuple(domains[number] for number in entry["domains"])


class _KeptRuns:
    """The saved runs of a relation, each loaded once."""

    def __init__(self, pieces: Sequence[StoredArrays]) -> None:
        self._pieces = pieces
        self._runs: dict[tuple[int, int], KeptRun] = {}

    def __getitem__(self, at: Sequence[int]) -> KeptRun:
        number, is_bare = at
        return self._runs.setdefault((number, is_bare), KeptRun(self._pieces[number], bool(is_bare)))


def _restore(state: State, about: Mapping[str, Json], domains: Sequence[Domain], kept: _KeptRuns) -> None:
    arrangement = state.restore(about["role"], tuple(about["order"]), _chosen(domains, about))
    arrangement.layout = Layout(tuple(Place(*place) for place in about["places"]), about["words"])
    arrangement.runs = tuple(kept[at] for at in about["runs"])
    arrangement.before = tuple(kept[at] for at in about["before"]) if "before" in about else arrangement.runs
