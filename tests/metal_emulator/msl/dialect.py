"""Rewrite declarations and expressions of Metal that C++ writes in another way."""

from __future__ import annotations

import re

from .source import OPENING, MetalError, Source

SPACES = {"thread", "device", "constant", "threadgroup"}
NOT_OF_METAL_STRINGS = {"static_assert", "_Pragma", "host_name"}
VECTOR = re.compile(
    r"(?:vec|(?:bool|b?half|bfloat|float|u?(?:char|short|int|long))[234])$"
)
BEFORE_PARAMETER = {"(", ",", ";", "{", "}", "="}
ACCESS = {"public", "private", "protected"}


class Method:
    """A member function with address spaces: the last words of each of its declarations."""

    __slots__ = ("end", "spaces", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start  # of the first declaration's address space
        self.end = end
        self.spaces: list[str] = []


class Dialect(Source):
    """
    A Metal program whose types, member functions and constants can be rewritten.

    The parameters are those of `Source`.

    Attributes
    ----------
    constants : dict of int to str
        The names of the function constants by index.
    """

    def __init__(
        self, text: str, first_line: int = 1, *, preprocessed: bool = False
    ) -> None:
        super().__init__(text, first_line, preprocessed=preprocessed)
        self.constants: dict[int, str] = {}
        self._vectors: set[str] = set()  # the program's names for vectors
        self._type_parameters: set[str] = set()  # of templates
        self._has_bfloat = "bfloat" in text
        self._scopes: list[int] = []  # the indices of open braces
        self._methods: dict[tuple[int | str, ...], Method] = {}

    # -- Declarations

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
