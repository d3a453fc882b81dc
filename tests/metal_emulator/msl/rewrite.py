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
from collections.abc import Iterator

from .dialect import Dialect
from .source import (
    OPENING,
    SOURCE_NAME,
    MetalError,
    Problem,
    Token,
    UnbalancedError,
    split,
)

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
OTHER_ATTRIBUTES = {"kernel", "host_name", "max_total_threads_per_threadgroup"}


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


class Program(Dialect):
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
    """

    def __init__(
        self, text: str, first_line: int = 1, *, preprocessed: bool = False
    ) -> None:
        super().__init__(text, first_line, preprocessed=preprocessed)
        self.kernels: list[Kernel] = []
        self.unfinished: Problem | None = None
        # Of kernel templates: their parameters and the most threads of a threadgroup.
        self._templates: dict[str, tuple[list[Parameter], int]] = {}
        self._max_threads = 0  # of the kernel whose attributes were read last
        self._end_of_kernel = 0  # the index of the brace
        self._read_declarations()
        self._mark_methods()
        self.problems.sort(key=lambda problem: (problem.line, problem.column))

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
        parts = split(self._tokens[opening + 1 : closing])
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
        parts = split(tokens)
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
