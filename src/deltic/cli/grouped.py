"""Options in groups: a command takes dataclasses, and each field of theirs is an option."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args

_Parameters = Mapping[str, inspect.Parameter]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command for typer: a parameter whose type is a dataclass stands for its fields, and so do fields in turn.

    A dataclass with a `panel` is one group of the command's help.
    """
    parameters = _parameters_of(command)

    @wraps(command)
    def with_options(**given: Any) -> None:
        command(**_made(parameters, given))

    vars(with_options)["__signature__"] = inspect.Signature(list(_options(parameters, None)))
    return with_options


def _parameters_of(taken: Callable[..., Any]) -> _Parameters:
    return inspect.signature(taken, eval_str=True).parameters


def _options(parameters: _Parameters, panel: str | None) -> Iterator[inspect.Parameter]:
    """The parameters; those of its fields replace a dataclass."""
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
    """The arguments for the parameters, dataclasses made of what is given for their fields."""
    return {
        name: kind(**_made(_parameters_of(kind), given)) if _is_group(kind := parameter.annotation) else given[name]
        for name, parameter in parameters.items()
    }
