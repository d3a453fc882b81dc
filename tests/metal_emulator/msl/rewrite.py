"""Rewrite a Metal program as C++ with the same lines and columns.

This module does not parse. It finds the parts that C++ would misread (attributes,
``host_name``, threadgroup variables, address spaces of member functions), replaces them in
place, lists the kernels, and rejects keywords of C++ that Metal lacks. The compiler handles
all other code. Macros and ``#if`` are not expanded, so the compiler does not find a kernel
in an ``#if 0``. A program with kernels in macros is preprocessed first, see
`Program.has_kernels_in_macros`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

SOURCE_NAME = "program_source"

# The attributes of a kernel's parameters, with their names in kernel_abi.h.
BUFFER = "MSL_BUFFER"
THREADGROUP_MEMORY = "MSL_THREADGROUP_MEMORY"
INDEXED = {"buffer": (BUFFER, 31), "threadgroup": (THREADGROUP_MEMORY, 31)}
POSITIONS = {
    "thread_position_in_grid": "MSL_THREAD_POSITION_IN_GRID",
    "thread_position_in_threadgroup": "MSL_THREAD_POSITION_IN_THREADGROUP",
    "threadgroup_position_in_grid": "MSL_THREADGROUP_POSITION_IN_GRID",
    "threads_per_threadgroup": "MSL_THREADS_PER_THREADGROUP",
    "threadgroups_per_grid": "MSL_THREADGROUPS_PER_GRID",
    "threads_per_grid": "MSL_THREADS_PER_GRID",
}
INDICES = {
    "thread_index_in_threadgroup": "MSL_THREAD_INDEX_IN_THREADGROUP",
    "thread_index_in_simdgroup": "MSL_THREAD_INDEX_IN_SIMDGROUP",
    "simdgroup_index_in_threadgroup": "MSL_SIMDGROUP_INDEX_IN_THREADGROUP",
    "threads_per_simdgroup": "MSL_THREADS_PER_SIMDGROUP",
    "simdgroups_per_threadgroup": "MSL_SIMDGROUPS_PER_THREADGROUP",
    "thread_index_in_quadgroup": "MSL_THREAD_INDEX_IN_QUADGROUP",
    "quadgroup_index_in_threadgroup": "MSL_QUADGROUP_INDEX_IN_THREADGROUP",
    "quadgroups_per_threadgroup": "MSL_QUADGROUPS_PER_THREADGROUP",
}
OF_PARAMETERS = {*INDEXED, *POSITIONS, *INDICES}
SPACES = {"thread", "device", "constant", "threadgroup"}
NOT_OF_METAL_STRINGS = {"static_assert", "_Pragma", "host_name"}
VECTOR = re.compile(
    r"(?:vec|(?:bool|b?half|bfloat|float|u?(?:char|short|int|long))[234])$"
)
BEFORE_PARAMETER = {"(", ",", ";", "{", "}", "="}
ACCESS = {"public", "private", "protected"}
OTHER_ATTRIBUTES = {"kernel", "host_name", "max_total_threads_per_threadgroup"}

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


class Parameter:
    """A parameter of a kernel: its attribute and its position in the text."""

    __slots__ = ("attribute", "column", "index", "kind", "line")

    def __init__(
        self, kind: str, attribute: str, index: int, line: int, column: int
    ) -> None:
        self.kind = kind
        self.attribute = attribute
        self.index = index
        self.line = line
        self.column = column


class Method:
    """A member function with address spaces: the last words of each of its declarations."""

    __slots__ = ("end", "spaces", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start  # of the first declaration's address space
        self.end = end
        self.spaces: list[str] = []


class Kernel:
    """A kernel: its host name, and the C++ function."""

    __slots__ = ("column", "function", "line", "max_threads", "name", "parameters")

    def __init__(
        self,
        name: str,
        function: str,
        parameters: list[Parameter],
        line: int,
        column: int,
        max_threads: int,
    ) -> None:
        self.name = name
        self.max_threads = max_threads  # of a threadgroup, or 0
        self.function = function
        self.parameters = parameters
        self.line = line
        self.column = column


class MetalError(Exception):
    """An error in a declaration, which ends its reading."""

    def __init__(self, start: int, message: str) -> None:
        super().__init__(message)
        self.start = start
        self.message = message


class UnbalancedError(MetalError):
    """A bracket is not closed. The compiler's error for this is better."""


class Program:
    """
    A Metal program that can be rewritten as C++.

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
    kernels : list of Kernel
        The kernels in the order of the text.
    problems : list of Problem
        The errors in the program.
    unfinished : Problem or None
        The reason why the text was not read to its end, if it was not.
    constants : dict of int to str
        The names of the function constants by index.
    has_kernels_in_macros : bool
        Whether a macro contains the word ``kernel``. The list of kernels is whole only if
        the text was preprocessed.
    """

    def __init__(
        self, text: str, first_line: int = 1, *, preprocessed: bool = False
    ) -> None:
        self.text = text
        self.first_line = first_line
        self.has_kernels_in_macros = False
        self.constants: dict[int, str] = {}
        self.kernels: list[Kernel] = []
        self.problems: list[Problem] = []
        self.unfinished: Problem | None = None
        # Of kernel templates: their parameters and the most threads of a threadgroup.
        self._templates: dict[str, tuple[list[Parameter], int]] = {}
        self._max_threads = 0  # of the kernel whose attributes were read last
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self._numbers = self._line_numbers(preprocessed)
        self._edits: list[tuple[int, int, str]] = []
        self._tokens: list[Token] = []
        self._end_of_kernel = 0  # the index of the brace
        self._vectors: set[str] = set()  # the program's names for vectors
        self._type_parameters: set[str] = set()  # of templates
        self._has_bfloat = "bfloat" in text
        self._scopes: list[int] = []  # the indices of open braces
        self._methods: dict[tuple[int | str, ...], Method] = {}
        self._includes_metal = first_line > 1 or preprocessed
        self._read_tokens()
        self._read_declarations()
        self._mark_methods()
        self.problems.sort(key=lambda problem: (problem.line, problem.column))

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

    # -- Declarations

    def _read_declarations(self) -> None:
        """Find kernels, attributes and threadgroup variables."""
        i = 0
        while i < len(self._tokens):
            try:
                i = self._read_at(i)
            except UnbalancedError as error:
                self.unfinished = self._problem(error.start, error.message)
                return
            except MetalError as error:
                self._refuse(error.start, error.message)
                i += 1

    def _read_at(self, i: int) -> int:
        """Read the declaration that begins at a token; return the index after it."""
        token = self._tokens[i]
        if self._is_attribute(i):
            names = self._attribute_names(i)
            if OTHER_ATTRIBUTES.intersection(names):
                return self._read_kernel(i)
            if names == ["function_constant"]:
                self._read_function_constant(i)
            elif OF_PARAMETERS.issuperset(names):  # of a function that is no kernel
                self._blank_attribute(i)
            return self._attribute_end(i)
        if token.text == "kernel":
            return self._read_kernel(i)
        is_in_kernel = i < self._end_of_kernel
        if token.text == "threadgroup" and self._begins_statement(i):
            if not is_in_kernel:
                self._read_threadgroup_variables(i, None)
        elif token.text == "{":
            self._scopes.append(i)
        elif token.text == "}" and self._scopes:
            self._scopes.pop()
        elif token.text == ")":
            return self._read_method(i)
        elif token.text == "]":
            self._read_array_parameter(i)
        elif token.kind == "word":
            self._read_conversion(i)
        elif token.kind == "string":
            self._read_literal(i)
        return i + 1

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
        return _split(inner)

    def _attribute_names(self, i: int) -> list[str]:
        """Return the names of the attributes in the ``[[...]]`` at i."""
        return [attribute[0].text for attribute in self._attributes(i) if attribute]

    def _blank_attribute(self, i: int) -> None:
        """Blank attributes that the compiler does not know."""
        end = self._tokens[self._attribute_end(i) - 1].end
        self._blank(self._tokens[i].start, end)

    def _read_function_constant(self, i: int) -> None:
        """Read ``[[function_constant(n)]]`` of a variable; its value is a macro."""
        attribute = self._attributes(i)[0]
        number = attribute[2].text if len(attribute) == 4 else ""
        if not number.isdigit() or int(number) > 65535:
            raise MetalError(attribute[0].start, "'function_constant' takes an index")
        self.constants[int(number)] = self._tokens[i - 1].text
        end = self._tokens[self._attribute_end(i) - 1].end
        value = f"= __msl_constant_{number}"
        self._edits.append((self._tokens[i].start, end, value))

    def _read_array_parameter(self, i: int) -> None:
        """
        Rewrite a parameter that is an array of one dimension in an address space.

        The compiler rejects such a parameter, and accepts the pointer that it means.
        """
        is_last = self._is(i + 1, ",") or self._is(i + 1, ")")
        if not is_last or self._opening(i) < 0:
            return
        name = i
        while name > 0 and not self._is(name, "["):
            name -= 1
        name -= 1
        first = name
        while first > 0 and self._tokens[first - 1].text not in BEFORE_PARAMETER:
            first -= 1
        texts = {token.text for token in self._tokens[first:name]}
        if texts & SPACES - {"thread"} and not texts & {"*", "&"}:
            start, end = self._tokens[name].start, self._tokens[i].end
            self._edits.append((start, end, f"*{self._tokens[name].text}"))

    # -- Conversions and literals

    def _read_conversion(self, i: int) -> None:
        """Rewrite a conversion to a vector, or to bfloat, that C++ lacks."""
        before = self._tokens[i - 1].text if i else ""
        text = self._tokens[i].text
        if text in {"using", "typedef"}:
            self._read_alias(i)
        elif before in {"operator", "using", "~", "."}:
            return
        elif text == "vec" and self._is(i + 1, "<"):
            end = self._after_angles(i + 1)
            if self._is(end, "("):
                first = i - 2 if before == "::" and self._is(i - 2, "metal") else i
                self._wrap(first, end - 1, "construct")
        elif text in {"typename", "class"}:
            self._type_parameters.add(self._tokens[i + 1].text)
        elif self._is_named_conversion(i, before):
            self._wrap(i, i, "converted")
        elif VECTOR.match(text) or text in self._vectors:
            self._read_vector_variable(i)
        elif text == "static_cast" and self._has_bfloat:
            is_name = self._is(i + 1, "<") and self._is(i + 3, ">")
            if is_name and self._tokens[i + 2].kind == "word":
                start, end = self._tokens[i].start, self._tokens[i].end
                self._edits.append((start, end, "__msl::cast"))

    def _is_named_conversion(self, i: int, before: str) -> bool:
        """Return whether a program's name converts to what may be a vector."""
        text = self._tokens[i].text
        if not self._is(i + 1, "("):
            return False
        is_parameter = text in self._type_parameters and before != "<"
        return text in self._vectors or (is_parameter and self._has_comma(i + 1))

    def _has_comma(self, opening: int) -> bool:
        """Return whether a comma separates what is between two parentheses."""
        i, closing = opening + 1, self._matching(opening)
        while i < closing and not self._is(i, ","):
            i = self._matching(i) + 1 if self._tokens[i].text in OPENING else i + 1
        return i < closing

    def _read_vector_variable(self, i: int) -> None:
        """Rewrite a local variable ``float2 name(x, y)`` with a conversion to its type."""
        is_name = i + 1 < len(self._tokens) and self._tokens[i + 1].kind == "word"
        if not (is_name and self._is(i + 2, "(") and self._is_in_code()):
            return
        if self._is(self._matching(i + 2) + 1, ";"):
            at, text = self._tokens[i + 2].start, self._tokens[i].text
            self._edits.append((at, at, f" = ::__msl::converted<{text}>"))

    def _is_in_code(self) -> bool:
        """Return whether the innermost braces are those of a statement or function."""
        if not self._scopes:
            return False
        head = self._scopes[-1] - 1
        while head > 0 and self._tokens[head].text not in {";", "{", "}"}:
            if self._tokens[head].text in {"struct", "class", "union", "namespace"}:
                return self._is(self._scopes[-1] - 1, ")")
            head -= 1
        return True

    def _read_alias(self, i: int) -> None:
        """Record a name that the program gives to a vector type."""
        end = i
        while end < len(self._tokens) and not self._is(end, ";"):
            end += 1
        texts = [token.text for token in self._tokens[i + 1 : end]]
        if any(VECTOR.match(text) for text in texts):
            self._vectors.add(texts[0] if self._is(i, "using") else texts[-1])

    def _wrap(self, first: int, last: int, function: str) -> None:
        """Make a type the template argument of a function of the library."""
        start, end = self._tokens[first].start, self._tokens[last].end
        self._edits.append((start, start, f"::__msl::{function}<"))
        self._edits.append((end, end, ">"))

    def _read_literal(self, i: int) -> None:
        """Rewrite an argument that is a string, which is in constant memory."""
        if self._tokens[i].text[0] != '"' or self._tokens[i - 1].kind == "string":
            return
        end = i
        while end + 1 < len(self._tokens) and self._tokens[end + 1].kind == "string":
            end += 1
        opening = self._opening(i)
        before = self._tokens[opening - 1].text if opening > 0 else ""
        if opening >= 0 and before not in NOT_OF_METAL_STRINGS:
            start = self._tokens[i].start
            self._edits.append((start, start, "__msl_text("))
            end = self._tokens[end].end
            self._edits.append((end, end, ")"))

    def _opening(self, i: int) -> int:
        """Return the index of the parenthesis around a token of a statement, or -1."""
        depth = 0
        while i > 0 and self._tokens[i - 1].text not in {";", "{", "}"}:
            i -= 1
            depth += (self._tokens[i].text == ")") - (self._tokens[i].text == "(")
            if depth < 0:
                return i
        return -1

    # -- Member functions

    def _read_method(self, i: int) -> int:
        """
        Read the address space after the parameters that end at i; return the index after it.

        In C++, one member function is for all address spaces. The first of those that
        differ in nothing else is kept, with marks for the spaces of all.
        """
        end = i + 1
        while self._is(end, "const") or self._is(end, "volatile"):
            end += 1
        if end >= len(self._tokens) or self._tokens[end].text not in SPACES:
            return i + 1
        space = self._tokens[end]
        end += 1
        while self._is(end, "const") or self._is(end, "noexcept"):
            end += 1
        if not any(self._is(end, text) for text in ("{", ";", ":", "=")):
            return i + 1
        start = self._member_start(i)
        key = (
            self._scopes[-1] if self._scopes else -1,
            *(t.text for t in self._tokens[start:end] if t is not space),
        )
        method = self._methods.get(key)
        if method is None:
            method = self._methods[key] = Method(space.start, space.end)
            method.spaces.append(space.text)
            return end
        method.spaces.append(space.text)
        after = self._member_end(end)
        self._blank(self._tokens[start].start, self._tokens[after - 1].end)
        return after

    def _member_start(self, i: int) -> int:
        """Return the index where the declaration begins whose parameters end at i."""
        while i > 0:
            before = self._tokens[i - 1].text
            is_label = before == ":" and self._tokens[i - 2].text in ACCESS
            if before in {";", "{", "}"} or is_label:
                break
            i -= 1
        return i

    def _member_end(self, i: int) -> int:
        """Return the index after the body, or the ``;``, of a member function."""
        is_in_initialisers = self._is(i, ":")
        while i < len(self._tokens):
            text = self._tokens[i].text
            if text == ";":
                return i + 1
            if text in OPENING:
                is_body = text == "{" and not is_in_initialisers
                i = self._matching(i)
                if is_body:
                    return i + 1
                is_in_initialisers = self._is(i + 1, ",")
            i += 1
        return i

    def _mark_methods(self) -> None:
        """Replace the address spaces of member functions by marks."""
        for method in self._methods.values():
            marks = " ".join(f"__msl_on_{space}" for space in method.spaces)
            self._edits.append((method.start, method.end, marks))

    # -- Kernels

    def _read_kernel(self, i: int) -> int:
        """Read a kernel, which begins with ``kernel`` or an attribute."""
        first = i
        host_name = ""
        self._max_threads = 0
        while self._is_attribute(i) or self._is(i, "kernel"):
            if self._is(i, "kernel"):
                i += 1
            else:
                host_name = self._read_kernel_attribute(i) or host_name
                i = self._attribute_end(i)
        before = self._tokens[first - 1].text if first else ""
        i = self._after_result(i)
        start = self._tokens[i].start
        name = self._tokens[i].text
        function, i = self._function_name(i)
        if before == "template":
            if name not in self._templates:
                raise MetalError(start, f"no kernel template '{name}' is above")
            parameters, self._max_threads = self._templates[name]
            i = self._after_instance(i)
        else:
            if not self._is(i, "("):
                raise MetalError(start, f"no parameters of kernel '{name}'")
            closing = self._matching(i)
            if self._is(closing + 1, ";"):  # The definition follows.
                return i
            parameters = self._read_parameters(name, i, closing)
            for bracket in range(i, closing):
                if self._is(bracket, "]"):
                    self._read_array_parameter(bracket)
            i = self._after_attributes(closing + 1)
        if before == ">":  # The kernels are the instantiations of this template.
            self._templates[name] = parameters, self._max_threads
        else:
            line, column = self.place(start)
            limit = self._max_threads
            kernel = Kernel(
                host_name or name, function, parameters, line, column, limit
            )
            self._add_kernel(kernel, start)
        return self._read_body(i) if self._is(i, "{") else i

    def _add_kernel(self, kernel: Kernel, start: int) -> None:
        """Add a kernel; report a problem if another kernel has its name."""
        if any(other.name == kernel.name for other in self.kernels):
            self._refuse(start, f"there are two kernels named '{kernel.name}'")
        self.kernels.append(kernel)

    def _read_kernel_attribute(self, i: int) -> str | None:
        """Read attributes before a kernel's result; return the host_name, or None."""
        host_name = None
        is_kernel = False
        for attribute in self._attributes(i):
            word = attribute[0].text if attribute else ""
            if word not in OTHER_ATTRIBUTES:
                raise MetalError(
                    self._tokens[i].start, f"unknown attribute '{word}' of a kernel"
                )
            is_kernel |= word == "kernel"
            if word == "max_total_threads_per_threadgroup":
                text = attribute[2].text if len(attribute) > 2 else ""
                self._max_threads = int(text) if text.isdigit() else 0
            if word == "host_name":
                texts = [t.text[1:-1] for t in attribute if t.kind == "string"]
                host_name = "".join(texts)
                if not host_name:
                    raise MetalError(attribute[0].start, "host_name takes a string")
        start, end = self._tokens[i].start, self._tokens[self._attribute_end(i) - 1].end
        if is_kernel:
            hidden = re.sub(r"[^\n]", " ", self.text[start + 6 : end])
            self._edits.append((start, end, "kernel" + hidden))
        else:
            self._blank(start, end)
        return host_name

    def _after_result(self, i: int) -> int:
        """Return the index after ``void``, which kernels must return."""
        if self._is(i, "void"):
            return i + 1
        if self._is(i, "decltype") and self._is(i + 1, "("):
            return self._matching(i + 1) + 1
        at = self._tokens[min(i, len(self._tokens) - 1)].start
        raise MetalError(at, "a kernel must return void")

    def _function_name(self, i: int) -> tuple[str, int]:
        """Return a function's name with template arguments, and the index after it."""
        end = i + 1
        while self._is(end, "::"):
            end += 2
        if self._is(end, "<"):
            end = self._after_angles(end)
        return self.text[self._tokens[i].start : self._tokens[end - 1].end], end

    def _after_instance(self, i: int) -> int:
        """Return the index after an instantiation; blank its repeated attributes."""
        while i < len(self._tokens) and not self._is(i, ";"):
            if self._is_attribute(i):
                self._blank_attribute(i)
                i = self._attribute_end(i)
            else:
                i += 1
        return i

    def _after_attributes(self, i: int) -> int:
        """Blank attributes after a function's parameters; return the index after them."""
        while self._is_attribute(i):
            self._blank_attribute(i)
            i = self._attribute_end(i)
        return i

    def _read_parameters(
        self, name: str, opening: int, closing: int
    ) -> list[Parameter]:
        """Read the parameters of a kernel between two parentheses."""
        parameters = []
        seen: set[tuple[str, int]] = set()
        parts = _split(self._tokens[opening + 1 : closing])
        free = self._free_buffers(parts)
        for part in parts:
            if len(part) == 1 and part[0].text == "void":
                continue
            try:
                parameter = self._read_parameter(part, free)
                key = parameter.kind, parameter.index
                if key in seen:
                    what = parameter.attribute
                    raise MetalError(part[0].start, f"'{what}' is given twice")
                seen.add(key)
                parameters.append(parameter)
            except MetalError as error:
                self._refuse(error.start, f"kernel '{name}': {error.message}")
        return parameters

    def _free_buffers(self, parts: list[list[Token]]) -> Iterator[int]:
        """Return the indices of buffers that no attribute names, in order."""
        texts = [" ".join(token.text for token in part) for part in parts]
        pattern = r"\[ \[ buffer \( (\d+) \)"
        named = {int(n) for text in texts for n in re.findall(pattern, text)}
        limit = INDEXED["buffer"][1]
        return (index for index in range(limit) if index not in named)

    def _read_parameter(self, part: list[Token], free: Iterator[int]) -> Parameter:
        """Read the attribute of a kernel's parameter; a buffer may lack it."""
        line, column = self.place(part[0].start)
        for n, token in enumerate(part[:-2]):
            if token.text == part[n + 1].text == "[" and token.end == part[n + 1].start:
                kind, index, text = self._attribute_of(part[n + 2 :])
                self._blank(token.start, part[-1].end)
                return Parameter(kind, text, index, line, column)
        index = next(free, None) if _is_pointer(part) else None
        if index is None:
            raise MetalError(
                part[0].start,
                f"parameter '{part[-1].text}' has no attribute such as [[buffer(0)]]",
            )
        return Parameter(BUFFER, f"buffer({index})", index, line, column)

    def _attribute_of(self, tokens: list[Token]) -> tuple[str, int, str]:
        """Return a parameter's kind, index and text from the tokens after ``[[``."""
        word = tokens[0].text
        if word in POSITIONS or word in INDICES:
            if not all(token.text == "]" for token in tokens[1:]):
                raise MetalError(tokens[1].start, f"'{word}' takes nothing")
            return POSITIONS.get(word) or INDICES[word], 0, word
        if word not in INDEXED:
            raise MetalError(tokens[0].start, f"unknown attribute '{word}'")
        kind, limit = INDEXED[word]
        texts = [token.text for token in tokens[1:]]
        rest = texts[3:]
        is_optional = rest[:3] == [",", "function_constant", "("] and rest[4:5] == [")"]
        rest = rest[5:] if is_optional else rest
        is_number = texts[:1] == ["("] and texts[1].isdigit() and texts[2:3] == [")"]
        if not is_number or rest != ["]", "]"]:
            raise MetalError(tokens[0].start, f"'{word}' takes a number")
        index = int(texts[1])
        if index >= limit:
            raise MetalError(
                tokens[2].start, f"'{word}' index {index} is above {limit - 1}"
            )
        return kind, index, f"{word}({index})"

    # -- Threadgroup variables

    def _read_body(self, opening: int) -> int:
        """Read the threadgroup variables in the body of a kernel; return its index."""
        closing = self._end_of_kernel = self._matching(opening)
        count = 0
        for i in range(opening + 1, closing):
            if self._is(i, "threadgroup") and self._begins_statement(i):
                count = self._read_threadgroup_variables(i, count)
        return opening

    def _read_threadgroup_variables(self, i: int, number: int | None) -> int:
        """
        Rewrite the declaration of threadgroup variables as references to storage.

        `number` is the number of the first variable in its kernel, or None outside of
        kernels. Returns the number after the last variable.
        """
        end = i
        while not self._is(end, ";"):
            if end >= len(self._tokens):
                raise UnbalancedError(self._tokens[i].start, "no ';' after it")
            end = (
                self._matching(end) + 1
                if self._tokens[end].text in OPENING
                else end + 1
            )
        tokens = self._tokens[i + 1 : end]
        if any(token.text in {"*", "&"} for token in _outside_brackets(tokens)):
            return number or 0  # Pointers are ordinary variables.
        parts = _split(tokens)
        if not parts:
            raise MetalError(self._tokens[i].start, "a declaration of nothing")
        names = [_declared_name(part) for part in parts]
        if number is None:
            raise MetalError(
                self._tokens[i].start,
                f"threadgroup variable '{names[0].text}' outside of a kernel function",
            )
        type_text = self.text[self._tokens[i].end : names[0].start]
        storage = []
        for part, name in zip(parts, names, strict=True):
            sizes = self.text[name.end : part[-1].end]
            alias = f"__type_of_{name.text}"
            storage.append(
                f"typedef {type_text} {alias} {sizes}; threadgroup {alias} &{name.text}"
                f" = __msl::threadgroup_variable<{alias}, {number}>()"
            )
            number += 1
        line, column = self.place(self._tokens[end].start)
        resume = f'\n#line {line} "{SOURCE_NAME}"\n' + " " * (column - 1)
        code = re.sub(r"\s+", " ", "; ".join(storage)) + resume
        self._edits.append((self._tokens[i].start, self._tokens[end].start, code))
        return number


def _split(tokens: list[Token]) -> list[list[Token]]:
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


def _is_pointer(part: list[Token]) -> bool:
    """Return whether a parameter is a pointer or reference to device memory."""
    texts = {token.text for token in part}
    return bool(texts & {"*", "&", "["}) and bool(texts & {"device", "constant"})


def _outside_brackets(tokens: list[Token]) -> list[Token]:
    """Return the tokens outside of all brackets and before an initialiser."""
    outside = []
    depth = 0
    for token in tokens:
        if token.text == "=" and depth == 0:
            break
        if token.kind == "sign":
            depth += (token.text in "([{<") - (token.text in ")]}>")
        if depth == 0:
            outside.append(token)
    return outside


def _declared_name(part: list[Token]) -> Token:
    """Return the name in a declarator, which must not have an initialiser."""
    name = None
    depth = 0
    for token in part:
        if token.text in {"=", "{"} and depth == 0:
            named = name.text if name else ""
            raise MetalError(
                token.start, f"threadgroup variable '{named}' cannot be initialised"
            )
        if token.kind == "sign":
            depth += (token.text in "([<") - (token.text in ")]>")
        elif token.kind == "word" and depth == 0:
            name = token
    if name is None:
        raise MetalError(part[0].start, "a threadgroup variable without a name")
    return name
