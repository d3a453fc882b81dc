"""
Read a Metal program as tokens, and replace parts of its text.

This module checks each token by itself: it rejects keywords of C++ that Metal lacks and the
compiler's names, and rewrites numbers and directives.
"""

from __future__ import annotations

import re
from bisect import bisect_right

SOURCE_NAME = "program_source"

NOT_IN_METAL = {
    "asm",
    "catch",
    "char16_t",
    "char32_t",
    "co_await",
    "co_return",
    "co_yield",
    "delete",
    "double",
    "dynamic_cast",
    "free",
    "goto",
    "malloc",
    "mutable",
    "new",
    "printf",
    "register",
    "std",
    "thread_local",
    "throw",
    "try",
    "typeid",
    "virtual",
    "wchar_t",
}
# Names of the compiler or of the emulator. Programs may use other names with two underscores.
OF_COMPILER = re.compile(
    r"__(?:msl_|MSL_|type_of_|builtin_|attribute|declspec|asm|typeof|int128|bf16|fp16|float"
    r"|restrict|extension|sanitizer)|__msl$"
)
BUILTINS = {"__builtin_clz", "__builtin_ctz", "__builtin_popcount"}  # MLX uses one

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<directive>^[ \t]*\#(?:[^\n\\/]|\\\n|\\.|/\*.*?\*/|//[^\n]*|/)*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>::|.)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
WORD_IN_DIRECTIVE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|(?<![\w.])(?P<word>[A-Za-z_]\w*)",
    re.DOTALL,
)
DEFINITION = re.compile(r"\s*#\s*define\b")
LINE_MARKER = re.compile(rf'# (?P<line>\d+) "{SOURCE_NAME}".*\n')
INCLUDE = re.compile(r"\s*#\s*(?:include|import)\s*(?P<name>[^\s]*)")
PRAGMA = re.compile(r"\s*#\s*pragma\s+METAL\s+(?P<what>.*)", re.DOTALL)
CONTRACTION = re.compile(r"fp\s+contract\s*\(\s*(?P<value>off|on|fast)\s*\)\s*$")
METAL_HEADER = re.compile(r"<(?:metal_\w+|simd/simd\.h)>$")
HALF_LITERAL = re.compile(
    r"(?:[0-9.]+(?:[eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F.]+[pP][+-]?[0-9]+)[hH]$"
)
BFLOAT_LITERAL = re.compile(r"[0-9.]+(?:[eE][+-]?[0-9]+)?(?:bf|BF)$")
FOREIGN_LITERAL = re.compile(
    r"[0-9.][0-9.eExXa-fA-FpP+-]*?(?P<suffix>[fF]16|[bB][fF]16|[uU]?(?:ll|LL)[uU]?)$"
)
LONG_DOUBLE_LITERAL = re.compile(r"(?!0[xX])[0-9.]*[.eE][0-9.eE+-]*[lL]$")

OPENING = {"(": ")", "[": "]", "{": "}"}


class Token:
    """A word, number, string or sign, and its position in the text."""

    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = start + len(text)


class Problem:
    """An error in a Metal program."""

    __slots__ = ("column", "line", "message", "source")

    def __init__(self, line: int, column: int, message: str, source: str) -> None:
        self.line = line
        self.column = column
        self.message = message
        self.source = source

    def __str__(self) -> str:
        """Return the error in the form of clang's diagnostics."""
        where = f"{SOURCE_NAME}:{self.line}:{self.column}"
        caret = " " * (self.column - 1) + "^"
        return f"{where}: error: {self.message}\n{self.source}\n{caret}"


class MetalError(Exception):
    """An error in a declaration, which ends its reading."""

    def __init__(self, start: int, message: str) -> None:
        super().__init__(message)
        self.start = start
        self.message = message


class UnbalancedError(MetalError):
    """A bracket is not closed. The compiler's error for this is better."""


class Source:
    """
    A Metal program as text and tokens, with changes of its text.

    Parameters
    ----------
    text : str
        The program, or the rest of it after a prelude.
    first_line : int, optional
        The number of the first line of `text` in the whole program.
    preprocessed : bool, optional
        Whether `text` is the preprocessor's output, with its line markers.

    Attributes
    ----------
    problems : list of Problem
        The errors in the program.
    has_kernels_in_macros : bool
        Whether a macro contains the word ``kernel``. The list of kernels is whole only if
        the text was preprocessed.
    """

    def __init__(
        self, text: str, first_line: int = 1, *, preprocessed: bool = False
    ) -> None:
        self.text = text
        self.first_line = first_line
        self.problems: list[Problem] = []
        self.has_kernels_in_macros = False
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self._numbers = self._line_numbers(preprocessed)
        self._edits: list[tuple[int, int, str]] = []
        self._tokens: list[Token] = []
        self._includes_metal = first_line > 1 or preprocessed
        self._read_tokens()

    def cxx(self) -> str:
        """Return the program as C++."""
        parts, at = [], 0
        for start, end, replacement in sorted(self._edits):
            if start >= at:  # and not within a declaration that was replaced as a whole
                parts += self.text[at:start], replacement
                at = end
        return "".join([*parts, self.text[at:]])

    # -- Places and changes

    def place(self, start: int) -> tuple[int, int]:
        """Return the line and the column of an offset. Both begin at one."""
        row = self._row(start)
        return self._numbers[row], start - self._lines[row] + 1

    def _row(self, start: int) -> int:
        """Return the index of the line that contains an offset."""
        return bisect_right(self._lines, start) - 1

    def _line_numbers(self, preprocessed: bool) -> list[int]:
        """Return the number in the program of each line of the text."""
        numbers = []
        number = self.first_line
        for line in self.text.splitlines(keepends=True) if preprocessed else ():
            numbers.append(number)
            marker = LINE_MARKER.match(line)
            number = int(marker["line"]) if marker else number + 1
        return [*numbers, *range(number, number + len(self._lines) - len(numbers))]

    def _problem(self, start: int, message: str) -> Problem:
        """Return a problem at an offset."""
        line, column = self.place(start)
        source = self.text[self._lines[self._row(start)] :].split("\n", 1)[0]
        return Problem(line, column, message, source)

    def _refuse(self, start: int, message: str) -> None:
        """Record a problem."""
        self.problems.append(self._problem(start, message))

    def _blank(self, start: int, end: int) -> None:
        """Replace text by spaces, which keeps lines and columns."""
        self._edits.append((start, end, re.sub(r"[^\n]", " ", self.text[start:end])))

    # -- Words, numbers and directives

    def _read_tokens(self) -> None:
        """Collect the tokens of declarations, and check each token by itself."""
        for match in TOKEN.finditer(self.text):
            kind, text, start = match.lastgroup or "", match.group(), match.start()
            if kind == "space":
                continue
            if kind == "directive":
                self._read_directive(text, start)
                continue
            if kind == "word":
                self._check_word(text, start)
            elif kind == "number":
                self._read_number(text, start)
            self._tokens.append(Token(kind, text, start))

    def _check_word(self, word: str, start: int) -> None:
        """Reject C++ words that Metal lacks, and names reserved for the compiler."""
        if word == "long" and self._tokens and self._is_adjacent_long(start):
            self._refuse(start, "'long long' is not supported in Metal")
        elif word in NOT_IN_METAL:
            self._refuse(start, f"'{word}' is not supported in Metal")
        elif OF_COMPILER.match(word) and word not in BUILTINS:
            self._refuse(start, f"'{word}': this name is the compiler's")
        elif word == "metal" and not self._includes_metal:
            self._refuse(start, "there is no #include <metal_stdlib> above")
            self._includes_metal = True

    def _is_adjacent_long(self, start: int) -> bool:
        """Return whether only spaces are between ``long`` and the offset."""
        last = self._tokens[-1]
        return last.text == "long" and self.text[last.end : start].isspace()

    def _read_number(self, number: str, start: int) -> None:
        """Rewrite a number in the form of C++."""
        if HALF_LITERAL.match(number):
            self._edits.append((start, start + len(number), number[:-1] + "f16"))
        elif BFLOAT_LITERAL.match(number):
            cast = f"bfloat({number[:-2]}f)"
            self._edits.append((start, start + len(number), cast))
        elif foreign := FOREIGN_LITERAL.match(number):
            self._refuse(start, f"Metal has no suffix {foreign['suffix']!r} of numbers")
        elif LONG_DOUBLE_LITERAL.match(number):
            self._refuse(start, "'long double' is not supported in Metal")

    def _read_directive(self, directive: str, start: int) -> None:
        """Check a directive that includes or defines something."""
        include = INCLUDE.match(directive)
        if include:
            if METAL_HEADER.match(include["name"]):
                self._includes_metal = True
                # All headers are included already.
                self._blank(start, start + len(directive))
            else:
                at = start + include.start("name")
                self._refuse(at, f"cannot include {include['name']} in a Metal program")
            return
        pragma = PRAGMA.match(directive)
        if pragma:
            self._read_pragma(pragma["what"], directive, start)
            return
        in_definition = DEFINITION.match(directive) is not None
        for match in WORD_IN_DIRECTIVE.finditer(directive):
            word = match["word"]
            if word:
                self._check_word(word, start + match.start("word"))
                self.has_kernels_in_macros |= word == "kernel" and in_definition

    def _read_pragma(self, what: str, directive: str, start: int) -> None:
        """Rewrite a pragma about contraction for clang, and reject other pragmas."""
        contraction = CONTRACTION.match(what)
        if what.startswith("internals"):  # lets a program use the compiler's names
            self._blank(start, start + len(directive))
        elif contraction:
            code = f"#pragma clang fp contract({contraction['value']})"
            self._edits.append((start, start + len(directive), code))
        else:
            self._refuse(start, f"unknown pragma of Metal: {what.strip()!r}")

    # -- Brackets

    def _begins_statement(self, i: int) -> bool:
        """Return whether a token is the first of a statement or declaration."""
        return i == 0 or self._tokens[i - 1].text in {"{", "}", ";"}

    def _is(self, i: int, text: str) -> bool:
        """Return whether the token at i exists and has this text."""
        return i < len(self._tokens) and self._tokens[i].text == text

    def _matching(self, i: int) -> int:
        """Return the index of the bracket that closes the one at i."""
        closing = [OPENING[self._tokens[i].text]]
        for j in range(i + 1, len(self._tokens)):
            text = self._tokens[j].text
            if text in OPENING:
                closing.append(OPENING[text])
            elif text == closing[-1]:
                closing.pop()
                if not closing:
                    return j
        raise UnbalancedError(self._tokens[i].start, f"no closing {closing[0]!r}")

    def _after_angles(self, i: int) -> int:
        """Return the index after the ``>`` that closes the ``<`` at i."""
        depth = 0
        while i < len(self._tokens):
            text = self._tokens[i].text
            if text in OPENING:
                i = self._matching(i)
            elif text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return i + 1
            i += 1
        raise UnbalancedError(self._tokens[-1].start, "no closing '>'")

    def _opening(self, i: int) -> int:
        """Return the index of the parenthesis around a token of a statement, or -1."""
        depth = 0
        while i > 0 and self._tokens[i - 1].text not in {";", "{", "}"}:
            i -= 1
            depth += (self._tokens[i].text == ")") - (self._tokens[i].text == "(")
            if depth < 0:
                return i
        return -1

    # -- Attributes

    def _is_attribute(self, i: int) -> bool:
        """Return whether ``[[`` is at i."""
        return (
            self._is(i, "[")
            and self._is(i + 1, "[")
            and self._tokens[i].end == self._tokens[i + 1].start
        )

    def _attribute_end(self, i: int) -> int:
        """Return the index after the ``]]`` that closes the ``[[`` at i."""
        return self._matching(i) + 1

    def _attributes(self, i: int) -> list[list[Token]]:
        """Return the tokens of each attribute in the ``[[...]]`` at i."""
        inner = self._tokens[i + 2 : self._attribute_end(i) - 2]
        return split(inner)

    def _attribute_names(self, i: int) -> list[str]:
        """Return the names of the attributes in the ``[[...]]`` at i."""
        return [attribute[0].text for attribute in self._attributes(i) if attribute]

    def _blank_attribute(self, i: int) -> None:
        """Blank attributes that the compiler does not know."""
        end = self._tokens[self._attribute_end(i) - 1].end
        self._blank(self._tokens[i].start, end)


def split(tokens: list[Token]) -> list[list[Token]]:
    """Split tokens at commas outside of brackets, without empty parts."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "sign":
            depth += (token.text in "([{<") - (token.text in ")]}>")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
