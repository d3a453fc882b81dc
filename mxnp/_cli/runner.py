"""NumPy programs as they are, with mxnp in NumPy's place.

An import is decided by the file it stands in: a program's own files get mxnp; the
standard library, installed packages and mxnp itself get NumPy, and `sys.modules` is
left alone. docs/design/03-runner.md tells why it is done this way.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import io
import linecache
import os
import pkgutil
import runpy
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial, wraps
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy

from mxnp._bridge import set_package_test
from mxnp._interop.adapters import when_imported
from mxnp._interop.program_files import (
    is_in_folder,
    is_in_package,
    is_in_standard_library,
)
from mxnp._namespace import mirror

__all__ = ["install", "run_code", "run_module", "run_path", "run_stdin", "uninstall"]


# -- Whose import it is ---------------------------------------------------------------


class Choice(NamedTuple):
    """Which files an import gets mxnp in, beside what their place says."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def _listed(variable: str) -> list[str]:
    """Give the parts of a variable that is written like PATH."""
    return [part for part in os.environ.get(variable, "").split(os.pathsep) if part]


def _matches(prefixes: Iterable[str], name: str, file: str | None) -> bool:
    """Say whether a module is one of those named, or within one, by name or by path."""
    for prefix in prefixes:
        if "/" in prefix or os.sep in prefix:
            if file is not None and is_in_folder(file, prefix):
                return True
        elif name == prefix or name.startswith(prefix + "."):
            return True
    return False


def _is_program(names: dict[str, Any], source: str, choice: Choice) -> bool:
    """
    Say whether an import stands in the program's own code.

    Parameters
    ----------
    names : dict
        The globals of the code.
    source : str
        The file name in its code object.
    choice : Choice
        What was included and excluded.
    """
    spec = names.get("__spec__")
    name = getattr(spec, "name", None) or names.get("__name__") or ""
    file = names.get("__file__") or getattr(spec, "origin", None)
    if not isinstance(file, str):
        file = None
    if _matches(choice.exclude, name, file):
        return False
    if _matches(choice.include, name, file) or names.get("__name__") == "__main__":
        return True
    if file is None:
        return True  # a notebook's cell, or text given to exec
    if file in ("built-in", "frozen") or is_in_standard_library(file):
        # The standard library has no use for NumPy: it runs a text of the program's,
        # as timeit does.
        return source.startswith("<") and not source.startswith("<frozen")
    return not is_in_package(file)


def is_of_package(names: dict[str, Any]) -> bool:
    """Say whether some globals are those of a package, which uses NumPy's arrays."""
    file = names.get("__file__")
    if not isinstance(file, str) or is_in_standard_library(file):
        return False
    return not _is_program(names, "", _choice or Choice())


def _whose(frame: types.FrameType) -> str:
    """Say whose code a frame runs: the program's, a package's or Python's library."""
    if is_of_package(frame.f_globals):
        return "package"
    source = frame.f_code.co_filename
    is_own = _is_program(frame.f_globals, source, _choice or Choice())
    return "program" if is_own else "library"


def _finds_in_package(cls: type, method: str) -> bool:
    if method == "__ne__" and vars(object)[method] is getattr(cls, method):
        method = "__eq__"  # which object's method calls
    for each in cls.__mro__:
        if method in vars(each):
            module = sys.modules.get(each.__module__)
            return module is not None and is_of_package(vars(module))
    return False


_answers: WeakKeyDictionary[type, dict[str, bool]] = WeakKeyDictionary()


def is_from_package(cls: type, method: str) -> bool:
    """Say whether a class has a method from an installed package, if it has one."""
    answers = _answers.setdefault(cls, {})
    if method not in answers:
        answers[method] = _finds_in_package(cls, method)
    return answers[method]


set_package_test(is_from_package)


# -- What an import gives -------------------------------------------------------------


def _is_numpys(module: object) -> bool:
    name = getattr(module, "__name__", None)
    if not isinstance(name, str) or sys.modules.get(name) is not module:
        return False
    return name == "numpy" or name.startswith("numpy.")


@cache
def _counterpart(found: types.ModuleType) -> types.ModuleType:
    """Give the module of mxnp for a public one of NumPy, or else what was found."""
    ours: types.ModuleType = mirror.cross(found, "numpy")
    return ours


def _replace_imported(
    found: types.ModuleType,
    name: str,
    globals: dict[str, Any] | None = None,
    locals: Any = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> types.ModuleType:
    """Give what `__import__` gives its caller; called by it with what was found."""
    choice = _choice
    if choice is None or not _is_numpys(found):
        return found
    importer = sys._getframe(1)
    own = globals is None or globals is importer.f_globals
    names = importer.f_globals if globals is None else globals
    if not _is_program(names, importer.f_code.co_filename if own else "", choice):
        return found
    return _counterpart(found)


def _replace_import_module(
    found: types.ModuleType, name: str, package: str | None = None
) -> types.ModuleType:
    """Give what `importlib.import_module` gives its caller."""
    choice = _choice
    if choice is None or not _is_numpys(found):
        return found
    importer = sys._getframe(1)
    if not _is_program(importer.f_globals, importer.f_code.co_filename, choice):
        return found
    return _counterpart(found)


# -- Child processes ------------------------------------------------------------------

# What tells a new process what to prepare before it runs anything, and what starts the
# server that processes are forked from.
_SPAWNERS = {
    "multiprocessing.spawn": "get_preparation_data",
    "joblib.externals.loky.backend.spawn": "get_preparation_data",
    "loky.backend.spawn": "get_preparation_data",
    "multiprocessing.util": "spawnv_passfds",
}


def _text_to_install(choice: Choice, path: Sequence[str]) -> str:
    """
    Give a text that installs mxnp in a new process.

    A child gets the `sys.path` of its parent only later, and mxnp may be found by that.
    """
    return (
        f"import sys; before = sys.path[:]; sys.path[:] = {list(path)!r}; "
        f"from mxnp import install; install{tuple(choice)!r}; sys.path[:] = before; "
    )


class _Installed:
    """When it is unpickled, mxnp is installed there too."""

    def __init__(self, choice: Choice, path: Sequence[str]) -> None:
        self.text = _text_to_install(choice, path)

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.text, {})


def _prepare(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have spawned processes install mxnp first."""

    @wraps(original)
    def get_preparation_data(*args: Any, **kwargs: Any) -> Any:
        data = original(*args, **kwargs)
        choice = _choice
        if choice is not None:
            data["mxnp"] = _Installed(choice, data.get("sys_path", sys.path))
        return data

    return get_preparation_data


def _prepare_server(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have the server install mxnp, if it is told to import the program's modules."""

    @wraps(original)
    def spawnv_passfds(path: Any, args: Sequence[Any], passfds: Any) -> Any:
        choice = _choice
        args = list(args)
        text = args.index("-c") + 1 if "-c" in args else 0  # sys.argv may follow
        if choice is not None and _imports_modules(str(args[text])):
            args[text] = _text_to_install(choice, sys.path) + args[text]
        return original(path, args, passfds)

    return spawnv_passfds


def _imports_modules(text: str) -> bool:
    """Say whether a new process is a server that imports modules of the program."""
    if "from multiprocessing.forkserver import" not in text:
        return False
    # Told of __main__ without a path it imports nothing, and stays without threads.
    return "['__main__'], " not in text or "'main_path'" in text


def _prepare_children(module: Any) -> None:
    """Have the processes that a module starts install mxnp first."""
    name = _SPAWNERS[module.__name__]
    original = getattr(module, name, None)  # there is no spawnv_passfds on Windows
    if original is None or hasattr(original, "_mxnp"):
        return
    prepare = _prepare if name == "get_preparation_data" else _prepare_server
    ours = prepare(original)
    ours._mxnp = original  # type: ignore[attr-defined]
    setattr(module, name, ours)


def _forget_children(module: Any) -> None:
    name = _SPAWNERS[module.__name__]
    original = getattr(getattr(module, name, None), "_mxnp", None)
    if original is not None:
        setattr(module, name, original)


def _prepare_if_installed(module: Any) -> None:
    if _choice is not None:
        _prepare_children(module)


# -- Switching it on and off ----------------------------------------------------------

_lock = threading.RLock()
_choice: Choice | None = None  # None: not installed
_ours: dict[str, Any] = {}  # our import functions, and what stood in their places
_PLACES: dict[str, types.ModuleType] = {
    "__import__": builtins,
    "import_module": importlib,
}


def install(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
    """
    Let the program's ``import numpy`` give mxnp from here on.

    Imports in the program's own files, in notebook cells and in text given to `exec`
    give mxnp; imports in the standard library and in installed packages give NumPy as
    before. Names that were bound earlier are left as they are. Processes started with
    `multiprocessing` are switched too.

    Parameters
    ----------
    include : iterable of str, optional
        Installed packages whose imports give mxnp too, by name, or by path where there
        is a slash in it. Those in the variable ``MXNP_INCLUDE`` (separated as in
        ``PATH``) are added.
    exclude : iterable of str, optional
        Modules and packages, named likewise, that keep NumPy although they are not
        installed in the usual place. Those in ``MXNP_EXCLUDE`` are added. It wins over
        `include`.

    See Also
    --------
    uninstall

    Notes
    -----
    More calls add to what is included and excluded, and do nothing else.

    Examples
    --------
    >>> import mxnp
    >>> mxnp.install()
    >>> import numpy as np
    >>> type(np.arange(3)).__module__
    'mxnp'
    >>> mxnp.uninstall()
    """
    global _choice  # noqa: PLW0603
    if isinstance(include, str) or isinstance(exclude, str):
        raise TypeError("include and exclude must be collections of names, not a name")
    with _lock:
        _answers.clear()
        before = _choice or Choice()
        choice = Choice(
            tuple({*before.include, *include, *_listed("MXNP_INCLUDE")}),
            tuple({*before.exclude, *exclude, *_listed("MXNP_EXCLUDE")}),
        )
        if _choice is not None:
            _choice = choice
            return
        # Only programs that are switched need it.
        from mxnp import _import

        for name, hook, replace in (
            ("__import__", _import.hook_import, _replace_imported),
            ("import_module", _import.hook_import_module, _replace_import_module),
        ):
            # It is still there if somebody put their own function over it.
            if name not in _ours:
                original = getattr(_PLACES[name], name)
                _ours[name] = (hook(original, replace), original)
                setattr(_PLACES[name], name, _ours[name][0])
        _choice = choice
        for name in _SPAWNERS:
            when_imported(name, _prepare_if_installed)


def uninstall() -> None:
    """
    Let ``import numpy`` give NumPy again, everywhere.

    Names that were bound meanwhile are left as they are.

    See Also
    --------
    install
    """
    global _choice  # noqa: PLW0603
    with _lock:
        if _choice is None:
            return
        _choice = None
        _answers.clear()
        for name, (ours, original) in list(_ours.items()):
            # What somebody has put over ours stays; ours below it lets all pass.
            if getattr(_PLACES[name], name) is ours:
                setattr(_PLACES[name], name, original)
                del _ours[name]
        for name in _SPAWNERS:
            if name in sys.modules:
                _forget_children(sys.modules[name])


def is_installed() -> bool:
    """Tell whether imports of NumPy give mxnp."""
    return _choice is not None


# -- Running a program ----------------------------------------------------------------


# What Python itself calls for -m; its frames are in the tracebacks there too.
_run_as_main: Callable[..., Any] = runpy._run_module_as_main  # type: ignore[attr-defined]


def _new_main(**names: Any) -> dict[str, Any]:
    """Put a new ``__main__`` in place, as Python makes it, and give its names."""
    module = types.ModuleType("__main__")
    made = vars(module)
    made["__loader__"] = importlib.machinery.BuiltinImporter
    if sys.version_info < (3, 14):
        made["__annotations__"] = {}
    made["__builtins__"] = builtins
    made.update(names)
    sys.modules["__main__"] = module
    return made


def _set_first_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _run(program: Callable[[], Any]) -> None:
    """Run a program, whose traceback is to begin at its own first frame."""
    try:
        program()
        return
    except BaseException as error:
        failure = error
    # Not while it is handled: it would be the context of what sys.excepthook raises.
    try:
        traceback = failure.__traceback__
        while traceback is not None and _is_ours(traceback.tb_frame):
            traceback = traceback.tb_next
        _add_note(failure)
        # Python prints the traceback of an exit only under -i.
        if not isinstance(failure, SystemExit) or sys.flags.inspect:
            _print(failure.with_traceback(traceback))
        raise failure
    finally:
        del failure


def _add_note(error: BaseException) -> None:
    """Add a note to an exception that is a package's, over an mxnp array."""
    # Whatever happens here, the program's exception is what is to be printed.
    with suppress(Exception):
        from mxnp._interop import notes

        notes.add_note(error, _whose)


def _print(error: BaseException) -> None:
    """Print an exception that nobody caught, before the runner's frames are added."""
    from mxnp import _import

    _import.print_exception(error)
    before = {name: vars(sys).get(name) for name in ("excepthook", "last_traceback")}
    missing = before.keys() - vars(sys)

    # Python goes on to end as it does with this exception, but for the printing.
    def excepthook(kind: Any, value: BaseException, _: Any) -> None:
        value.__traceback__ = before["last_traceback"]
        vars(sys).update(before)
        for name in missing:
            delattr(sys, name)

    sys.excepthook = excepthook


def _is_ours(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename == _run.__code__.co_filename


def _execute(
    source: str | bytes | types.CodeType, filename: str, names: dict[str, Any]
) -> None:
    if not isinstance(source, types.CodeType):
        source = compile(source, filename, "exec", dont_inherit=True)
    exec(source, names)


def run_path(path: str, args: Sequence[str]) -> None:
    """
    Run a script, or a folder or zip file with a ``__main__.py``, as `python` does.

    Parameters
    ----------
    path : str
        The file or folder.
    args : sequence of str
        The rest of `sys.argv`.

    Raises
    ------
    SystemExit
        With status 2 and Python's message, if the file cannot be read.
    """
    filename = path if Path(path).is_absolute() else f"{Path.cwd()}{os.sep}{path}"
    if pkgutil.get_importer(filename) is not None:
        sys.argv = [path, *args]
        if sys.flags.safe_path:
            sys.path.insert(0, filename)
        else:
            sys.path[0] = filename
        _new_main()
        _run(partial(_run_as_main, "__main__", alter_argv=False))
        return
    try:
        content = Path(filename).read_bytes()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(
            f"{sys.executable}: can't open file {filename!r}: {reason}", file=sys.stderr
        )
        raise SystemExit(2) from None
    sys.argv = [path, *args]
    _set_first_path(str(Path(path).resolve().parent))
    loader: Any = SourceFileLoader("__main__", filename)
    code = pkgutil.read_code(io.BytesIO(content))
    if code is not None:
        loader = SourcelessFileLoader("__main__", filename)
    names = _new_main(__loader__=loader, __file__=filename, __cached__=None)
    _run(partial(_execute, code or content, filename, names))


def run_module(name: str, args: Sequence[str]) -> None:
    """
    Run a module as ``python -m`` does.

    Parameters
    ----------
    name : str
        The module, or a package with a ``__main__`` module.
    args : sequence of str
        The rest of `sys.argv`.
    """
    sys.argv = ["-m", *args]
    _set_first_path(str(Path.cwd()))
    _new_main()
    _run(partial(_run_as_main, name))


def run_code(source: str, args: Sequence[str]) -> None:
    """
    Run a text as ``python -c`` does.

    Parameters
    ----------
    source : str
        The text.
    args : sequence of str
        The rest of `sys.argv`.
    """
    sys.argv = ["-c", *args]
    _set_first_path("")
    if sys.version_info >= (3, 14):
        source = textwrap.dedent(source)
    if sys.version_info >= (3, 13):
        # Tracebacks show the lines of such a text from here on.
        lines = source.splitlines(keepends=True)
        linecache.cache["<string>"] = (len(source), None, lines, "<string>")
    names = _new_main()
    _run(partial(_execute, source + "\n", "<string>", names))


def run_stdin(args: Sequence[str]) -> None:
    """
    Run what comes from the standard input: a program, or what a person types.

    Parameters
    ----------
    args : sequence of str
        `sys.argv`.
    """
    sys.argv = list(args) or [""]
    _set_first_path("")
    if sys.stdin.isatty():
        _converse()
        return
    names = _new_main(__file__="<stdin>", __cached__=None)
    _run(partial(_execute, sys.stdin.buffer.read(), "<stdin>", names))


def _converse() -> None:
    """Let Python's console begin when this has returned, or else that of `code`."""
    started = getattr(sys.modules["__main__"], "__spec__", None)
    names = _new_main()
    version = importlib.import_module("mxnp").mxnp_version
    banner = (
        f"mxnp {version} (NumPy {numpy.__version__}), Python {sys.version}"
        f" on {sys.platform}\n`import numpy` gives mxnp here."
    )
    by_python = started is not None and not sys.flags.ignore_environment
    if not by_python and not sys.flags.inspect:
        import code

        code.interact(banner, local=names, exitmsg="")
        return
    print(banner, file=sys.stderr)
    if not sys.flags.inspect:
        _inspect_once()


def _inspect_once() -> None:
    """Set what makes Python go on to its console, until that begins."""
    original = getattr(sys, "__interactivehook__", None)

    def begin() -> None:
        os.environ.pop("PYTHONINSPECT", None)
        if original is None:
            del sys.__interactivehook__
        else:
            sys.__interactivehook__ = original
            original()

    sys.__interactivehook__ = begin
    os.environ["PYTHONINSPECT"] = "1"
