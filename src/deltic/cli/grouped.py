"""Options in groups: a command takes dataclasses, and each field of theirs is an option."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args

from typer import Option
from typer.models import ParameterInfo

_Parameters = Mapping[str, inspect.Parameter]


def option(default: Any, told: str | ParameterInfo, *names: str, shown: str | bool = True, **more: Any) -> Any:
    """Return a field of a dataclass that is an option with this help, `shown` as its default; or one made elsewhere."""
    info = Option(*names, help=told, show_default=shown, **more) if isinstance(told, str) else told
    return field(default=default, metadata={"told": info})


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command for typer: a parameter whose type is a dataclass stands for its fields, and so do fields in
    turn.

    A dataclass with a `panel` is one group of the command's help.
    """
    parameters = _parameters_of(command)

    @wraps(command)
    def with_options(**given: Any) -> None:
        command(**_made(parameters, given))

    vars(with_options)["__signature__"] = inspect.Signature(list(_options(parameters, None)))
    return with_options


def _parameters_of(taken: Callable[..., Any]) -> _Parameters:
    told = {each.name: each.metadata.get("told") for each in fields(taken)} if is_dataclass(taken) else {}
    return {
        name: found.replace(annotation=Annotated[found.annotation, info]) if (info := told.get(name)) else found
        for name, found in inspect.signature(taken, eval_str=True).parameters.items()
    }


def _options(parameters: _Parameters, panel: str | None) -> Iterator[inspect.Parameter]:
    """Yield the parameters; those of its fields replace a dataclass."""
    for parameter in parameters.values():
        kind = parameter.annotation
        if _is_group(kind):
            yield from _options(_parameters_of(kind), getattr(kind, "panel", panel))
        else:
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=_in_panel(kind, panel))


def _is_group(kind: Any) -> bool:
    return is_dataclass(kind)


def _in_panel(annotation: Any, panel: str | None) -> Any:
    kind, option = get_args(annotation)
    option = copy(option)
    option.rich_help_panel = panel
    return Annotated[kind, option]


def _made(parameters: _Parameters, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for the parameters, dataclasses made of what is given for their fields."""
    return {
        name: kind(**_made(_parameters_of(kind), given)) if _is_group(kind := parameter.annotation) else given[name]
        for name, parameter in parameters.items()
    }
