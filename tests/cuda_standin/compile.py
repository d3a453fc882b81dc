"""Compile a CUDA program for the processor: ``compile.py SOURCE.cu HEADERS OUT.so``.

The folder HEADERS has what the program includes. The exit status is 1 if the program is
wrong, and stderr says why. Parts that many programs share are compiled once: the headers,
and the beginning of a program up to the line ``/* -- end of prelude -- */``.
"""
# This program starts once for each kernel, so it avoids pathlib, which is slow to import.
# ruff: noqa: PTH100, PTH103, PTH105, PTH110, PTH118, PTH120, PTH208

import hashlib
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
METAL = os.path.join(os.path.dirname(HERE), "metal_emulator")
sys.path[0] = os.path.dirname(HERE)

from metal_emulator import toolchain  # noqa: E402

FLAGS = [
    *("-std=c++17", "-O1", "-g1", "-fPIC", "-ffp-contract=off", *toolchain.NATIVE),
    *("-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-fno-math-errno"),
    *("-fno-threadsafe-statics", "-fno-stack-protector", "-nostdlibinc"),
    *("-fno-asynchronous-unwind-tables", "-Wno-everything", "-ferror-limit=30"),
    "-fno-strict-aliasing",  # as NVRTC
    f"-I{METAL}",
]
INSTRUMENTED = ["-fsanitize-coverage=edge,trace-pc-guard,trace-loads,trace-stores"]
END_OF_PRELUDE = "/* -- end of prelude -- */\n"
KERNEL = re.compile(r'extern "C" __global__ void (\w+)\(')
SHARED = re.compile(r"__shared__\s+([^;]+);")
DECLARED = re.compile(r"\s*(.+?)\s+(\w+\s*(?:[\[,].*)?)$", re.DOTALL)


def shared_variable(match: re.Match[str], number: list[int]) -> str:
    """Return the declaration of variables in the memory of a block."""
    kind, names = DECLARED.match(match[1]).groups()
    text = ""
    for declarator in re.split(r",(?![^\[]*\])", names):
        name, size = re.match(r"\s*(\w+)\s*(.*)", declarator, re.DOTALL).groups()
        number[0] += 1
        alias = f"standin_shared_{number[0]}"
        text += f"typedef {kind} {alias} {size}; "
        text += f"{alias} &{name} = standin_shared<{alias}>({number[0]}); "
    return text


def host_text(text: str, *, is_prelude: bool = False) -> str:
    """Return a program as C++ of the processor, with a table of its kernels."""
    number = [0]
    text = SHARED.sub(lambda match: shared_variable(match, number), text)
    text = re.sub(
        r"const __grid_constant__ (\w+(?:<\d+>)?) (\w+)", r"const \1 &\2", text
    )
    if is_prelude:
        return text
    names = KERNEL.findall(text)
    rows = ", ".join(
        f'standin_describe<decltype(&::{name}), &::{name}>("{name}")' for name in names
    )
    exported = 'extern "C" __attribute__((visibility("default"))) extern'
    return (
        f"{text}\n{exported} msl_kernel metal_emulator_kernels[];\n"
        f"{exported} const uint32_t metal_emulator_kernel_count;\n"
        f"msl_kernel metal_emulator_kernels[] = {{{rows or '{}'}}};\n"
        f"const uint32_t metal_emulator_kernel_count = {len(names)};\n"
    )


def run(command: list[str]) -> None:
    """Run a command, or raise SystemExit with what it says."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


class Compiler:
    """A compiler whose shared parts are in the cache of the Metal emulator."""

    def __init__(self, headers: str) -> None:
        self.tools = toolchain.find()
        self.cache = toolchain.cache_folder()
        self.hash = hashlib.sha1(self.tools.identity().encode())
        folder = os.path.join(METAL, "msl")
        own = [os.path.join(folder, name) for name in ("runtime.cpp", "kernel_abi.h")]
        own += [os.path.join(HERE, name) for name in ("host.h", "compile.py")]
        own += [os.path.join(headers, name) for name in sorted(os.listdir(headers))]
        for name in own:
            with open(name, "rb") as file:
                self.hash.update(file.read())
        self.headers = self.keep(headers)

    def keep(self, headers: str) -> str:
        """Copy the headers to the cache, where precompiled ones refer to them."""
        folder = os.path.join(self.cache, f"cuda-headers-{self.hash.hexdigest()[:20]}")
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(headers):
            if not os.path.exists(os.path.join(folder, name)):
                shutil.copyfile(os.path.join(headers, name), f"{folder}.{os.getpid()}")
                os.replace(f"{folder}.{os.getpid()}", os.path.join(folder, name))
        return folder

    def clang(self, arguments: list[str]) -> None:
        """Run the compiler."""
        run([*self.tools.clang, *FLAGS, f"-I{self.headers}", *arguments])

    def once(self, name: str, text: str, suffix: str, arguments: list[str]) -> str:
        """Compile a text into the cache, unless it is there; return the path."""
        hash = self.hash.copy()
        hash.update(text.encode())
        path = os.path.join(self.cache, f"cuda-{name}-{hash.hexdigest()[:20]}.{suffix}")
        if not os.path.exists(path):
            own = f"{path}.{os.getpid()}"
            with open(f"{own}.h", "w") as file:
                file.write(text)
            os.replace(f"{own}.h", f"{path}.h")
            self.clang([*arguments, f"{path}.h", "-o", own])
            os.replace(own, path)
        return path

    def compile(self, text: str, out: str) -> None:
        """Compile a program to a shared library."""
        head, marker, rest = text.partition(END_OF_PRELUDE)
        if not marker:
            head, rest = "", text
        stable = ["-Xclang", "-fno-pch-timestamp", *INSTRUMENTED, "-x", "c++-header"]
        code = f'#include "{HERE}/host.h"\n{host_text(head, is_prelude=True)}'
        shared = self.once("prelude", code, "pch", stable)
        runtime = self.once(
            "runtime", f'#include "{METAL}/msl/runtime.cpp"\n', "o", ["-x", "c++", "-c"]
        )
        with open(f"{out}.cpp", "w") as file:
            file.write(host_text(rest))
        program = ["-x", "c++", "-c", f"{out}.cpp", "-o", f"{out}.o"]
        self.clang([*INSTRUMENTED, "-include-pch", shared, *program])
        linked = ["-shared", "-Bsymbolic", "--build-id=none", "-z", "notext"]
        run([*self.tools.linker, *linked, "-o", out, f"{out}.o", runtime])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        program = source.read()
    Compiler(sys.argv[2]).compile(program, sys.argv[3])
