"""The Metal emulator's headers against Apple's metadata.

Two packages for macOS carry it, and pip gives them to any machine: metal-cpp's headers
(in mlx-metal) have selectors and types by name, PyObjC's metadata has the values of enums
and types by their encoding. Nothing of either is kept in the repository.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from metal_emulator import build
from support import metal_cpp
from support.metal_cpp import MetalCpp, Method, canonical, split_top
from support.paths import EMULATOR, ROOT
from support.wheels import wheel

# -- Ours --------------------------------------------------------------------------------


@dataclass
class Declarations:
    """Methods by class and selector, and the values of enums and their types."""

    methods: dict[tuple[str, str], Method] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    enums: dict[str, str] = field(default_factory=dict)


TYPE = r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"


def read_method(text: str) -> tuple[str, Method]:
    match = re.match(rf"[-+]\s*{TYPE}\s*(.*)", text, re.S)
    assert match, text
    returns, rest = match.groups()
    parts = re.findall(rf"(\w+)\s*:\s*{TYPE}\s*\w+", rest)
    selector = "".join(f"{name}:" for name, _ in parts)
    if not parts:
        selector = re.match(r"\w+", rest).group()
    return selector, Method(canonical(returns), [canonical(t) for _, t in parts])


def read_property(text: str) -> Iterator[tuple[str, Method]]:
    attributes, of, name = re.match(
        rf"@property\s*{TYPE}\s*(.*?)\s*\b(\w+)\s*(?:NS_\w+)?$", text, re.S
    ).groups()
    getter = re.search(r"getter\s*=\s*(\w+)", attributes)
    kind = canonical(of)
    yield getter.group(1) if getter else name, Method(kind, [])
    if "readonly" not in attributes:
        yield f"set{name[0].upper()}{name[1:]}:", Method("void", [kind])


def read_enums(text: str, into: Declarations) -> None:
    pattern = r"typedef NS_(?:ENUM|OPTIONS)\((\w+), (\w+)\) \{(.*?)\}"
    for base, name, body in re.findall(pattern, text, re.S):
        into.enums[name] = base
        for entry in filter(str.strip, body.split(",")):
            constant, value = (part.strip() for part in entry.split("=", 1))
            into.values[constant] = eval(value, {"__builtins__": {}})


def read_headers(folder: Path) -> Declarations:
    declared = Declarations()
    for path in sorted([*folder.glob("Metal/*.h"), *folder.glob("Foundation/*.h")]):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        text = re.sub(r"^#.*$", "", text.replace("\\\n", " "), flags=re.M)
        read_enums(text, declared)
        pattern = r"@(?:protocol|interface) (\w+)[^;]*?\n(.*?)@end"
        for name, body in re.findall(pattern, text, re.S):
            body = re.sub(r"^\s*\{.*?^\}", "", body, flags=re.S | re.M)
            for part in split_top(body, ";"):
                declaration = part.strip()
                if declaration.startswith("@property"):
                    for selector, method in read_property(declaration):
                        declared.methods[name, selector] = method
                elif declaration[:1] in {"-", "+"}:
                    selector, method = read_method(declaration)
                    declared.methods[name, selector] = method
    return declared


# -- Apple's -----------------------------------------------------------------------------


@dataclass
class PyObjC:
    values: dict[str, int]
    methods: dict[str, dict]


def read_pyobjc(text: str) -> PyObjC:
    values = {
        name: int(value) for name, value in re.findall(r"\b(MTL\w+)@(-?\d+)", text)
    }
    methods = {}
    for node in ast.walk(ast.parse(text)):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if is_call and node.func.id == "r" and len(node.args) == 3:
            try:
                _, selector, information = map(ast.literal_eval, node.args)
            except ValueError:
                continue  # it depends on the machine
            methods[selector.decode()] = information
    return PyObjC(values, methods)


# -- Comparing ---------------------------------------------------------------------------


# PyObjC has one entry for all classes, and in another one this is an NSInteger.
OF_ANOTHER_CLASS = {"status"}


def compare_metal_cpp(ours: Declarations, apple: MetalCpp) -> tuple[list[str], int]:
    """Return what is wrong, and how many methods' types were compared."""
    wrong, compared = [], 0
    for (name, selector), method in ours.methods.items():
        if name.startswith("MTL") and selector not in apple.selectors:
            wrong.append(f"{name}: no selector {selector}")
        candidates = apple.find(name, selector)
        if not candidates:
            continue
        compared += 1
        if not any(map(method.agrees, candidates)):
            wrong.append(f"{name} {selector}: {method} is not {candidates}")
    return wrong, compared


ENCODINGS = {
    "void": "v",
    "BOOL": "Z",
    "NSUInteger": "Q",
    "NSInteger": "q",
    "uint64_t": "Q",
    "uint8_t": "z",  # PyObjC's own, for a char that is a number
    "double": "d",
    "block": "@?",
    "object": "@",
    "void*": "^v",
    "const void*": "^v",
    "NSError**": "^@",
    "MTLSize": "{MTLSize=QQQ}",
    "NSRange": "{_NSRange=QQ}",
}


def encoding(kind: str, enums: dict[str, str]) -> str:
    kind = enums.get(kind, kind)
    if kind in ENCODINGS:
        return ENCODINGS[kind]
    return "^@" if kind.endswith("**") else "@"


def compare_pyobjc(ours: Declarations, apple: PyObjC) -> tuple[list[str], int]:
    """Return what is wrong, and how many types were compared."""
    wrong, compared = [], 0
    for (name, selector), method in ours.methods.items():
        theirs = apple.methods.get(selector)
        if not name.startswith("MTL") or not theirs or selector in OF_ANOTHER_CLASS:
            continue
        given = {
            i: t["type"] for i, t in theirs.get("arguments", {}).items() if "type" in t
        }
        if "type" in theirs.get("retval", {}):
            given[1] = theirs["retval"]["type"]
        kinds = {1: method.returns, **dict(enumerate(method.parameters, 2))}
        for position, type_ in given.items():
            compared += 1
            expected = (type_ if isinstance(type_, str) else type_.decode()).lstrip(
                "nNor"
            )
            mine = encoding(kinds.get(position, "nothing"), ours.enums)
            if mine != expected:
                wrong.append(f"{name} {selector}: {position} is {mine}, not {expected}")
    return wrong, compared


def compare_values(ours: Declarations, apple: PyObjC) -> list[str]:
    return [
        f"{name} is {value}, not {apple.values.get(name)}"
        for name, value in ours.values.items()
        if apple.values.get(name) != value
    ]


# -- Tests -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def apple() -> MetalCpp:
    return metal_cpp.download()


@pytest.fixture(scope="module")
def pyobjc() -> PyObjC:
    with wheel("pyobjc-framework-Metal") as archive:
        return read_pyobjc(archive.read("Metal/_metadata.py").decode())


@pytest.fixture(scope="module")
def ours() -> Declarations:
    return read_headers(EMULATOR)


@pytest.mark.slow
@pytest.mark.needs("ziglang")
@pytest.mark.parametrize("sdk", [130000, 140000, 150000])
def test_the_driver_compiles_with_the_sdk_of(sdk, tmp_path):
    """The headers have what is in the SDK of each version of macOS."""
    macro = f"-D__MAC_OS_X_VERSION_MAX_ALLOWED={sdk}"
    flags = [*build.OBJECTIVE_C, *build.PRODUCT, "-I", str(ROOT / "csrc"), macro]
    driver = ROOT / "csrc" / "metal" / "device.m"
    build.compile_file(driver, tmp_path / "device.o", flags)


def test_selectors_and_types(ours, apple):
    wrong, compared = compare_metal_cpp(ours, apple)
    assert wrong == []
    methods = [name for name, _ in ours.methods if name.startswith("MTL")]
    assert len(methods) > 90
    assert compared > len(methods)  # and of Foundation
    assert all(apple.find(*key) for key in ours.methods if key[0].startswith("MTL"))


def test_encodings(ours, pyobjc):
    wrong, compared = compare_pyobjc(ours, pyobjc)
    assert wrong == []
    assert compared > 100


def test_values(ours, pyobjc):
    assert compare_values(ours, pyobjc) == []
    assert len(ours.values) > 80


def altered(tmp_path: Path, name: str, old: str, new: str) -> Declarations:
    """Read a copy of our headers with one error in it."""
    for source in [*EMULATOR.glob("Metal/*.h"), *EMULATOR.glob("Foundation/*.h")]:
        target = tmp_path / source.parent.name / source.name
        target.parent.mkdir(exist_ok=True)
        text = source.read_text(encoding="utf-8")
        if source.name == name:
            assert text.count(old) >= 1
            text = text.replace(old, new, 1)
        target.write_text(text)
    return read_headers(tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("MTLCommandEncoder.h", "setBytes:", "setByte:"),
        ("MTLCommandEncoder.h", "atIndex:(NSUInteger)index;\n", ";\n"),
        ("MTLCommandEncoder.h", "setBytes:(const void *)", "setBytes:(const char *)"),
        ("MTLDevice.h", "options:(MTLResourceOptions)", "options:(MTLStorageMode)"),
        ("MTLResource.h", "NSUInteger length;", "NSInteger length;"),
        ("MTLCommandBuffer.h", "id<MTLBlitCommandEncoder>", "id<MTLBuffer>"),
        ("NSString.h", "NSUInteger length;", "int length;"),
    ],
)
def test_wrong_method_is_found(tmp_path, apple, name, old, new):
    wrong, _ = compare_metal_cpp(altered(tmp_path, name, old, new), apple)
    assert len(wrong) == 1


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("MTLCommandEncoder.h", "length:(NSUInteger)", "length:(BOOL)"),
        (
            "MTLDevice.h",
            "NS_ENUM(NSInteger, MTLGPUFamily)",
            "NS_ENUM(NSUInteger, MTLGPUFamily)",
        ),
        ("MTLDevice.h", "error:(NSError *_Nullable *_Nullable)", "error:(NSError *)"),
    ],
)
def test_wrong_encoding_is_found(tmp_path, pyobjc, name, old, new):
    assert compare_pyobjc(altered(tmp_path, name, old, new), pyobjc)[0]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("MTLCommandBuffer.h", "PageFault = 3", "PageFault = 5"),
        ("MTLResource.h", "ModePrivate = 2 << 4", "ModePrivate = 2 << 3"),
        ("MTLLibrary.h", "MTLMathModeFast", "MTLMathModeQuick"),
    ],
)
def test_wrong_value_is_found(tmp_path, pyobjc, name, old, new):
    assert len(compare_values(altered(tmp_path, name, old, new), pyobjc)) == 1
