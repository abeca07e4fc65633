"""Macros of the C preprocessor: definitions and expansion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

_TOKEN = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<string> "(?:\\.|[^"\\\n])*"? )
    | (?P<newline> \n )
    | (?P<space> (?:\\\r?\n|[^\S\n])+ )
    | (?P<word> [A-Za-z_?][A-Za-z0-9_?]* )
    | (?P<number> [0-9][A-Za-z0-9_?]*(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)? )
    | (?P<sign> \#\# | && | \|\| | == | != | <= | >= | << | >> | \.\.\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)
# The most tokens that macros may produce in one stretch of text.
_MOST = 1_000_000
_BLANK = ("space", "newline", "comment")


@dataclass(frozen=True)
class MacroToken:
    """A token of one kind, from `start` to `end` of its file.

    A token that a macro produced has the position of the call, is marked `is_made`, and is not expanded by the macros
    in `hidden`.
    """

    kind: str
    text: str
    start: int
    end: int
    is_made: bool = False
    hidden: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def is_blank(self) -> bool:
        """Whether it is white space or a comment."""
        return self.kind in _BLANK


def tokens_of(text: str) -> Iterator[MacroToken]:
    """Yield the tokens of a text."""
    for match in _TOKEN.finditer(text):
        assert match.lastgroup
        yield MacroToken(match.lastgroup, match.group(), match.start(), match.end())


@dataclass(frozen=True)
class Macro:
    """`#define name body`, or `#define name(parameters) body`; the last parameter `...` takes all further arguments."""

    body: tuple[MacroToken, ...]
    parameters: tuple[str, ...] | None = None


class MacroError(Exception):
    """An error in a definition or call of a macro, at `token`."""

    def __init__(self, token: MacroToken, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.token, self.message, self.hint = token, message, hint


def define(tokens: Sequence[MacroToken], word: MacroToken) -> tuple[str, Macro]:
    """Parse the tokens after `#define` (the `word`). Raises MacroError."""
    rest = list(tokens)
    while rest and rest[0].is_blank:
        rest.pop(0)
    if not rest or rest[0].kind != "word":
        raise MacroError(word, "`#define` needs a name", "write `#define NAME text`")
    name = rest.pop(0)
    parameters = None
    if rest and rest[0].text == "(":
        end = next((i for i, token in enumerate(rest) if token.text == ")"), None)
        listed = [token for token in rest[1:end] if not token.is_blank]
        names = tuple(token.text for token in listed[::2])
        is_list = all(token.text == "," for token in listed[1::2]) and len(listed) % 2 == bool(listed)
        if end is None or not is_list or not all(t.kind == "word" or t.text == "..." for t in listed[::2]):
            raise MacroError(name, f"the parameters of the macro `{name.text}` are no list of names", "as in `F(x, y)`")
        parameters, rest = names, rest[end + 1 :]
    return name.text, Macro(_trimmed(rest), parameters)


def expand(tokens: Sequence[MacroToken], macros: Mapping[str, Macro]) -> Iterator[MacroToken]:
    """Yield the tokens with all macro calls expanded. Raises MacroError."""
    waiting, size = list(reversed(tokens)), 0
    while waiting:
        token = waiting.pop()
        macro = macros.get(token.text) if token.kind == "word" and token.text not in token.hidden else None
        if macro is None:
            yield token
            continue
        end, arguments, hidden = token.end, dict[str, tuple[MacroToken, ...]](), token.hidden
        if macro.parameters is not None:
            result = _call(token, macro.parameters, waiting)
            if result is None:
                yield token
                continue
            arguments, last = result
            end = last.end if not token.is_made else token.end
            hidden &= last.hidden
        hidden |= {token.text}
        size += len(made := _substituted(macro, arguments, macros))
        if size > _MOST:
            raise MacroError(token, f"the macro `{token.text}` expands to more than {_MOST:,} words")
        made = [replace(part, start=token.start, end=end, is_made=True, hidden=part.hidden | hidden) for part in made]
        waiting.extend(reversed(made))


def _call(
    name: MacroToken, parameters: Sequence[str], waiting: list[MacroToken]
) -> tuple[dict[str, tuple[MacroToken, ...]], MacroToken] | None:
    """Return the arguments of a call, removed from `waiting`, and its closing parenthesis; None if no call follows."""
    position = len(waiting) - 1
    while position >= 0 and waiting[position].is_blank:
        position -= 1
    if position < 0 or waiting[position].text != "(":
        return None
    del waiting[position:]
    groups: list[list[MacroToken]] = [[]]
    depth = 1
    while waiting:
        token = waiting.pop()
        depth += (token.text == "(") - (token.text == ")")
        if not depth:
            return _bound(name, parameters, [_trimmed(group) for group in groups]), token
        if token.text == "," and depth == 1 and not (parameters[-1:] == ("...",) and len(groups) == len(parameters)):
            groups.append([])
        else:
            groups[-1].append(token)
    raise MacroError(name, f"the call of the macro `{name.text}` does not end", "a `)` is missing")


def _bound(
    name: MacroToken, parameters: Sequence[str], arguments: list[tuple[MacroToken, ...]]
) -> dict[str, tuple[MacroToken, ...]]:
    if not parameters and arguments == [()]:
        arguments = []
    if parameters[-1:] == ("...",) and len(arguments) == len(parameters) - 1:
        arguments.append(())
    if len(parameters) != len(arguments):
        message = f"the macro `{name.text}` has {len(parameters)} parameters, and gets {len(arguments)} here"
        raise MacroError(name, message)
    names = ("__VA_ARGS__" if parameter == "..." else parameter for parameter in parameters)
    return dict(zip(names, arguments, strict=True))


def _substituted(
    macro: Macro, arguments: Mapping[str, tuple[MacroToken, ...]], macros: Mapping[str, Macro]
) -> list[MacroToken]:
    """Return the body of a macro with its arguments substituted, and `#` and `##` applied."""
    made: list[MacroToken] = []
    parts = list(macro.body)
    position = 0
    while position < len(parts):
        part = parts[position]
        behind = next((i for i in range(position + 1, len(parts)) if not parts[i].is_blank), None)
        if part.text == "##" and made and behind is not None:
            while made and made[-1].is_blank:
                made.pop()
            right = arguments.get(parts[behind].text, (parts[behind],))
            joined = "".join(token.text for token in (*made[-1:], *right[:1]))
            made[-1:] = [*tokens_of(joined), *right[1:]]
            position = behind + 1
        elif part.text == "#" and behind is not None and parts[behind].text in arguments:
            text = "".join(" " if token.is_blank else token.text for token in arguments[parts[behind].text])
            quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
            made.append(MacroToken("string", quoted, 0, 0))
            position = behind + 1
        elif part.text in arguments:
            is_pasted = behind is not None and parts[behind].text == "##"
            argument = arguments[part.text]
            made.extend(argument if is_pasted else expand(argument, macros))
            position += 1
        else:
            made.append(part)
            position += 1
    return made


def _trimmed(tokens: Sequence[MacroToken]) -> tuple[MacroToken, ...]:
    """Return the tokens without blanks at both ends; comments and continued lines become spaces."""
    result = [MacroToken("space", " ", t.start, t.end) if t.kind in ("comment", "space") else t for t in tokens]
    while result and result[-1].is_blank:
        result.pop()
    start = next((i for i, token in enumerate(result) if not token.is_blank), len(result))
    return tuple(result[start:])
