"""A refresh described by a YAML file: program, state, sources, outputs, options. All of it is checked first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltic.catalog import External
from deltic.catalog.external import KINDS, Role
from deltic.engine.files.address import local_path
from deltic.errors import CatalogError, DelticError, Diagnostic, ProgramError, did_you_mean
from deltic.extras import required

_OPTIONS: Mapping[str, type] = {
    "conflicts": str,
    "late": str,
    "strategy": dict,
    "refresh": str,
    "switch": float,
    "iteration_limit": int,
    "recursion_timeout": float,
    "threads": int,
    "spill": Path,
    "memory": str,
    "checkpoint": str,
    "functions": Path,
    "now": str,
    "engine": str,
    "shards": int,
    "directory": Path,
    "executor": str,
    "rounds": str,
    "task_memory": str,
    "copies": str,
}
_SPARK: Mapping[str, type] = {"master": str, "driver_memory": str, "conf": Mapping}
_KEYS = ("program", "state", "sources", "outputs", "options", "spark")
# Kinds that a file cannot name, or that would be gone after the refresh.
_OF_PROCESSES: Mapping[Role, str] = {"source": "dataframe", "target": "spark"}


@dataclass
class Document:
    """A refresh. Paths are absolute; those in the file are relative to its folder."""

    program: Path = field(default_factory=Path)
    state: str | None = None
    sources: dict[str, External] = field(default_factory=dict)
    outputs: list[tuple[str, External]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """Options of a pipeline by name, as `grouped` takes them."""
    spark: dict[str, Any] | None = None
    """Arguments of a Spark session, if one is wanted."""


def read_document(path: Path) -> Document:
    """Read a file. Raises ProgramError with all findings and their places, and DelticError for the file."""
    yaml = required("yaml", "a file of tables and views in YAML")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DelticError(f"{path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    reader = _Reader(path, text)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ProgramError([reader.at(mark.line, mark.column, 1, error.problem or str(error))]) from None
    except yaml.YAMLError as error:
        raise ProgramError([Diagnostic(str(error).splitlines()[0], str(path))]) from None
    result = reader.document(root)
    if reader.findings:
        raise ProgramError(sorted(reader.findings, key=lambda finding: (finding.line, finding.column)))
    return result


class _Reader:
    """Visits the nodes of a file, and collects errors."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._lines = path, text.split("\n")
        self.findings: list[Diagnostic] = []

    def document(self, root: Any) -> Document:
        """Return the whole file."""
        made = Document()
        result = dict(self._entries(root, _KEYS, "the file"))
        if "program" in result:
            made.program = Path(self._near(self._text(result["program"][1], "the path of a program")))
        elif root is None or root.id == "mapping":
            self.findings.append(Diagnostic("program is missing: a file of SQL or Datalog", str(self._path)))
        if "state" in result:
            made.state = self._near(self._text(result["state"][1], "a directory"))
        for _, name, node in self._named(result, "sources", "a table"):
            if (place := self._external(node, "source")) is not None:
                made.sources[name] = place
                if "spark" not in result and (place.kind == "spark" or place.get("url").startswith("jdbc:")):
                    self._wrong(node, f"{name} is read by Spark, and there is no session", "add `spark: {master: …}`")
        for _, name, node in self._named(result, "outputs", "a view"):
            nodes = node.value if node.id == "sequence" else [node]
            places = (self._external(each, "target") for each in nodes)
            made.outputs += [(name, place) for place in places if place is not None]
        made.options = self._values(result, "options", _OPTIONS)
        if (due := made.options.pop("checkpoint", None)) is not None:
            made.options["epochs" if isinstance(due, int) else "log"] = due
        made.spark = self._values(result, "spark", _SPARK) if "spark" in result else None
        return made

    def at(self, line: int, column: int, length: int, message: str, hint: str = "") -> Diagnostic:
        """Return the finding at a place, counted from 0."""
        source = self._lines[line] if line < len(self._lines) else ""
        return Diagnostic(message, str(self._path), line + 1, column + 1, source, length, hint)

    def _wrong(self, node: Any, message: str, hint: str = "") -> None:
        start, end = node.start_mark, node.end_mark
        length = end.column - start.column if end.line == start.line else 1
        self.findings.append(self.at(start.line, start.column, max(1, length), message, hint))

    def _entries(self, node: Any, known: tuple[str, ...] | None, what: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """Yield the entries of a mapping, each with the node of its name, without unknown and repeated ones."""
        if node is None:
            return
        if node.id != "mapping":
            self._wrong(node, f"{what} has names with values, as in `{(known or ('name',))[0]}: …`")
            return
        seen: set[str] = set()
        for key, value in node.value:
            name = key.value if key.id == "scalar" else ""
            if name in seen:
                self._wrong(key, f"{name} is given twice")
            elif known is not None and name not in known:
                hint = did_you_mean(name, known) or f"{what} has {', '.join(known)}"
                self._wrong(key, f"there is no {name!r} here", hint)
            else:
                yield name, (key, value)
            seen.add(name)

    def _named(self, found: Mapping[str, Any], part: str, what: str) -> Iterator[tuple[Any, str, Any]]:
        if part in found:
            for name, (key, value) in self._entries(found[part][1], None, f"{part}, for {what} each,"):
                yield key, name, value

    def _external(self, node: Any, role: Role) -> External | None:
        """Return a source or target; None, with a finding, if it is invalid."""
        if node.id != "mapping":
            self._wrong(node, f"a {role} needs its kind and options, as in {{kind: parquet, path: /data/orders}}")
            return None
        kinds = tuple(k for k, known in KINDS.items() if known.options(role) is not None and k != _OF_PROCESSES[role])
        chosen = next((value for key, value in node.value if key.value == "kind"), None)
        if chosen is None or chosen.value not in kinds:
            hint = did_you_mean(chosen.value, kinds) if chosen is not None and chosen.id == "scalar" else ""
            message = f"there is no kind {chosen.value!r} of {role}s" if chosen is not None else "kind is missing"
            self._wrong(chosen or node, message, hint or f"the kinds of {role}s are {', '.join(kinds)}")
            return None
        known = KINDS[chosen.value].options(role) or ()
        before = len(self.findings)
        entries = dict(self._entries(node, ("kind", *known), f"{chosen.value} as a {role}"))
        options = {name: self._option(name, value) for name, (_, value) in entries.items() if name != "kind"}
        for name in KINDS[chosen.value].needed:
            if name not in options:
                self._wrong(chosen, f"{chosen.value}: the option {name} is missing")
        try:
            return External(chosen.value, **options) if len(self.findings) == before else None
        except CatalogError as error:
            self._wrong(chosen, str(error))
            return None

    def _option(self, name: str, node: Any) -> str:
        if node.id == "sequence":
            return ",".join(self._text(each, "a name") for each in node.value)
        text = self._text(node, "a text")
        if name in ("path", "warehouse"):
            return self._near(text)
        kind, mark, place = text.partition(":///")
        return f"{kind}{mark}{self._near(place)}" if name in ("url", "uri") and kind in ("sqlite", "duckdb") else text

    def _values(self, found: Mapping[str, Any], part: str, types: Mapping[str, type]) -> dict[str, Any]:
        """Return options with values of their types."""
        node = found[part][1] if part in found else None
        entries = self._entries(node, tuple(types), part)
        values = {name: self._value(value, types[name]) for name, (_, value) in entries}
        return {name: value for name, value in values.items() if value is not None}

    def _value(self, node: Any, type_: type) -> Any:
        if type_ is Mapping or (type_ is dict and node.id == "mapping"):
            return {name: self._text(value, "a text") for name, (_, value) in self._entries(node, None, "it")}
        text = self._text(node, "one value")
        if type_ is Path:
            return self._near(text)
        if type_ in (int, float) and node.id == "scalar":
            read: Callable[[str], Any] = type_
            try:
                return read(text)
            except ValueError:
                self._wrong(node, f"expected a number, found {text!r}")
                return None
        return int(text) if text.isdecimal() else text

    def _text(self, node: Any, what: str) -> str:
        if node.id != "scalar" or node.tag.endswith(":null"):
            self._wrong(node, f"expected {what}")
            return ""
        return str(node.value)

    def _near(self, path: str) -> str:
        """Return an absolute path for one relative to the folder of the file. Addresses and variables stay the same."""
        if path.startswith("${") or (local := local_path(path)) is None:
            return path
        return str((self._path.parent / local).absolute())
