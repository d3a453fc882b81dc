"""The driver's use of Metal against Apple's headers.

libclang parses the Objective-C of csrc/metal with the headers of the Metal emulator. What
the driver uses is then looked up in Apple's metal-cpp: each message with the types of its
arguments and result, each property that is read or assigned, each class and protocol, each
constant with its value, and each function and structure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from metal_emulator import build, toolchain
from support import metal_cpp
from support.metal_cpp import MetalCpp, Method, agree, canonical
from support.msl import needs_compiler
from support.paths import EMULATOR, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.needs("clang"), needs_compiler]

DRIVER = ROOT / "csrc" / "metal" / "device.m"
PREFIXES = ("MTL", "NS")


@dataclass
class Uses:
    """
    What a file uses of Apple's frameworks.

    Attributes
    ----------
    problems : list of str
        The compiler's errors.
    messages : dict
        Methods as they are called, by class of the receiver and selector.
    names : set of str
        Names of classes and protocols.
    values : dict
        Values of constants.
    functions : dict
        Functions, with the types of their parameters.
    structures : dict
        Types of the fields of structures.
    """

    problems: list[str] = field(default_factory=list)
    messages: dict[tuple[str, str], list[Method]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    values: dict[str, int] = field(default_factory=dict)
    functions: dict[str, Method] = field(default_factory=dict)
    structures: dict[str, list[str]] = field(default_factory=dict)

    def add_message(self, receiver: str, selector: str, method: Method) -> None:
        key = receiver.rstrip("*"), selector
        self.messages.setdefault(key, []).append(method)


# -- What the driver uses ------------------------------------------------------------------


def uses_of(path: Path, headers: Path = EMULATOR) -> Uses:
    """Parse an Objective-C file with the headers of a folder."""
    from clang import cindex

    flags = [*toolchain.find().clang[2:], *build.OBJECTIVE_C, *build.PRODUCT]
    flags += ["-I", str(ROOT / "csrc"), "-I", str(headers)]
    unit = cindex.Index.create().parse(str(path), args=flags)
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    uses = Uses(problems=[str(error) for error in errors])
    for cursor in unit.cursor.get_children():
        if cursor.location.file and cursor.location.file.name == str(path):
            for parent, node in _walk(cursor, cursor):
                _note(uses, parent, node)
    return uses


def _walk(parent: Any, node: Any) -> Iterator[tuple[Any, Any]]:
    yield parent, node
    for child in node.get_children():
        yield from _walk(node, child)


def _note(uses: Uses, parent: Any, node: Any) -> None:
    """Note what one node of the syntax tree uses."""
    kind, target = node.kind.name, node.referenced
    if kind == "OBJC_MESSAGE_EXPR":
        _note_message(uses, node)
    elif _is_property(node):
        _note_property(uses, parent, node)
    elif kind in ("OBJC_CLASS_REF", "OBJC_PROTOCOL_REF"):
        uses.names.add(node.spelling)
    elif kind == "DECL_REF_EXPR" and node.spelling.startswith(PREFIXES):
        if target.kind.name == "ENUM_CONSTANT_DECL":
            uses.values[node.spelling] = target.enum_value
        elif target.kind.name == "FUNCTION_DECL":
            types = [canonical(each.type.spelling) for each in target.get_arguments()]
            result = canonical(target.result_type.spelling)
            uses.functions[node.spelling] = Method(result, types)
    elif kind == "TYPE_REF" and node.spelling.startswith(PREFIXES):
        fields = list(node.type.get_canonical().get_fields())
        if fields:
            types = [canonical(each.type.spelling) for each in fields]
            uses.structures[node.spelling] = types


def _is_property(node: Any) -> bool:
    target = node.referenced
    return node.kind.name == "MEMBER_REF_EXPR" and "PROPERTY" in target.kind.name


def _type_of(node: Any) -> str:
    kind = node.referenced.type if _is_property(node) else node.type
    return canonical(kind.spelling)


def _note_message(uses: Uses, node: Any) -> None:
    receiver, *arguments = node.get_children()
    method = Method(_type_of(node), [_type_of(each) for each in arguments])
    uses.add_message(_type_of(receiver), node.spelling, method)


def _note_property(uses: Uses, parent: Any, node: Any) -> None:
    """Note a property as the message that it stands for."""
    (receiver,) = node.get_children()
    name, kind = node.spelling, _type_of(node)
    end = node.extent.end.offset
    after = (t for t in parent.get_tokens() if t.extent.start.offset >= end)
    if parent.kind.name == "BINARY_OPERATOR" and next(after).spelling == "=":
        setter = f"set{name[0].upper()}{name[1:]}:"
        uses.add_message(_type_of(receiver), setter, Method("void", [kind]))
    else:
        uses.add_message(_type_of(receiver), name, Method(kind, []))


# -- Comparing -----------------------------------------------------------------------------


def differences(uses: Uses, apple: MetalCpp) -> list[str]:
    """Return what differs from Apple's headers."""
    return [
        *uses.problems,
        *_wrong_messages(uses, apple),
        *(f"there is no class {name}" for name in sorted(uses.names - apple.names)),
        *(
            f"{name} is {value}, not {apple.values.get(name)}"
            for name, value in uses.values.items()
            if apple.values.get(name) != value
        ),
        *(
            f"{name} has {types}, not {apple.fields.get(name)}"
            for name, types in uses.structures.items()
            if apple.fields.get(name) != types
        ),
        *(
            f"{name} is not {method}"
            for name, method in uses.functions.items()
            if not _is_function(name, method, apple)
        ),
    ]


def _wrong_messages(uses: Uses, apple: MetalCpp) -> Iterator[str]:
    for (name, selector), methods in uses.messages.items():
        candidates = apple.find(name, selector)
        if not candidates:
            yield f"{name} has no method {selector}"
        for method in methods if candidates else ():
            if not any(map(method.agrees, candidates)):
                yield f"{name} {selector}: {method} is not {candidates}"


def _is_function(name: str, method: Method, apple: MetalCpp) -> bool:
    """Return whether Apple has the function, or the structure that it makes."""
    if name in apple.functions:
        return agree(method.returns, apple.functions[name]) and not method.parameters
    made = name.removesuffix("Make")
    return made == method.returns and method.parameters == apple.fields.get(made)


# -- Tests ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def apple() -> MetalCpp:
    return metal_cpp.download()


def test_the_driver_is_all_objective_c():
    assert [*(ROOT / "csrc").rglob("*.m")] == [DRIVER]


def test_the_driver_uses_what_apple_declares(apple):
    uses = uses_of(DRIVER)
    assert differences(uses, apple) == []
    assert len(uses.messages) > 25
    assert len(uses.names) > 10
    assert {"MTLDispatchTypeConcurrent", "NSUTF8StringEncoding"} <= set(uses.values)
    assert {"MTLCopyAllDevices", "MTLSizeMake"} <= set(uses.functions)
    assert {"MTLSize", "NSOperatingSystemVersion"} == set(uses.structures)
    assert ("MTLCompileOptions", "setFastMathEnabled:") in uses.messages
    assert ("MTLCommandBuffer", "status") in uses.messages


CHANGES = [
    # A name that the emulator's headers have too, or the compiler would refuse it.
    ("commandBufferWithUnretainedReferences", "commandBufferWithoutReferences"),
    ("memoryBarrierWithScope", "memoryBarrierWithinScope"),
    ("fastMathEnabled", "fastMathsEnabled"),
    ("threadExecutionWidth", "threadExecutionCount"),
    ("isOperatingSystemAtLeastVersion", "isSystemAtLeastVersion"),
    ("MTLCompileOptions", "MTLCompilerOptions"),
    ("MTLComputePipelineState", "MTLComputePipeline"),
    ("MTLCopyAllDevices", "MTLCopyDevices"),
    # A value or a type of the headers.
    ("MTLCommandBufferStatusError = 5", "MTLCommandBufferStatusError = 6"),
    ("MTLDispatchTypeConcurrent = 1", "MTLDispatchTypeConcurrent = 2"),
    ("NSUTF8StringEncoding = 4", "NSUTF8StringEncoding = 5"),
    ("NSInteger majorVersion,", "NSUInteger majorVersion,"),
    ("setBytes:(const void *)", "setBytes:(const char *)"),
    ("length:(NSUInteger)length atIndex", "length:(NSInteger)length atIndex"),
]


def changed(folder: Path, old: str, new: str) -> Uses:
    """Parse the driver after a change of its text and of the headers."""
    count = 0
    for source in [DRIVER, *EMULATOR.glob("Metal/*.h"), *EMULATOR.glob("*ion/*.h")]:
        target = folder / source.parent.name / source.name
        target.parent.mkdir(exist_ok=True)
        text = source.read_text(encoding="utf-8")
        count += text.count(old)
        target.write_text(text.replace(old, new))
    assert count, old
    return uses_of(folder / "metal" / DRIVER.name, folder)


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_difference_is_found(tmp_path, apple, old, new):
    uses = changed(tmp_path, old, new)
    assert uses.problems == []
    assert differences(uses, apple)


def test_a_misspelt_selector_of_the_driver_is_found(tmp_path, apple):
    target = tmp_path / DRIVER.name
    target.write_text(
        DRIVER.read_text(encoding="utf-8").replace("endEncoding", "endTheEncoding")
    )
    assert any("endTheEncoding" in text for text in differences(uses_of(target), apple))
