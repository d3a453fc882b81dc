"""Metal and Foundation as the headers of metal-cpp declare them.

Apple's metal-cpp has the selectors by name, with the types in C++. It is in the package
mlx-metal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from support.wheels import wheel

# -- Types -------------------------------------------------------------------------------


def split_top(text: str, separator: str = ",") -> list[str]:
    """Split where no bracket is open."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "(<[{") - (c in ")>]}")
        if c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    last = text[start:].strip()
    return [part.strip() for part in parts] + ([last] if last else [])


ANNOTATIONS = re.compile(
    r"\b(_Nonnull|_Nullable|nullable|nonnull|__unsafe_unretained|__autoreleasing"
    r"|__strong|oneway|class)\b"
)
OBJECTS = {"id", "instancetype", "ObjectType", "KeyType", "NSObject*", "_Object*"}
ALIASES = {
    "bool": "BOOL",
    "CFTimeInterval": "double",
    "NSTimeInterval": "double",
    "NSErrorDomain": "NSString*",
    "NSStringEncoding": "NSUInteger",
    "MTLCommandBufferHandler": "block",
    "unsigned long": "NSUInteger",
    "size_t": "NSUInteger",
}


def canonical(name: str) -> str:
    """Return one spelling to the types of Objective-C and of metal-cpp."""
    name = ANNOTATIONS.sub(" ", name)
    if "^" in name or "std::function" in name:
        return "block"
    name = re.sub(r"\bid\s*<(\w+)>", r"\1*", name)
    name = re.sub(r"<[^<>]*(<[^<>]*>)?[^<>]*>", "", name)
    name = re.sub(r"\b(MTL|NS)::", r"\1", name)
    name = re.sub(r"\[[^]]*\]", "*", name)
    is_plain = re.search(r"\b(void|char|u?int\d+_t)\b", name)
    if not is_plain or not re.match(r"\s*const\b", name):
        name = re.sub(r"\bconst\b", "", name)
    name = re.sub(r"\s*\*\s*", "*", re.sub(r"\s+", " ", name).strip())
    name = ALIASES.get(name, name)
    if name in {f"{o}*" for o in OBJECTS}:
        return "object*"
    return "object" if name in OBJECTS else name


@dataclass
class Method:
    returns: str
    parameters: list[str]

    def agrees(self, apple: Method) -> bool:
        """Return whether a method of metal-cpp has the same types."""
        return (
            len(self.parameters) == len(apple.parameters)
            and all(map(agree, self.parameters, apple.parameters))
            and agree(self.returns, apple.returns)
        )


def agree(ours: str, theirs: str) -> bool:
    is_pointer = ours.endswith("*") or theirs.endswith("*")
    if "object" in {ours, theirs} and (is_pointer or ours == theirs):
        return True
    return ours == theirs or "?" in theirs


# -- Declarations ------------------------------------------------------------------------

# metal-cpp takes the pages as const, Apple's header does not.
CONST_IN_METAL_CPP = {"newBufferWithBytesNoCopy:length:options:deallocator:"}


@dataclass
class MetalCpp:
    """
    What the headers declare.

    Attributes
    ----------
    selectors, names : set of str
        Selectors; names of classes and protocols.
    methods : dict
        Methods with their types, by class and selector.
    parents : dict
        Names of the classes that classes are derived from.
    values : dict
        Values of the constants of enumerations.
    functions : dict
        Types that functions return.
    fields : dict
        Types of the fields of structures, in order.
    """

    selectors: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    methods: dict[tuple[str, str], list[Method]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)

    def find(self, name: str, selector: str) -> list[Method]:
        """Return the method of the class or of what it is derived from."""
        while name:
            if (name, selector) in self.methods:
                return self.methods[name, selector]
            name = self.parents.get(name, "")
        return []


NAMES_OF_NS = (
    "UInteger Integer String Error ErrorDomain Array Dictionary Object Number Range"
    " ProcessInfo OperatingSystemVersion"
    " StringEncoding FastEnumerationState"
)


def canonical_cpp(name: str, space: str) -> str:
    if space == "NS":
        pattern = rf"(?<![\w:])({NAMES_OF_NS.replace(' ', '|')})\b"
        name = re.sub(pattern, r"NS::\1", name)
    return canonical(name)


def _read_parameter(text: str, space: str) -> tuple[str, str]:
    """Return a parameter's name and type."""
    block = re.search(r"\(\^\s*(\w+)\)", text)
    if block:
        return block.group(1), "block"
    named = re.match(r"(.*\W)(\w+)\s*(\[\])?$", text, re.S)
    if not named:
        return "", "?"
    kind, name, array = named.groups()
    return name, canonical_cpp(kind + (array or ""), space)


DEFINITION = re.compile(
    r"_(?:MTL|NS)_INLINE [^;{]*?\b(MTL|NS)::(\w+)::\w+\(([^{;]*)\)(?: const)?\s*\{\s*"
    r"(?:return )?Object::sendMessage(?:Safe)?<(.*?)>\("
    r"(?:this|_\w+\(\w+\)), _(?:MTL|NS)_PRIVATE_SEL\((\w+)\)(.*?)\);\s*\}",
    re.S,
)


def _read_methods(text: str, result: MetalCpp) -> None:
    pattern = r'_(?:MTL|NS)_PRIVATE_DEF_SEL\(\s*(\w+),\s*"([^"]+)"\s*\)'
    selectors = dict(re.findall(pattern, text))
    result.selectors = set(selectors.values())
    for space, name, parameters, returns, accessor, arguments in DEFINITION.findall(
        text
    ):
        types = dict(_read_parameter(p, space) for p in split_top(parameters))
        passed = [types.get(a, "?") for a in split_top(arguments) if a]
        selector = selectors.get(accessor, accessor)
        if selector in CONST_IN_METAL_CPP:
            passed = [p.removeprefix("const ") for p in passed]
        method = Method(canonical_cpp(returns, space), passed)
        result.methods.setdefault((space + name, selector), []).append(method)


def _read_allocations(text: str) -> Iterable[tuple[tuple[str, str], list[Method]]]:
    """Yield what templates of metal-cpp's NS::Object do for the classes that have it."""
    pattern = r"static (\w+)\*\s+alloc\(\);(.*?)^\};"
    for name, rest in re.findall(pattern, text, re.S | re.M):
        yield (f"MTL{name}", "alloc"), [Method("object", [])]
        if re.search(rf"\b{name}\*\s+init\(\);", rest):
            yield (f"MTL{name}", "init"), [Method("object", [])]


def _read_values(text: str) -> Iterable[tuple[str, int]]:
    """Yield the constants of enumerations, whose values are numbers or shifts."""
    pattern = r"_(MTL|NS)_(?:ENUM|OPTIONS)\([^()]*\)\s*\{(.*?)\}"
    for space, body in re.findall(pattern, text, re.S):
        for name, value in re.findall(r"(\w+)\s*=\s*(-?\d+(?:\s*<<\s*\d+)?)\s*,", body):
            number, _, shift = value.partition("<<")
            yield space + name, int(number) << int(shift or 0)


def _read_fields(text: str) -> Iterable[tuple[str, list[str]]]:
    pattern = r"^struct (Size|OperatingSystemVersion)\s*\{(.*?)^\}"
    for name, body in re.findall(pattern, text, re.S | re.M):
        space = "MTL" if name == "Size" else "NS"
        kinds = re.findall(r"^\s*((?:NS::)?U?Integer)\s+\w+;", body, re.M)
        yield space + name, [canonical_cpp(kind, "NS") for kind in kinds]


def read(texts: Iterable[str]) -> MetalCpp:
    result, text = MetalCpp(), "\n".join(texts)
    _read_methods(text, result)
    result.methods.update(_read_allocations(text))
    pattern = r"_(?:MTL|NS)_PRIVATE_DEF_(?:CLS|PRO)\(\s*(\w+)\s*\)"
    result.names = set(re.findall(pattern, text))
    pattern = (
        r"class (\w+) : public NS::(?:Referencing|Copying)<\w+(?:, (?:\w+::)?(\w+))?>"
    )
    result.parents = {f"MTL{a}": f"MTL{b}" for a, b in re.findall(pattern, text) if b}
    result.values = dict(_read_values(text))
    pattern = r'extern "C" ([\w:]+\*?)\s+(\w+)\(\s*\);'
    result.functions = {b: canonical(a) for a, b in re.findall(pattern, text)}
    result.fields = dict(_read_fields(text))
    return result


def download() -> MetalCpp:
    """Return what Apple's headers declare, or skip the test without a network."""
    with wheel("mlx-metal") as archive:
        pattern = re.compile(r"metal_cpp/(Metal|Foundation)/\w+\.hpp$")
        names = filter(pattern.search, archive.namelist())
        return read([archive.read(name).decode() for name in names])
