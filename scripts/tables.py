"""Write what docs/ has from the code: each table stands between `<!-- table: NAME -->` and `<!-- end -->`.

A name that is a path stands for the text of that program, and of the one in SQL beside it.

With `--check` nothing is written; the exit status is 1 when a page is out of date.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.models import ArgumentInfo

import deltic
from deltic.cli.main import app
from deltic.datalog.checks.functors import CALLS, SAME, FunctorProfile
from deltic.datalog.checks.type_names import BASE_TYPES
from deltic.datalog.souffle.words import SOUFFLE
from deltic.pipeline.metrics import FAMILIES
from deltic.pipeline.options import GROUPS
from deltic.pipeline.registry import TIERS, ListedFunction, listed
from deltic.server.http.app import HttpApplication
from deltic.server.http.endpoints import endpoints
from deltic.server.http.events import ChangeEvents
from deltic.server.http.measuring import ServerMetrics
from deltic.server.service import Service
from deltic.sql.aggregates import AGGREGATES
from deltic.sql.remedies import REFUSED

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(<!-- table: ([^\n]*) -->\n).*?(<!-- end -->\n)", re.DOTALL)

Row = tuple[str, ...]


def table(head: Row, *rows: Row) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def items(*rows: Row) -> Iterator[str]:
    """The lines of a list of names with their meanings."""
    yield from (f"* {name}: {meaning}" for name, meaning in rows)


def about(of: Any) -> str:
    """A docstring as one paragraph, with links to the pages that it names, and without sources."""
    return one_line(inspect.getdoc(of) or "")


def one_line(text: str) -> str:
    """A text on one line, with links to the pages that it names, and without sources."""
    text = re.sub(r" \[(?:DBSP|FIX|ELA|Spark)\b[^]]*\]", "", " ".join(text.split()))
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", text)


def called(of: type) -> str:
    """How a class is called, with the defaults."""
    return f"{of.__name__}({', '.join(given(of))})"


def given(of: Callable[..., Any]) -> Iterator[str]:
    """The arguments of a call, with the defaults."""
    for name, parameter in inspect.signature(of).parameters.items():
        value = parameter.default
        yield f"{name}={json.dumps(value) if isinstance(value, str) else value}"


def options() -> Iterator[str]:
    """The parameters of Pipeline, and the groups of options."""
    told = inspect.getdoc(deltic.Pipeline) or ""
    for name, text in re.findall(r"^- `(\w+)`: (.*?)(?=^- |^$)", told, re.M | re.S):
        yield f"* `{name}`: {one_line(text)}"
    yield from (f"* `{name}={called(group)}`: {about(group)}" for name, group in GROUPS.items())


TASKS = {
    "define": "Pipeline: table sql datalog ddlog view flow function alter replace redefine drop",
    "change rows": "Pipeline: transaction execute prepare what_if advance; "
    "Transaction: insert delete upsert update change sql preview of report",
    "ask": "Pipeline: query duckdb snapshot at; View: lookup rows",
    "take rows out": "View: to_pandas to_polars to_arrow to_spark show head; Rows: write",
    "follow changes": "Pipeline: changes observe stream",
    "read sources and publish views": "Pipeline: refresh pending attach detach publish unpublish",
    "understand": "Pipeline: why why_not missing lineage impact explain maintenance",
    "operate": "Pipeline: epoch positions watermarks sizes serve_metrics checkpoint compact follow close",
}
"""What a reader wants to do, with the methods for it."""
_AS_WRITTEN = {"Pipeline": "pipeline", "Transaction": "change", "View": 'pipeline["v"]', "Rows": "rows"}


def tasks() -> Iterator[str]:
    """The methods by what they are for, each with the first clause of its docstring."""
    for task, groups in TASKS.items():
        methods = [
            (of, name) for of, _, names in (g.partition(": ") for g in groups.split("; ")) for name in names.split()
        ]
        yield from (f"**To {task}**", "")
        yield from items(
            *((f"`{_AS_WRITTEN[of]}.{name}`", purpose(getattr(getattr(deltic, of), name))) for of, name in methods)
        )
        yield ""


def purpose(of: Any) -> str:
    """The first clause of a docstring; of what it returns, the result."""
    clause = re.split(r"[.;:](?: |$)", about(of), maxsplit=1)[0].removeprefix("Return ")
    return clause[:1].upper() + clause[1:]


def errors() -> Iterator[str]:
    """The public errors, each with the more general one that it is."""
    named = [(name, getattr(deltic, name)) for name in deltic.__all__]
    yield from items(
        *(
            (f"`{name}`{more_general(of)}", about(of))
            for name, of in named
            if isinstance(of, type) and issubclass(of, BaseException)
        )
    )


def more_general(of: type) -> str:
    """The public class of errors that an error is, unless that is the base of all."""
    public = [base.__name__ for base in of.__mro__[1:] if base.__name__ in deltic.__all__]
    return f" (`{public[0]}`)" if public and public[0] != "DelticError" else ""


def metrics() -> Iterator[str]:
    """The metrics of a pipeline, and those of a server."""
    with deltic.Pipeline() as pipeline, Service(pipeline) as service:
        measuring = ServerMetrics(service)
        measuring.answered("GET", "/", 200, 0)
        text = measuring.text().decode()
        measuring.close()
    yield from items(
        *(
            (f"`{name}{labelled(name, text)}`", meaning)
            for name, meaning in re.findall(r"^# HELP (deltic_\S+(?<!_created)) (.*)$", text, re.M)
        )
    )


def labelled(name: str, text: str) -> str:
    """The labels of a metric, in braces."""
    return f"{{{', '.join(found)}}}" if (found := labels(name, text)) else ""


def labels(name: str, text: str) -> tuple[str, ...]:
    """The labels of a metric."""
    if name in FAMILIES:
        return FAMILIES[name][2]
    sample = re.search(rf"^{name}\w*{{(.*)}}", text, re.M)
    return tuple(label for label in re.findall(r'(\w+)="', sample[1]) if label != "le") if sample else ()


def commands() -> Iterator[str]:
    """Each command with its arguments and options; those of several commands come once, at the end."""
    named = {command_name(each): each.callback for each in sorted(app.registered_commands, key=command_name)}
    rows = {
        name: [*map(option, inspect.signature(of, eval_str=True).parameters.values())] for name, of in named.items()
    }
    uses = Counter(row for each in rows.values() for row in each)
    shared = [row for row, count in uses.items() if count > 2 and row[0].startswith("`-")]
    for name, of in named.items():
        yield from (f"## deltic {name}", "", about(of), "")
        if own := [row for row in rows[name] if row not in shared]:
            yield from (*items(*own), "")
        if others := [row[0].split()[0].strip("`,") for row in rows[name] if row in shared]:
            yield from (f"[Shared options](#shared-options): {', '.join(f'`{other}`' for other in others)}.", "")
    yield from ("## Shared options", "", *items(*shared))


def command_name(command: Any) -> str:
    """What a command is called by."""
    return command.name or command.callback.__name__


def option(of: inspect.Parameter) -> Row:
    """The row of an option or argument: its names with its value, and its help with the default."""
    kind, info = get_args(of.annotation)
    flag = kind is bool
    value = "" if flag else info.metavar or ", ".join(choices_of(kind)) or value_name(of.name, kind)
    named = (*((info.default,) if isinstance(info.default, str) else ()), *(info.param_decls or ()))
    plain_name = of.name.replace("_", "-")
    unnamed = (f"--{plain_name}", *((f"--no-{plain_name}",) if flag else ()))
    names = "" if isinstance(info, ArgumentInfo) else ", ".join(named or unnamed)
    shown = info.show_default and not flag and of.default not in (None, inspect.Parameter.empty)
    plain = f"`{getattr(of.default, 'value', of.default)}`" if shown else ""
    default = info.show_default if isinstance(info.show_default, str) else plain
    text = f"{info.help} Default: {default}." if default not in ("", "none") else info.help
    return f"`{names} {value}`".replace(" `", "`").replace("` ", "`").replace("|", ", "), text


def value_name(name: str, kind: Any) -> str:
    """What stands for the value of an option."""
    return "N" if {int, float} & {kind, *get_args(kind)} else name.rpartition("_")[2].upper()


def choices_of(kind: Any) -> Sequence[str]:
    """The values of an option, if they are few."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((found for each in get_args(kind) if (found := choices_of(each))), ())


def server_endpoints() -> Iterator[str]:
    """The endpoints of a server."""
    handlers: Any = ChangeEvents.respond, ServerMetrics.respond, HttpApplication.openapi
    rows = (
        (
            f"`{each.method} {each.path.replace('{name}', 'NAME')}`",
            each.about,
            each.role.name.lower() if each.role else "none",
        )
        for each in endpoints(*handlers)
    )
    yield from table(("endpoint", "", "role"), *rows)


def aggregates() -> Iterator[str]:
    """The aggregates of SQL."""
    yield ", ".join(f"`{name}`" for name in AGGREGATES)


def computed_by(function: ListedFunction) -> tuple[int, str]:
    """The place in the table of a function: its slowest tier, and the first reason for Python."""
    place = TIERS.index(function.tiers[-1])
    return place, function.reasons[0] if TIERS[place] == "Python" else ""


def functions() -> Iterator[str]:
    """The functions of SQL, a row for each tier, and in Python for each reason."""
    rows: dict[tuple[int, str], list[str]] = {}
    for function in listed():
        if "SQL" in function.languages:
            rows.setdefault(computed_by(function), []).extend(f"`{name}`" for name in function.languages["SQL"])
    yield from table(
        ("computed by", "functions"),
        *(
            (f"{TIERS[place]}{f': {reason}' if reason else ''}", ", ".join(named))
            for (place, reason), named in sorted(rows.items())
        ),
    )


def refused() -> Iterator[str]:
    """The functions that a view cannot have, by what to do instead."""
    rows: dict[str, list[str]] = {}
    for name, remedy in REFUSED.items():
        rows.setdefault(remedy, []).append(f"`{name}`")
    yield from table(("function", "instead"), *((", ".join(named), remedy) for remedy, named in rows.items()))


def functors() -> Iterator[str]:
    """Datalog's functors by the types that they take and give, with the functions of SQL that equal them."""
    rows: dict[str, list[str]] = {}
    for name, profile in CALLS.items():
        equal = SOUFFLE[name][0]
        rows.setdefault(types_of(profile), []).append(
            f"`{name}`" + (f" (`{equal}`)" if equal not in ("", name) else "")
        )
    yield from table(("functor (and its name in SQL)", "types"), *((", ".join(each), of) for of, each in rows.items()))


def types_of(profile: FunctorProfile) -> str:
    """The types that a functor takes and gives."""
    places = [one_type(place) for place in profile.arguments]
    places = places[: profile.least] + [f"[{place}]" for place in places[profile.least :]] if profile.least else places
    return f"{', '.join(places)}{', …' if profile.more else ''} → {one_type(profile.result)}"


def one_type(place: Any) -> str:
    """The types of an argument or a result, in Datalog's words."""
    if isinstance(place, str):
        return "a type" if place == SAME else "any"
    named = sorted(name for name, type_ in BASE_TYPES.items() if type_ in place)
    return named[0] if len(named) == 1 else "any"


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "aggregates": aggregates,
    "commands": commands,
    "endpoints": server_endpoints,
    "errors": errors,
    "functions": functions,
    "functors": functors,
    "metrics": metrics,
    "options": options,
    "refused functions": refused,
    "tasks": tasks,
}


def programs(path: str) -> Iterator[str]:
    """A program in Datalog, and in SQL where there is such a file."""
    for language, suffix in (("datalog", ".dl"), ("sql", ".sql")):
        if (file := (ROOT / path).with_suffix(suffix)).exists():
            yield f"```{language}\n{file.read_text(encoding='utf-8')}```\n"


def made(name: str) -> Iterator[str]:
    """The lines of a table, or of a program."""
    return TABLES[name]() if name in TABLES else programs(name)


def page(text: str) -> str:
    """A page with its tables as they are to be."""
    return PLACE.sub(lambda found: "\n".join((found[1], *made(found[2]))).rstrip() + "\n\n" + found[3], text)


def outdated() -> dict[Path, str]:
    """The pages that are out of date, with their text as it is to be."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))}
    return {path: new for path, text in pages.items() if (new := page(text)) != text}


def main() -> int:
    """Write or check the pages; the exit status is 1 when a check finds one out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    check, pages = parser.parse_args().check, outdated()
    for path, text in pages.items():
        print(path.relative_to(ROOT))
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(check and bool(pages))


if __name__ == "__main__":
    sys.exit(main())
