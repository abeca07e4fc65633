"""Python functions for SQL and Datalog: their declarations, and modules of them."""

from __future__ import annotations

import importlib.util
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from deltic.catalog.columns import remedy, value_type
from deltic.circuit.custom import CustomOperator, OfPython
from deltic.circuit.python import Nulls, PythonFunction
from deltic.engine.files.address import path_here
from deltic.errors import CatalogError, DataError, Diagnostic
from deltic.pipeline.names import check_choice
from deltic.values.types import ValueType


def function(
    body: Any = None,
    /,
    *,
    name: str | None = None,
    arguments: Sequence[Any] | None = None,
    returns: Any = None,
    vectorized: bool = False,
    nulls: Nulls = "skip",
    deterministic: bool = False,
) -> Any:
    """Return a function of Python for SQL and Datalog; see `Pipeline.function`.

    It is also a decorator, with the function's own name as the default:

        @deltic.function(deterministic=True)
        def domain(url: str) -> str | None: ...

    Raises CatalogError for missing or unknown types.
    """
    if body is None:
        given = {"name": name, "arguments": arguments, "returns": returns, "vectorized": vectorized, "nulls": nulls}
        return lambda decorated: function(decorated, deterministic=deterministic, **given)
    called = str(name or getattr(body, "__name__", ""))
    if not (callable(body) and called.isidentifier()):  # what a user gives may be anything
        raise CatalogError(f"function {called or body!r}: give it a name and something that can be called")
    if not deterministic:
        raise CatalogError(
            f"function {called}: a maintained view computes it again to find the rows that go, so that it has to give "
            "the same value for the same arguments; declare that it does: deterministic=True"
        )
    check_choice(nulls, "way to treat NULL", get_args(Nulls))
    takes, gives = _signature(called, body, arguments, returns)
    return PythonFunction(called, body, tuple(t.type for t in takes), gives, "arrow" if vectorized else "row", nulls)


def functor(body: Any = None, /, **options: Any) -> Any:
    """As `function`, for Datalog alone: its name may be one of SQL's, such as `size`.

    It is also a decorator:

        @deltic.functor(deterministic=True)
        def size(set: str) -> int: ...

    Raises CatalogError for missing or unknown types.
    """
    if body is None:
        return lambda decorated: functor(decorated, **options)
    return replace(function(body, **options), in_sql=False)


def _signature(
    name: str, body: Callable[..., Any], arguments: Sequence[Any] | None, returns: Any
) -> tuple[list[ValueType], ValueType]:
    """Return the argument and result types, given or annotated."""
    hints = _hints(body) if arguments is None or returns is None else {}
    if arguments is None:
        parameters = list(inspect.signature(body).parameters)
        missing = next((p for p in parameters if p not in hints), None)
        if missing is not None:
            raise CatalogError(f"function {name}: its argument {missing} has no type; give arguments=[…]")
        arguments = [hints[p] for p in parameters]
    given = hints.get("return") if returns is None else returns
    if given is None:
        raise CatalogError(f'function {name}: the type of its result is not known; give returns="…"')
    return [_type(name, a) for a in arguments], _type(name, given)


def _hints(body: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(body)
    except (NameError, TypeError):
        return {}


def _type(name: str, given: Any) -> ValueType:
    """Return a type; a Python class may be `| None`."""
    parts = get_args(given) if get_origin(given) is types.UnionType else ()
    inner = [part for part in parts if part is not type(None)]
    result = value_type(inner[0] if len(inner) == 1 and len(parts) == 2 else given)
    if result is None:
        raise CatalogError(f"function {name}: there is no type {given!r}; {remedy(given)}")
    return result.type.or_null if inner else result


def functions_of(given: Iterable[OfPython] | str | Path) -> list[OfPython]:
    """Collect Python functions, functors, aggregates and operators: the given ones, or those of a Python file.

    Raises DataError for a file without any, and CatalogError for other values.
    """
    result = _in_module(path_here(given)) if isinstance(given, str | Path) else list(given)
    for each in result:
        check_made(each)
    return result


def check_made(given: Any) -> None:
    """Raise CatalogError for a value that no decorator of Deltic has made."""
    if not isinstance(given, PythonFunction | CustomOperator):
        raise CatalogError(f"function {given!r}: make it one by deltic.function, functor, aggregate or operator")


def _in_module(module: Path) -> list[OfPython]:
    spec = importlib.util.spec_from_file_location(module.stem, module)
    if spec is None or spec.loader is None or not module.is_file():
        raise DataError([Diagnostic("there is no such module of Python", str(module))])
    loaded = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(loaded)
    except Exception as error:
        raise DataError([Diagnostic(f"{type(error).__name__}: {error}", str(module))]) from error
    result = {f.name: f for f in vars(loaded).values() if isinstance(f, PythonFunction | CustomOperator)}
    if not result:
        message = "nothing in it was made by deltic.function, functor, aggregate or operator"
        raise DataError([Diagnostic(message, str(module))])
    return list(result.values())
