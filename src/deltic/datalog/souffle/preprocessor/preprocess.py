"""Preprocessing a file: includes are inserted and macros expanded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from deltic.datalog.souffle.preprocessor.directives import Directives
from deltic.datalog.souffle.preprocessor.macros import Macro, MacroError, MacroToken, expand, tokens_of
from deltic.datalog.syntax.source import ProgramText, TextPiece
from deltic.errors import Diagnostic, did_you_mean

DEEPEST = 100
_PLACES = ("__FILE__", "__LINE__", "__INCL__")

# Everything that the preprocessor reacts to. A text without any of it is unchanged.
_USED = re.compile(r"^\s*#|\.include\b|\.once\b|\b__(?:FILE|LINE|INCL)__\b|\bRAM_DOMAIN_SIZE\b", re.MULTILINE)
_PRAGMA = re.compile(r'\.pragma\s+"([^"]*)"\s+"([^"]*)"')


def preprocess(source: ProgramText, macros: Mapping[str, str], findings: list[Diagnostic]) -> ProgramText:
    """Return the preprocessed text of a source, with positions in the original files; `macros` are predefined.

    RAM_DOMAIN_SIZE is predefined, too, as the word size in the text's pragma. The directories in the pragma
    "include-dir" are searched for included files.
    """
    if not macros and not _USED.search(source.text):
        return source
    pragmas = dict(_PRAGMA.findall(source.text))
    texts = {"RAM_DOMAIN_SIZE": pragmas.get("word-size", "64"), **macros}
    directories = tuple(map(Path, filter(None, pragmas.get("include-dir", "").split(os.pathsep))))
    reader = _Reader({name: Macro(tuple(tokens_of(text))) for name, text in texts.items()}, directories, findings)
    reader.read(source)
    return source.assembled(reader.pieces)


class _Reader:
    """The state of reading: the pieces of text, the defined macros, and the files to read only once."""

    def __init__(self, macros: dict[str, Macro], directories: Sequence[Path], findings: list[Diagnostic]) -> None:
        self.pieces: list[tuple[str, TextPiece]] = []
        self._macros, self._directories, self._findings = macros, directories, findings
        self._including: list[str] = []
        """The positions of the open includes, the outermost first."""
        self._once: set[Path] = set()

    def read(self, source: ProgramText) -> None:
        """Read a file and its includes."""
        directives = Directives(self._macros)
        waiting: list[MacroToken] = []
        for line in _lines(source.text):
            words = [token for token in line if not token.is_blank]
            if words and words[0].text == "#":
                self._text(source, waiting)
                waiting = []
                try:
                    self._done(source, words[0], directives.do(words[0], line[line.index(words[0]) + 1 :]))
                except MacroError as error:
                    self._report(source, error)
            elif directives.is_read:
                waiting += line
        self._text(source, waiting)
        for missing in directives.unfinished():
            self._report(source, missing)

    def _done(self, source: ProgramText, sign: MacroToken, name: MacroToken | None) -> None:
        """Execute the result of a directive that begins with `sign`: include a file, or mark this one as read once."""
        if name is not None and name.kind == "string":
            self._include(source, sign, name)
        elif name is not None:
            self._once.add(Path(source.file).resolve())

    def _include(self, source: ProgramText, sign: MacroToken, name: MacroToken) -> None:
        """Read the file with the given name in quotes or angle brackets. Raises MacroError."""
        path = self._sought(source, name.text[1:-1])
        if path.resolve() in self._once:
            return
        if len(self._including) + 1 >= DEEPEST:
            raise MacroError(name, "files include each other without end", "`.once` in a file has it read once")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise MacroError(name, f"the file {path} is not UTF-8 text") from None
        except OSError as error:
            beside = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
            sought = ", ".join(map(str, (path.parent, *self._directories)))
            hint = did_you_mean(path.name, beside) or f"it is sought in {sought}"
            raise MacroError(name, f"the file {path} cannot be read: {error.strerror}", hint) from None
        place = source.place(sign.start, sign.end)
        self._including.append(f"{source.file}:{place.line}:{place.column}")
        self.read(ProgramText(str(path), text))
        self._including.pop()

    def _sought(self, source: ProgramText, name: str) -> Path:
        """Return the path of an included file: beside the including file, or in the first directory that has it."""
        places = [Path(source.file).parent / name, *(directory / name for directory in self._directories)]
        return next((path for path in places if path.is_file()), places[0])

    def _report(self, source: ProgramText, error: MacroError) -> None:
        place = source.place(error.token.start, error.token.end)
        self._findings.append(place.error(error.message, error.hint))

    def _text(self, source: ProgramText, tokens: Sequence[MacroToken]) -> None:
        """Add text without `#` directives, with macros expanded, and execute `.include` and `.once`."""
        begin = 0
        for position in range(1, len(tokens)):
            word = tokens[position]
            if word.text in ("include", "once") and _is_directive(tokens, position):
                self._emit(source, tokens[begin : position - 1])
                begin = position + 1
                if word.text == "include":
                    begin = next((i for i in range(begin, len(tokens)) if not tokens[i].is_blank), len(tokens)) + 1
                try:
                    self._done(source, tokens[position - 1], _asked(word, tokens[begin - 1 : begin]))
                except MacroError as error:
                    self._report(source, error)
        self._emit(source, tokens[begin:])

    def _emit(self, source: ProgramText, tokens: Sequence[MacroToken]) -> None:
        """Add text with macros expanded, and the origin of each part."""
        known = [self._where(token, source) if token.text in _PLACES else token for token in tokens]
        for token in self._expanded(source, known):
            last, piece = self.pieces[-1] if self.pieces else ("", None)
            here = TextPiece(source, token.start, token.end, token.is_made)
            if piece and piece.source is source and not (piece.is_made or here.is_made) and piece.end == here.start:
                self.pieces[-1] = last + token.text, replace(piece, end=here.end)
                continue
            if last[-1:].isalnum() and token.text[:1].isalnum():
                self.pieces.append((" ", replace(here, is_made=True)))
            self.pieces.append((token.text, here))

    def _where(self, token: MacroToken, source: ProgramText) -> MacroToken:
        """Return the value of `__FILE__`, `__LINE__` or `__INCL__` (the positions of the open includes)."""
        if token.text == "__LINE__":
            return replace(token, kind="number", text=str(source.place(token.start, token.end).line), is_made=True)
        text = source.file if token.text == "__FILE__" else ";".join(self._including)
        return replace(token, kind="string", text=f'"{text}"', is_made=True)

    def _expanded(self, source: ProgramText, tokens: Sequence[MacroToken]) -> list[MacroToken]:
        try:
            return list(expand(tokens, self._macros))
        except MacroError as error:
            self._report(source, error)
            return []


def _lines(text: str) -> list[list[MacroToken]]:
    """Return the tokens of each line; a comment of several lines belongs to the line in which it begins."""
    lines: list[list[MacroToken]] = [[]]
    for token in tokens_of(text):
        lines[-1].append(token)
        if token.kind == "newline":
            lines.append([])
    return lines


def _is_directive(tokens: Sequence[MacroToken], position: int) -> bool:
    """Return whether a dot stands right before a word, without a name before the dot, as in `instance.include`."""
    word, dot = tokens[position], tokens[position - 1]
    before = tokens[position - 2] if position > 1 else None
    is_name = before is not None and before.kind == "word" and before.end == dot.start
    return dot.text == "." and dot.end == word.start and not is_name


def _asked(word: MacroToken, behind: Sequence[MacroToken]) -> MacroToken:
    """Return the token for `.once`, or the file name after `.include`. Raises MacroError."""
    if word.text == "once":
        return word
    if not behind or behind[0].kind != "string":
        raise MacroError(word, "`.include` names a file in quotes", 'as in `.include "rules.dl"`')
    return behind[0]
