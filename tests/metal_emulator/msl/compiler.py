"""Compile Metal programs to shared libraries for the processor.

A program is compiled with address spaces that C++ converts to no other. If that fails, it may
have objects of classes in these address spaces, which it copies or whose member functions it
calls: then it is compiled as `OBJECTS` describes.

Parts that many compilations share are compiled once, into a cache folder: the headers,
the runtime, and the beginning of a program up to the line ``/* -- end of prelude -- */``.
"""
# This module avoids pathlib, whose import takes longer than rewriting a program.
# ruff: noqa: PTH100, PTH103, PTH105, PTH107, PTH110, PTH116, PTH118, PTH120, PTH208

from __future__ import annotations

import hashlib
import os
import re
import sys
from _thread import get_ident

from .. import toolchain  # noqa: TID252 - see compile.py
from .rewrite import BUFFER, POSITIONS, THREADGROUP_MEMORY, Kernel, Program
from .source import SOURCE_NAME

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = os.path.join(HERE, "include")
END_OF_PRELUDE = "/* -- end of prelude -- */\n"

LANGUAGE = [
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-math-errno",
    "-fno-strict-float-cast-overflow",  # casts of floats to integers saturate
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-nostdlibinc",
    f"-I{HEADERS}",
    "-O1",
    *toolchain.NATIVE,
    "-Xclang",
    "-cl-single-precision-constant",
    "-ferror-limit=50",
    "-fshow-overloads=best",
    "-Werror=unknown-attributes",
    "-Werror=vla-extension",
    "-Werror=vla-cxx-extension",
    "-Werror=return-type",
    "-Wno-duplicate-decl-specifier",
    "-Wno-nan-infinity-disabled",
    "-Wno-psabi",
    "-Wno-unused-value",
]
SAFE_MATH = ["-ffp-contract=on"]
FAST_MATH = ["-ffast-math", "-fno-associative-math", "-ffp-contract=fast"]
FAST_FUNCTIONS = ["-D__MSL_FAST_FUNCTIONS"]
VERSIONS = (240, 300, 310, 320, 400)
INSTRUMENTED = [
    "-fsanitize-coverage=edge,trace-pc-guard,trace-loads,trace-stores,trace-div",
]
# Clang converts an object in an address space of SYCL to the default one, so that copies and
# member functions take objects in any address space. It also converts pointers, which
# `spaces.py` rejects. Clang compiles only functions that an external function uses.
OBJECTS = [
    *("-Xclang", "-fsycl-is-device"),
    *("-Xclang", "-aux-triple", "-Xclang", "x86_64-unknown-linux-gnu"),
    "-D__MSL_OBJECTS",
]
SYCL_SPACES = {
    "__global_device": "device",
    "__global_host": "constant",
    "__local": "threadgroup",
}
LINKED = ["-shared", "-Bsymbolic", "--build-id=none", "-z", "notext"]

# Patterns for diagnostics. They are compiled when needed, as most programs are correct.
HEADLINE = r"[^:]+:(?:\d+:\d+:)? (?:fatal )?(?:error|warning): "
INCLUSION = r"In file included from |\d+ (?:error|warning)s? generated"
INCLUSION_OF_METAL = re.compile(
    r"^[ \t]*#[ \t]*(?:include|import)[ \t]*<(?:metal_\w+|simd/simd\.h)>.*",
    re.MULTILINE,
)
CONDITION = r"^[ \t]*#[ \t]*if"
CAUSE_IN_PROGRAM = rf"(?P<where>{SOURCE_NAME}:\d+:\d+): note: "


class CompileError(Exception):
    """A program is invalid. The message has the form of clang's diagnostics."""


class Compiler:
    """
    A compiler with one set of options.

    Parameters
    ----------
    fast_math : bool, optional
        Whether to assume that NaN and infinities do not occur, like MTLMathModeFast.
    fast_functions : bool, optional
        Whether functions are the fast ones, like MTLMathFloatingPointFunctionsFast.
    version : int, optional
        The version of the language, one of `VERSIONS`: ``__METAL_VERSION__``.
    instrumented : bool, optional
        Whether programs report each access and branch to the engine.
    has_objects : bool, optional
        Whether to compile as `OBJECTS` describes, without a check by `spaces.py`.
    extra_flags : tuple of str, optional
        More flags for the compiler.

    Raises
    ------
    MissingToolchainError
        If there is no compiler.
    """

    def __init__(
        self,
        *,
        fast_math: bool = False,
        fast_functions: bool = False,
        version: int = 310,
        instrumented: bool = True,
        has_objects: bool = False,
        extra_flags: tuple[str, ...] = (),
    ) -> None:
        self.tools = toolchain.find()
        self.options = {
            "fast_math": fast_math,
            "fast_functions": fast_functions,
            "version": version,
            "instrumented": instrumented,
            "extra_flags": extra_flags,
        }
        self.has_objects = has_objects
        self.version = version
        if version not in VERSIONS:
            raise CompileError(f"the Metal emulator has no version {version} of MSL")
        standard = "c++14" if version < 400 else "c++17"
        language = [f"-std={standard}", f"-D__METAL_VERSION__={version}"]
        math = FAST_MATH if fast_math else SAFE_MATH
        functions = FAST_FUNCTIONS if fast_functions else []
        instruments = INSTRUMENTED if instrumented else []
        chosen = [*language, *math, *functions, *instruments, *extra_flags]
        self.flags = [*LANGUAGE, *chosen]
        self.spaces = OBJECTS if has_objects else []
        identity = [
            self.tools.identity(),
            repr(self.flags + self.spaces),
            *_own_files(),
        ]
        name = hashlib.sha1("\0".join(identity).encode()).hexdigest()[:20]
        self.cache = os.path.join(toolchain.cache_folder(), name)
        os.makedirs(self.cache, mode=0o700, exist_ok=True)

    # -- Programs

    def compile(
        self, text: str, out: str, constants: dict[int, str] | None = None
    ) -> None:
        """
        Compile a program to the shared library `out`, or raise `CompileError`.

        `constants` are the values of the program's function constants, as MSL.
        """
        try:
            self._compile(text, out, constants or {})
        except CompileError:
            if self.has_objects or not _has_classes(text):
                raise
            with_objects = Compiler(**self.options, has_objects=True)
            with_objects._check_spaces(text)
            with_objects._compile(text, out, constants or {})

    def check(self, text: str) -> list[Kernel]:
        """Check a program and return its kernels, or raise `CompileError`."""
        program = self._read(text)
        try:
            self._look_at(_cxx(program))
        except CompileError:
            if self.has_objects or not _has_classes(text):
                raise
            Compiler(**self.options, has_objects=True)._check_spaces(text)
        _demand_whole(program)
        return program.kernels

    def syntax_tree(self, text: str) -> tuple[str, str]:
        """Return a program as C++, and its syntax tree as JSON."""
        code = _cxx(self._read(text), with_table=False)
        tree = _own(os.path.join(self.cache, "tree.json"))
        try:
            self._look_at(code, ["-w", "-Xclang", "-ast-dump=json"], tree)
            with open(tree, encoding="utf-8") as file:
                return code, file.read()
        finally:
            _remove(tree)

    def checked_syntax_tree(self, text: str) -> tuple[str, str]:
        """Return a program as C++ and its syntax tree after the checks of `check`."""
        try:
            return self.syntax_tree(text)
        except CompileError:
            if self.has_objects or not _has_classes(text):
                raise
            with_objects = Compiler(**self.options, has_objects=True)
            with_objects._check_spaces(text)
            return with_objects.syntax_tree(text)

    def _compile(self, text: str, out: str, constants: dict[int, str]) -> None:
        """Compile a program without another attempt."""
        precompiled, code, program = self._prepare(text, constants)
        source, compiled, library = _own(f"{out}.cpp"), _own(f"{out}.o"), _own(out)
        runtime = self._runtime()
        try:
            _write(source, code)
            options = ["-include-pch", precompiled, "-g1", "-x", "c++"]
            self._clang([*self.spaces, *options, "-c", source, "-o", compiled])
            _demand_whole(program)
            linked = ["-o", library, compiled, runtime]
            _run([*self.tools.linker, *LINKED, *linked], library)
            os.replace(library, out)
        finally:
            for path in (source, compiled, library):
                _remove(path)

    def _check_spaces(self, text: str) -> None:
        """Check a program, and reject conversions between address spaces."""
        from . import spaces  # Its modules are slow to import, and rarely needed.

        self._look_at(_cxx(self._read(text)))
        code, tree = self.syntax_tree(text)  # repeats no warnings
        found = spaces.find_conversions(code, tree)
        if found:
            errors = (f"{SOURCE_NAME}:{line}:1: error: {what}" for line, what in found)
            raise CompileError("\n".join(errors))

    def _read(self, text: str, first_line: int = 1) -> Program:
        """Read a program, or raise `CompileError`."""
        program = Program(text, first_line)
        is_wrong_in_part = program.problems and re.search(CONDITION, text, re.MULTILINE)
        if program.has_kernels_in_macros or is_wrong_in_part:
            program = self._read_preprocessed(text, first_line) or program
        if program.problems:
            raise CompileError("\n".join(str(problem) for problem in program.problems))
        return program

    def _read_preprocessed(self, text: str, first_line: int) -> Program | None:
        """Read a program with its own macros expanded, or return None if that fails."""
        try:
            expanded = self._preprocessed(text)
        except CompileError:
            return None
        program = Program(expanded, first_line, preprocessed=True)
        program.has_kernels_in_macros = True
        return program

    def _preprocessed(self, text: str) -> str:
        """Return a program without includes of Metal, with its own macros expanded."""
        source = _own(os.path.join(self.cache, "macros.cpp"))
        expanded = _own(os.path.join(self.cache, "macros.ii"))
        try:
            lines = f'#line 1 "{SOURCE_NAME}"\n'
            _write(source, lines + INCLUSION_OF_METAL.sub("", text))
            defined = ["-D__METAL__=1", "-D__METAL_EMULATOR__=1"]
            self._clang([*defined, "-E", "-x", "c++", source, "-o", expanded])
            with open(expanded, encoding="utf-8") as file:
                return file.read()
        finally:
            _remove(source)
            _remove(expanded)

    def _look_at(
        self, code: str, options: list[str] | None = None, out: str | None = None
    ) -> None:
        """Make the compiler check C++ without compiling it; `out` gets its output."""
        source = _own(os.path.join(self.cache, "check.cpp"))
        shared = ["-include-pch", self._library(), "-x", "c++", "-fsyntax-only"]
        try:
            _write(source, code)
            self._clang([*self.spaces, *(options or []), *shared, source], out)
        finally:
            _remove(source)

    def _prepare(
        self, text: str, constants: dict[int, str]
    ) -> tuple[str, str, Program]:
        """Return the precompiled header, the C++ code and the `Program`."""
        precompiled = self._library()
        first_line = 1
        head, marker, rest = text.partition(END_OF_PRELUDE)
        if marker:
            prelude = self._prelude(head + marker)
            if prelude:
                precompiled, text = prelude, rest
                first_line += (head + marker).count("\n")
        program = self._read(text, first_line)
        for index, name in program.constants.items():
            if index not in constants:
                raise CompileError(f"function constant {index}, {name!r}, has no value")
        return precompiled, _cxx(program, constants), program

    # -- Parts that are compiled once

    def _library(self) -> str:
        """Return the path of the precompiled metal_stdlib."""
        path = os.path.join(self.cache, "metal_stdlib.pch")
        if not os.path.exists(path):
            self._precompile('#include "metal_stdlib"\n', path, [])
        return path

    def _prelude(self, text: str) -> str | None:
        """Return the path of a precompiled prelude, or None if it has kernels."""
        name = hashlib.sha1(text.encode()).hexdigest()[:20]
        path = os.path.join(self.cache, f"prelude-{name}.pch")
        if not os.path.exists(path):
            program = self._read(text)
            if program.kernels or program.unfinished or program.has_kernels_in_macros:
                return None
            code = _cxx(program, with_table=False)
            self._precompile(code, path, ["-include-pch", self._library()])
        return path

    def _precompile(self, code: str, path: str, options: list[str]) -> None:
        """Make a precompiled header, unless another process makes it first."""
        source = path.removesuffix("pch") + "h"
        temporary = _own(path)
        _write(_own(source), code)
        _publish(_own(source), source)
        stable = ["-Xclang", "-fno-pch-timestamp", "-g1", "-Wno-c++17-extensions"]
        header = ["-x", "c++-header", source, "-o", temporary]
        self._clang([*self.spaces, *options, *stable, *header])
        _publish(temporary, path)

    def _runtime(self) -> str:
        """Return the path of the compiled runtime."""
        path = os.path.join(self.cache, "runtime.o")
        if not os.path.exists(path):
            temporary = _own(path)
            source = ["-x", "c++", "-c", os.path.join(HERE, "runtime.cpp")]
            plain = [
                "-fno-sanitize-coverage=edge,trace-pc-guard,trace-loads,trace-stores,trace-div"
            ]
            self._clang([*plain, *source, "-o", temporary])
            _publish(temporary, path)
        return path

    def _clang(self, arguments: list[str], out: str | None = None) -> None:
        """Run the compiler with its output in a file, or raise `CompileError`."""
        command = [*self.tools.clang, *self.flags, *arguments]
        _run(command, arguments[-1], out)


def _demand_whole(program: Program) -> None:
    """Reject a program that the compiler accepts, but that was not read to its end."""
    if program.unfinished:
        raise CompileError(str(program.unfinished))


def _has_classes(text: str) -> bool:
    """Return whether a program may have objects of classes."""
    return re.search(r"\b(?:struct|class|union)\b", text) is not None


def _cxx(
    program: Program,
    constants: dict[int, str] | None = None,
    *,
    with_table: bool = True,
) -> str:
    """Return a program as C++. Its function constants are zero if they have no value."""
    values = constants or {}
    lines = [
        f"#define __msl_constant_{index} {values.get(index, '{}')}"
        for index in program.constants
    ]
    lines += [f'#line {program.first_line} "{SOURCE_NAME}"', program.cxx()]
    if with_table:
        lines += _table(program.kernels)
    return "\n".join(lines)


def _own_files() -> list[str]:
    """Return paths, sizes and times of the files that determine kernel libraries."""
    names = [os.path.join(HEADERS, name) for name in sorted(os.listdir(HEADERS))]
    names += [os.path.join(HERE, "kernel_abi.h"), os.path.join(HERE, "runtime.cpp")]
    modules = ("compiler.py", "dialect.py", "rewrite.py", "source.py", "spaces.py")
    names += [os.path.join(HERE, name) for name in modules]
    parts = []
    for name in names:
        status = os.stat(name)
        parts.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return parts


def _own(path: str) -> str:
    """Return a name for a file that no other process or thread writes."""
    return f"{path}.{os.getpid()}.{get_ident()}"


def _write(path: str, text: str) -> None:
    """Write text to a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _publish(temporary: str, path: str) -> None:
    """Rename a temporary file, unless another process created the file first."""
    try:
        os.link(temporary, path)
    except FileExistsError:  # The name of the folder ensures the same content.
        return
    finally:
        os.remove(temporary)


def _remove(path: str) -> None:
    """Remove a file if it exists."""
    if os.path.exists(path):
        os.remove(path)


def _run(command: list[str], beside: str, out: str | None = None) -> None:
    """Run a command with its output in a file, or raise `CompileError` with its errors."""
    said = _own(f"{beside}.log")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    into_files = [(os.POSIX_SPAWN_OPEN, 2, said, flags, 0o600)]
    if out:
        into_files.append((os.POSIX_SPAWN_OPEN, 1, out, flags, 0o600))
    child = os.posix_spawn(command[0], command, os.environ, file_actions=into_files)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        with open(said, encoding="utf-8", errors="replace") as file:
            text = file.read()
    finally:
        _remove(said)
    if status != 0:
        raise CompileError(_explained(text) or f"{command[0]} failed with {status}")
    if text:
        sys.stderr.write(f"{_explained(text)}\n")


# -- Diagnostics of the compiler


def _explained(text: str) -> str:
    """Return diagnostics in terms of Metal and at lines of the program."""
    for number, space in enumerate(("device", "constant", "threadgroup"), 1):
        text = text.replace(f"__attribute__((address_space({number})))", space)
    for name, space in SYCL_SPACES.items():
        text = re.sub(rf"\b{name}\b", space, text)
    blocks = [_at_users_line(block) for block in _blocks(text)]
    own = [block for block in blocks if not _is_of_table(block)]
    # After other errors, those of the table of kernels are rarely useful.
    wrong_elsewhere = any(": error: " in block[0] for block in own)
    chosen = own if wrong_elsewhere else blocks
    return "\n".join(line for block in chosen for line in block)


def _blocks(text: str) -> list[list[str]]:
    """Return the lines of each error or warning with its notes."""
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if re.match(HEADLINE, line):
            blocks.append([line])
        elif blocks and not re.match(INCLUSION, line):
            blocks[-1].append(line)
    return blocks


def _at_users_line(block: list[str]) -> list[str]:
    """Move an error to the line of the program that caused it, and add a note if needed."""
    place, _, message = block[0].partition(" error: ")
    if not message:
        return block
    if place.startswith(HEADERS):
        causes = (re.match(CAUSE_IN_PROGRAM, line) for line in block)
        cause = next(filter(None, causes), None)
        if cause:
            place = f"{cause['where']}:"
            block = [f"{place} error: {message}", *block[1:]]
    elif "static assertion failed" in message and "__msl::" in message:
        return [f"{place} error: {message.rpartition(': ')[2]}"]
    return block


def _is_of_table(block: list[str]) -> bool:
    """Return whether a block is about the table of kernels."""
    return any(line.startswith("kernels:") or "__msl::param" in line for line in block)


# -- The table of kernels


def _table(kernels: list[Kernel]) -> list[str]:
    """Return checks of each parameter and the table that a library exports, as C++."""
    lines = []
    for kernel in kernels:
        lines += _checks(kernel)
    lines.append('#line 1 "kernels"')
    for n, kernel in enumerate(kernels):
        function = f"&::{kernel.function}"
        attributes = "".join(
            f", __msl::attribute<{parameter.kind}, {parameter.index}>"
            for parameter in kernel.parameters
        )
        lines.append(
            f"static msl_kernel __kernel_{n}() {{ return "
            f"__msl::describe<decltype({function}), {function}{attributes}>"
            f'("{kernel.name}", {kernel.max_threads}); }}'
        )
    exported = 'extern "C" __attribute__((visibility("default"))) extern'
    names = ", ".join(f"__kernel_{n}()" for n in range(len(kernels))) or "{}"
    lines += [
        f"{exported} msl_kernel metal_emulator_kernels[];",
        f"{exported} const uint32_t metal_emulator_kernel_count;",
        f"msl_kernel metal_emulator_kernels[] = {{{names}}};",
        f"const uint32_t metal_emulator_kernel_count = {len(kernels)};",
        # With SYCL, clang emits what an external function uses.
        "__MSL_EXTERNAL const void *metal_emulator_exports(bool is_count) { return is_count"
        " ? (const void *)&metal_emulator_kernel_count : metal_emulator_kernels; }\n",
    ]
    return lines


def _checks(kernel: Kernel) -> list[str]:
    """Return checks of a kernel's parameters, at their positions in the program."""
    checks = []
    position = None
    function = f"decltype(&::{kernel.function})"
    for n, parameter in enumerate(kernel.parameters):
        this = f"__msl::parameter<{function}, {n}>"
        attribute = parameter.attribute
        conditions = []
        if parameter.kind == BUFFER:
            what = "a pointer or reference to device or constant memory"
            conditions.append((f"is_buffer<{this}>", what))
            conditions.append((f"is_one_level<{this}>", "no pointer to a pointer"))
        elif parameter.kind == THREADGROUP_MEMORY:
            what = "a pointer or reference to threadgroup memory"
            conditions.append((f"is_threadgroup_memory<{this}>", what))
        elif attribute in POSITIONS:
            what = "ushort, uint or a vector of these"
            conditions.append((f"is_position<{this}>", what))
            if position is not None:
                other, first = position
                same = f"count_of<{this}> == __msl::count_of<{other}>"
                conditions.append((same, f"as many components as '{first}'"))
            position = position or (this, attribute)
        else:
            conditions.append((f"is_index<{this}>", "ushort or uint"))
        indent = " " * (parameter.column - 1)
        for condition, takes in conditions:
            message = f"\"'{attribute}' takes {takes}\""
            checks += [
                f'#line {parameter.line} "{SOURCE_NAME}"',
                f"{indent}static_assert(__msl::{condition}, {message});",
            ]
    return checks


def main(arguments: list[str]) -> int:
    """Run the command line and return the exit status."""
    options = {argument for argument in arguments if argument.startswith("--")}
    names = [argument for argument in arguments if argument not in options]
    versions = {f"--version={version}": version for version in VERSIONS}
    flags = {"--fast-math", "--fast-functions", "--plain", "--check"}
    check = "--check" in options
    if options - flags - versions.keys() or len(names) != 2 - check:
        sys.stderr.write(
            "usage: compile.py SOURCE.metal OUT.so [--fast-math] [--fast-functions]"
            " [--version=310] [--plain]\n"
        )
        return 2
    try:
        compiler = Compiler(
            fast_math="--fast-math" in options,
            fast_functions="--fast-functions" in options,
            version=max((versions[o] for o in options & versions.keys()), default=310),
            instrumented="--plain" not in options,
        )
        with open(names[0], encoding="utf-8") as file:
            text = file.read()
        if check:
            compiler.check(text)
        else:
            compiler.compile(text, names[1])
    except (CompileError, toolchain.MissingToolchainError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
