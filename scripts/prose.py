"""Find turns of phrase that plain English says otherwise, pages whose sentences are long, and too many words.

    python scripts/prose.py            # prints file:line: phrase → instead; exit status 1 where there is one
    python scripts/prose.py --table    # words, words a sentence and reading ease of each page

It reads README.md, CONTRIBUTING.md, CHANGELOG.md, docs/, the docstrings of src/, and the messages in tests/golden/.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTEAD = {
    r"for who(m)? (has|have|reads?|writes?|wants?)\b": "for teams, users, readers with …",
    r"(is|are) told (how|by|in|at|of|that|what)\b": "receives, is named, is listed",
    r"tells? (which|what|of|how|whether) (there|it|they)\b": "lists, shows, names",
    r"what there (is|are)\b": "name the thing",
    r"\bto and fro\b": "back and forth",
    r"\banew\b|\bonce more\b": "again, from scratch",
    r"\bamid\b": "between",
    r"\bas of late\b": "recently",
    r"\bwho (waits|asks|looks) (for|is)\b": "name the subject",
    r"\bis had from\b|\bare had from\b|\bto be had\b": "is available, you get it from",
    r"\bgoes on with\b": "continues with",
    r"\bby itself alone\b": "alone",
    r"\bnobody (waits|asks|looks|needs)\b": "name the subject",
    r"\bthe like of\b|\bsuch as are\b": "such as",
    r"\bmakes good\b": "repairs",
    r"\bmidst\b": "in, during",
    r"\bunless told\b|\bif not told\b|\b(is|are|was|were|be|none) told\b(?! apart)": "is named, logged, given, listed",
    r"\b(is|are|was) to be\b": "must be, will be, or the plain verb",
    r"\bin the (place|stead) of\b": "instead of, for",
    r"\basked of\b": "demanded, requested",
    r"\b(go|goes|went) by\b|\bgone on\b": "follows, matches by, uses",
    r"\bso often[.,;]": "at this interval",
    r"\braises? \w+ for what\b": "raises … if",
    r"(?<!says )(?<!means )(?<!told )\bthat there (is|are)\b": "existing, that exists",
    r"\b(that|which|what) (is|are|was|were) there\b": "present, existing",
    r"\bby what for\b": "by use, by purpose",
    r"\bwhat [\w`.' ]{1,40}\bmakes? of (?!its|it )": "the result of",
    r"\bwhat gives of\b": "the function from … to …",
    r"\bwhat stands? (for|in|at)\b": "the placeholder, the default, the element",
    r"\b(has|have) not the\b": "does not match, lacks",
}
"""Phrases, as regular expressions, and what to write in their place."""

_PATTERNS = {re.compile(phrase, re.IGNORECASE): hint for phrase, hint in INSTEAD.items()}
_WORDS_A_SENTENCE = 20
_WORDS = {"README.md": 900, "docs": 30_000}
"""The most words of README.md, and of it and docs/ with code and generated lists: what you add, you pay by deleting."""


def pages() -> list[Path]:
    """The pages that a user or a contributor reads."""
    return [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
        (ROOT / "docs").rglob("*.md")
    )


def texts() -> Iterator[tuple[Path, int, str]]:
    """Every line of prose, with its file and number."""
    for path in (*pages(), *sorted((ROOT / "tests" / "golden").rglob("*.txt"))):
        yield from (
            (path, number, line) for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        )
    for folder in ("src", "extensions/ddlog/src", "extensions/dbt/src", "theory/src"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from docstrings(path)


def docstrings(path: Path) -> Iterator[tuple[Path, int, str]]:
    """The lines of a module's docstrings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield from ((path, node.lineno + i, line) for i, line in enumerate(text.splitlines()))


def sentences(page: Path) -> list[list[str]]:
    """The words of each sentence of a page's running text: no code, tables, headings."""
    text = re.sub(
        r"```.*?```|^ {4}.*?$|^\|.*?$|^#.*?$|^!\[.*?$|`[^`]*`",
        " x ",
        page.read_text(encoding="utf-8"),
        flags=re.M | re.S,
    )
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(?<=[.!?])\s+|\n\s*\n|^\s*[*\d]+[.]? ", text, flags=re.MULTILINE)
    return [words for part in parts if len(words := re.findall(r"[^\W\d_][\w'-]*", part)) > 2]


def words_of(page: Path) -> int:
    """The words of a page: whatever stands between blanks and has a letter or digit."""
    return sum(bool(re.search(r"\w", word)) for word in page.read_text(encoding="utf-8").split())


def measures(page: Path) -> tuple[int, float, float]:
    """The words of a page, its words a sentence, and its reading ease by Flesch's formula: 60 is plain."""
    each = sentences(page)
    words = [word for sentence in each for word in sentence]
    length = len(words) / max(1, len(each))
    syllables = sum(max(1, len(re.findall(r"[aeiouy]+", word.lower().rstrip("e")))) for word in words) / max(
        1, len(words)
    )
    return words_of(page), length, 206.835 - 1.015 * length - 84.6 * syllables


def main(arguments: list[str]) -> int:
    """The exit status: 1 where a phrase stands somewhere, or a page has long sentences."""
    if arguments == ["--table"]:
        rows = [(page.relative_to(ROOT), *measures(page)) for page in pages()]
        print(f"{'page':<32}{'words':>8}{'a sentence':>12}{'ease':>6}")
        for page, words, length, ease in rows:
            print(f"{page!s:<32}{words:>8}{length:>12.1f}{ease:>6.0f}")
        print(f"{'all':<32}{sum(row[1] for row in rows):>8}")
        return 0
    problems = [
        f"{path.relative_to(ROOT)}:{number}: “{match[0]}” → {hint}"
        for path, number, line in texts()
        for pattern, hint in _PATTERNS.items()
        if (match := pattern.search(line))
    ]
    for page in pages():
        if (length := measures(page)[1]) > _WORDS_A_SENTENCE:
            problems.append(f"{page.relative_to(ROOT)}: {length:.1f} words a sentence, more than {_WORDS_A_SENTENCE}")
    read = [page for page in pages() if page.name == "README.md" or (ROOT / "docs") in page.parents]
    for name, most in _WORDS.items():
        if (words := sum(words_of(page) for page in read if name == "docs" or page.name == name)) > most:
            problems.append(f"{name}: {words:,} words, more than {most:,}")
    print("\n".join(problems) or "no phrase to change")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
