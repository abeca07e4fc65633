"""Codecs: values of DDlog's types, read from records and printed as dumps print them.

`Person{.name = "Ada", .tags = [1, 2]}`: fields of commands may also stand by place, sets and vectors are lists, and
maps lists of pairs. What is printed can be read, and equal values are printed equal: values that a circuit has no
column for are these texts in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

from deltic_ddlog import types as t
from deltic_ddlog.checked import TypeDefinition
from deltic_ddlog.closures import Closures
from deltic_ddlog.json_values import Json, JsonError
from deltic_ddlog.order import TypeOrder, types_in
from deltic_ddlog.records import Listed, Made, Reader, Record, RecordError, Serialized, by_field
from deltic_ddlog.runtime import show_float, show_string, single
from deltic_ddlog.values import LISTS, NONE, Group, MapValue, Struct, Vec, some

REMEMBERED = 1 << 14
"""How many texts of one type are remembered with their values."""


class Codec:
    """The values of one type: `read` makes one of a record, `show` prints one, `of_text` reads what is printed.

    Both readers raise RecordError.
    """

    def __init__(self, type_: t.DdlogType, read: Callable[[Record], Any], show: Callable[[Any], str]) -> None:
        self.type, self.read, self.show = type_, read, show
        self.of_text: Callable[[str], Any] = lru_cache(maxsize=REMEMBERED)(self._of_text)

    def _of_text(self, text: str) -> Any:
        reader = Reader(text)
        result = self.read(reader.record())
        if reader.peek() != ("", ""):
            raise RecordError(f"it is no value of the type {self.type}", reader.offset)
        return result


Style = Literal["dump", "store", "debug"]
"""What texts are for: dumps; columns, which tell the types of `Any`; or Rust's `Debug`, with fields by place."""


class Codecs:
    """The codecs of all types of a program, in one style. Without `closures` there are none of function types."""

    def __init__(
        self, types: Mapping[str, TypeDefinition], style: Style = "dump", closures: Closures | None = None
    ) -> None:
        self._types, self._style, self._closures = types, style, closures
        self._order = TypeOrder(types, None if closures is None else closures.key)
        self._made: dict[t.DdlogType, Codec] = {}

    def key(self, type_: t.DdlogType) -> Callable[[Any], Any]:
        """Return the sort key of a type's values in dumps."""
        return self._order.key(type_)

    def of(self, type_: t.DdlogType) -> Codec:
        """Return the codec of a type. Raises RecordError for one whose values are no records."""
        type_ = t.content(type_)
        if type_ not in self._made:
            self._made[type_] = self._with_json(self._make(type_))
        return self._made[type_]

    def _with_json(self, codec: Codec) -> Codec:
        """Return the codec, which reads `@json"…"` too."""

        def read(record: Record) -> Any:
            if not isinstance(record, Serialized):
                return codec.read(record)
            try:
                return Json(self._types).of_text(codec.type, record.text)
            except JsonError as error:
                raise RecordError(f"@json: {error}") from error

        return Codec(codec.type, read, codec.show)

    def has(self, type_: t.DdlogType) -> bool:
        """Return whether the values of a type are records."""
        try:
            self.check(type_)
        except RecordError:
            return False
        return True

    def check(self, type_: t.DdlogType) -> None:
        """Raise RecordError for a type some of whose values are no records."""
        for each in types_in(self._types, type_, t.content):
            self.of(each)

    def _make(self, type_: t.DdlogType) -> Codec:
        if (simple := _simple(type_)) is not None:
            return simple
        match type_:
            case t.Tuple(items):
                return self._tuple(type_, items)
            case t.CallableType() if self._closures is not None:
                return self._closure(type_, self._closures)
            case t.Named(name, arguments) if name in LISTS:
                return self._list(type_, arguments[0], LISTS[name])
            case t.Named("ddlog_std::Map", arguments):
                return self._list(type_, t.Tuple(arguments), MapValue.of)
            case t.Named("ddlog_std::Group", arguments):
                return self._group(type_, *arguments)
            case t.Named("ddlog_std::Any"):
                return self._any(type_)
            case t.Named("ddlog_std::Option", arguments):
                return self._option(type_, arguments[0])
            case t.Named(name) if self._types[name].constructors:
                return self._struct(type_)
        raise RecordError(f"values of the type {type_} are no records")

    def _tuple(self, type_: t.DdlogType, items: tuple[t.DdlogType, ...]) -> Codec:
        parts = [self.of(item) for item in items]

        def read(record: Record) -> Any:
            if not isinstance(record, tuple) or len(record) != len(parts):
                raise _unfit(record, type_)
            return tuple(part.read(each) for part, each in zip(parts, record, strict=True))

        def show(value: Any) -> str:
            return f"({', '.join(part.show(each) for part, each in zip(parts, value, strict=True))})"

        return Codec(type_, read, show)

    def _closure(self, type_: t.DdlogType, closures: Closures) -> Codec:
        """`closure_0123456789abcdef{5}`: a name, which commands do not know, and the values that are captured."""

        def read(record: Record) -> Any:
            result = closures.of_name(record.name) if isinstance(record, Made) else None
            if result is None or not isinstance(record, Made):
                raise RecordError(f"closures cannot be written: a value of the type {type_} is made in a rule")
            (code, make), values = result, [value for _, value in record.arguments]
            return make(*(self.of(part).read(value) for part, value in zip(code.types, values, strict=True)))

        def show(closure: Any) -> str:
            code, values = closures.taken_apart(closure)
            texts = [self.of(part).show(value) for part, value in zip(code.types, values, strict=True)]
            return f"{code.name}{{{', '.join(texts)}}}" if texts else code.name

        return Codec(type_, read, show)

    def _any(self, type_: t.DdlogType) -> Codec:
        """`Any{"bit<8>", 5}`; dumps print the value alone."""

        def read(record: Record) -> Any:
            match record:
                case Made("Any", ((None, str(name)), (None, value))):
                    return name, self.of(t.of_text(name)).read(value)
            raise RecordError(f"values of the type {type_} cannot be written: one is made in a rule, by `to_any`")

        def show(value: tuple[str, Any]) -> str:
            text = self.of(t.of_text(value[0])).show(value[1])
            return f"Any{{{show_string(value[0])}, {text}}}" if self._style == "store" else text

        return Codec(type_, read, show)

    def _list(self, type_: t.DdlogType, element: t.DdlogType, make: Callable[[Any], Any]) -> Codec:
        part = self.of(element)
        ordered = self._ordered(element) if make is not Vec else None

        def read(record: Record) -> Any:
            if not isinstance(record, Listed):
                raise _unfit(record, type_)
            return make(map(part.read, record.items))

        def show(value: Any) -> str:
            return f"[{', '.join(map(part.show, value if ordered is None else ordered(value)))}]"

        return Codec(type_, read, show)

    def _ordered(self, element: t.DdlogType) -> Callable[[Any], list[Any]] | None:
        """Return the function that sorts a set's elements as in dumps; None if they are sorted."""
        if not self._order.has_own(element):
            return None
        key = self._order.key(element)
        return lambda values: sorted(values, key=key)

    def _group(self, type_: t.DdlogType, key: t.DdlogType, value: t.DdlogType) -> Codec:
        parts = self.of(t.Tuple((key, t.Named("ddlog_std::Vec", (t.Tuple((value, t.Signed(64))),)))))

        def read(record: Record) -> Group:
            result, weights = parts.read(record)
            return Group(result, tuple(weights))

        return Codec(type_, read, lambda group: parts.show((group.key, group.values)))

    def _option(self, type_: t.DdlogType, content: t.DdlogType) -> Codec:
        """An option may also be written as a list of one element or none, or as its value."""
        struct, part = self._struct(type_), self.of(content)

        def read(record: Record) -> Any:
            if isinstance(record, Made) and record.name.rpartition("::")[2] in ("None", "Some"):
                return struct.read(record)
            if isinstance(record, Listed) and len(record.items) <= 1:
                return some(part.read(record.items[0])) if record.items else NONE
            return some(part.read(record))

        return Codec(type_, read, struct.show)

    def _struct(self, type_: t.DdlogType) -> Codec:
        """Types may contain themselves, so that codecs of fields are made when they are first needed."""
        assert isinstance(type_, t.Named)
        definition = self._types[type_.name]
        result: dict[str, list[Codec]] = {}

        def parts(name: str) -> list[Codec]:
            if name not in result:
                fields = next(fields for made, fields in definition.constructors if made.name == name)
                result[name] = list(map(self.of, definition.at(type_, fields)))
            return result[name]

        by_name = {made.name: made for made, _ in definition.constructors}
        short = {name.rpartition("::")[2]: made for name, made in by_name.items()}

        def read(record: Record) -> Any:
            name = record.name.replace(".", "::") if isinstance(record, Made) else ""
            constructor = by_name.get(name) or short.get(name)
            if not isinstance(record, Made) or constructor is None:
                raise _unfit(record, type_, f"its constructors are {', '.join(by_name)}")
            fields = by_field(record, constructor.fields)
            codecs = parts(constructor.name)
            return Struct(
                constructor, (part.read(fields[f]) for part, f in zip(codecs, constructor.fields, strict=True))
            )

        def show(value: Any) -> str:
            codecs, constructor = parts(value.constructor.name), value.constructor
            shown = [part.show(each) for part, each in zip(codecs, value.fields, strict=True)]
            if self._style == "debug":
                return f"{constructor.name}{{{','.join(shown)}}}"
            message = ", ".join(f".{name} = {text}" for name, text in zip(constructor.fields, shown, strict=True))
            return f"{constructor.name}{{{message}}}"

        return Codec(type_, read, show)


def _simple(type_: t.DdlogType) -> Codec | None:
    """Return the codec of a type that is built in."""
    match type_:
        case t.Bool():
            return Codec(type_, _of(bool, type_), lambda value: "true" if value else "false")
        case t.String():
            return Codec(type_, _of(str, type_), show_string)
        case t.BigInt() | t.Bit() | t.Signed():
            return Codec(type_, _integer(type_), str)
        case t.Float() | t.Double():
            is_single = isinstance(type_, t.Float)
            return Codec(type_, lambda r: _float(r, type_, is_single), lambda value: show_float(value, is_single))
    return None


def _unfit(record: Record, type_: t.DdlogType, hint: str = "") -> RecordError:
    descriptions = {
        bool: "a Boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        tuple: "a tuple",
        Listed: "a list",
    }
    what = record.name if isinstance(record, Made) else descriptions.get(type(record), "this")
    return RecordError(f"{what} is no value of the type {type_}" + (f"; {hint}" if hint else ""))


def _of(kind: type, type_: t.DdlogType) -> Callable[[Record], Any]:
    def read(record: Record) -> Any:
        if not isinstance(record, kind):
            raise _unfit(record, type_)
        return record

    return read


def _integer(type_: t.DdlogType) -> Callable[[Record], int]:
    low, high = t.bounds(type_)

    def read(record: Record) -> int:
        if not isinstance(record, int) or isinstance(record, bool):
            raise _unfit(record, type_)
        if not low <= record <= high:
            raise RecordError(f"{record} does not fit into {type_}")
        return record

    return read


def _float(record: Record, type_: t.DdlogType, is_single: bool) -> float:
    if not isinstance(record, int | float) or isinstance(record, bool):
        raise _unfit(record, type_)
    return single(record) if is_single else float(record)
