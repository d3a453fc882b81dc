"""Run NumPy programs with mxnp in place of NumPy.

The file that contains an import decides what it returns. A program's own files get
mxnp. The standard library, installed packages and mxnp itself get NumPy. `sys.modules`
is not changed. See docs/design/03-runner.md.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import marshal
import os
import runpy
import sys
import types
from _thread import RLock  # which is loaded already
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial, wraps
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._bridge import frameless
from mxnp._engine import environment
from mxnp._interop.adapters import when_imported
from mxnp._interop.owners import (
    ImportFilter,
    belongs_to_program,
    get_rules,
    is_excluded,
    owner_of_frame,
    set_rules,
)
from mxnp._namespace import mirror

__all__ = ["install", "run_code", "run_module", "run_path", "run_stdin", "uninstall"]


# -- The result of an import -----------------------------------------------------------


def _is_numpy_module(module: object) -> bool:
    name = getattr(module, "__name__", None)
    if not isinstance(name, str) or sys.modules.get(name) is not module:
        return False
    return name == "numpy" or name.startswith("numpy.")


@cache
def _counterpart(found: types.ModuleType) -> types.ModuleType:
    """Return mxnp's module for a public module of NumPy, or else the module itself."""
    ours: types.ModuleType = mirror.find_counterpart(found)
    return ours


def _replace_imported(
    found: types.ModuleType,
    name: str,
    globals: dict[str, Any] | None = None,
    locals: Any = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> types.ModuleType:
    """Return the result of `__import__`, which found a module and called this."""
    if get_rules() is None or not _is_numpy_module(found):
        return found
    importer = sys._getframe().f_back
    if importer is None:  # C code imports it, which no function of Python has called
        return found
    own = globals is None or globals is importer.f_globals
    names = importer.f_globals if globals is None else globals
    if not belongs_to_program(names, importer.f_code.co_filename if own else ""):
        return found
    if _is_copied(importer):
        return found
    ours = _counterpart(found)
    # An error names the module in which a name is missing, and its file.
    return ours if all(_has(ours, found, each) for each in fromlist or ()) else found


def _has(ours: types.ModuleType, numpys: types.ModuleType, name: str) -> bool:
    """Check whether a module has a name, without a look that may warn."""
    return (
        name == "*"
        or name in vars(ours)
        or f"{numpys.__name__}.{name}" in sys.modules
        or name in dir(numpys)
    )


def _is_copied(importer: types.FrameType) -> bool:
    """Check whether array_api_compat, or a copy in a package, copies all of a module.

    It passes ``from numpy import *`` to exec, and then sets each name to NumPy's.
    """
    caller = importer.f_back
    name = str(caller.f_globals.get("__name__")) if caller else ""
    return (
        "array_api_compat" in name.split(".") and "__name__" not in importer.f_globals
    )


def _replace_import_module(
    found: types.ModuleType, name: str, package: str | None = None
) -> types.ModuleType:
    """Return the result of `importlib.import_module`, which calls this."""
    if get_rules() is None or not _is_numpy_module(found):
        return found
    importer = sys._getframe().f_back
    if importer is None or not belongs_to_program(
        importer.f_globals, importer.f_code.co_filename
    ):
        return found
    return _counterpart(found)


# -- Child processes ------------------------------------------------------------------

# The functions that return the preparation data of a new process, and the function that
# starts the server from which processes are forked.
_SPAWNERS = {
    "multiprocessing.spawn": "get_preparation_data",
    "joblib.externals.loky.backend.spawn": "get_preparation_data",
    "loky.backend.spawn": "get_preparation_data",
    "multiprocessing.util": "spawnv_passfds",
}


def _install_code(rules: ImportFilter, path: Sequence[str]) -> str:
    """
    Return source code that installs mxnp in a new process.

    The code sets the parent's `sys.path`, which a child gets only later, because mxnp
    may be found only there.
    """
    return (
        f"import sys; before = sys.path[:]; sys.path[:] = {list(path)!r}; "
        f"from mxnp import install; install({rules.include!r}, {rules.exclude!r}); "
        "sys.path[:] = before; "
    )


class _Installer:
    """An object that installs mxnp in the process that unpickles it."""

    def __init__(self, rules: ImportFilter, path: Sequence[str]) -> None:
        self.code = _install_code(rules, path)

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code, {})


def _prepare(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make spawned processes install mxnp first."""

    @wraps(original)
    def get_preparation_data(*args: Any, **kwargs: Any) -> Any:
        data = original(*args, **kwargs)
        rules = get_rules()
        if rules is not None:
            data["mxnp"] = _Installer(rules, data.get("sys_path", sys.path))
        return data

    return get_preparation_data


def _prepare_server(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the server install mxnp if it will import modules of the program."""

    @wraps(original)
    def spawnv_passfds(path: Any, args: Sequence[Any], passfds: Any) -> Any:
        rules = get_rules()
        args = list(args)
        at = args.index("-c") + 1 if "-c" in args else 0  # sys.argv may follow the code
        if rules is not None and _imports_modules(str(args[at])):
            args[at] = _install_code(rules, sys.path) + args[at]
        return original(path, args, passfds)

    return spawnv_passfds


def _imports_modules(code: str) -> bool:
    """Check whether code runs a fork server that imports modules of the program."""
    if "from multiprocessing.forkserver import" not in code:
        return False
    # With __main__ alone and no path the server imports nothing, and has no threads.
    return "['__main__'], " not in code or "'main_path'" in code


def _prepare_children(module: Any) -> None:
    """Make the processes that a module starts install mxnp first."""
    name = _SPAWNERS[module.__name__]
    original = getattr(module, name, None)  # Windows has no spawnv_passfds
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
    if get_rules() is not None:
        _prepare_children(module)


# -- Dask ------------------------------------------------------------------------------


def _choose_dask_backend(config: Any) -> None:
    """Make functions of ``dask.array`` create mxnp chunks, if mxnp is installed."""
    if get_rules() is not None and not is_excluded("dask.array"):
        from mxnp._interop import dask_protocols  # few programs need it

        dask_protocols.choose_backend(config)


# -- Installation ----------------------------------------------------------------------

_lock = RLock()
_hooks: dict[str, Any] = {}  # our import functions, each with the one it replaced
_MODULES: dict[str, types.ModuleType] = {
    "__import__": builtins,
    "import_module": importlib,
    "_find_and_load": importlib._bootstrap,
}


@frameless
def install(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
    """
    Make the program's ``import numpy`` import mxnp from now on.

    Imports in the program's own files, in notebook cells and in code passed to `exec`
    return mxnp. Imports in the standard library and in installed packages still return
    NumPy. Names that are already bound do not change. Processes that `multiprocessing`
    starts are switched too.

    Parameters
    ----------
    include : iterable of str, optional
        Installed packages whose imports return mxnp too, also those in editable form:
        names, or paths if they contain a slash. The environment variable
        ``MXNP_INCLUDE`` adds to them. It is separated as ``PATH`` is.
    exclude : iterable of str, optional
        Modules and packages that keep NumPy although they are not installed in the
        usual place, in the same form. ``MXNP_EXCLUDE`` adds to them. `exclude` has
        precedence over `include`.

    Raises
    ------
    TypeError
        If `include` or `exclude` is a str.

    See Also
    --------
    uninstall : Make ``import numpy`` import NumPy again.

    Notes
    -----
    Further calls only add to the included and excluded modules.

    Examples
    --------
    >>> import mxnp
    >>> mxnp.install()
    >>> import numpy as np
    >>> type(np.arange(3)).__module__
    'mxnp'
    >>> mxnp.uninstall()
    """
    if isinstance(include, str) or isinstance(exclude, str):
        raise TypeError(
            "include and exclude must be iterables of names, not str: pass [name]"
        )
    with _lock:
        installed = get_rules()
        before = installed or ImportFilter()
        rules = ImportFilter(
            {*before.include, *include, *environment.get_names("MXNP_INCLUDE")},
            {*before.exclude, *exclude, *environment.get_names("MXNP_EXCLUDE")},
        )
        if installed is not None:
            set_rules(rules)
            return
        hooks: dict[str, Callable[[Any], Any]] = {
            "__import__": lambda f: _bridge.hook_import(f, _replace_imported),
            "import_module": lambda f: _bridge.hook_import_module(
                f, _replace_import_module
            ),
            "_find_and_load": _bridge.hook_loading,
        }
        for name, hook in hooks.items():
            # Our function is still in use if other code wrapped it before uninstall().
            if name not in _hooks:
                original = getattr(_MODULES[name], name)
                _hooks[name] = (hook(original), original)
                setattr(_MODULES[name], name, _hooks[name][0])
        set_rules(rules)
        for name in _SPAWNERS:
            when_imported(name, _prepare_if_installed)
        when_imported("dask.config", _choose_dask_backend)
        _bridge.divide_all(True)


@frameless
def uninstall() -> None:
    """
    Make ``import numpy`` import NumPy again, everywhere.

    Names that are already bound do not change.

    See Also
    --------
    install : Make ``import numpy`` import mxnp.
    """
    with _lock:
        if get_rules() is None:
            return
        set_rules(None)
        _bridge.divide_all(False)
        for name, (hook, original) in list(_hooks.items()):
            # A function of other code that wraps ours stays. Ours then changes nothing.
            if getattr(_MODULES[name], name) is hook:
                setattr(_MODULES[name], name, original)
                del _hooks[name]
        for name in _SPAWNERS:
            if name in sys.modules:
                _forget_children(sys.modules[name])
        if "dask.config" in sys.modules:
            from mxnp._interop import dask_protocols

            dask_protocols.forget_backend(sys.modules["dask.config"])


def is_installed() -> bool:
    """Check whether imports of NumPy return mxnp."""
    return get_rules() is not None


# -- Running a program ----------------------------------------------------------------


# Python itself calls this for -m, so its frames are in the tracebacks there too.
_run_as_main: Callable[..., Any] = runpy._run_module_as_main  # type: ignore[attr-defined]


def _new_main(**names: Any) -> dict[str, Any]:
    """Replace ``__main__`` by a new module like Python's, and return its globals."""
    module = types.ModuleType("__main__")
    namespace = vars(module)
    namespace["__loader__"] = importlib.machinery.BuiltinImporter
    if sys.version_info < (3, 14):
        namespace["__annotations__"] = {}
    namespace["__builtins__"] = builtins
    namespace.update(names)
    sys.modules["__main__"] = module
    return namespace


def _set_first_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def run_deferred() -> None:
    """
    Run the operations that the program recorded and did not wait for.

    The traceback of their error names the line that recorded the operation.
    """
    _run(partial(_bridge.flush, "exit"))


def _run(program: Callable[[], Any]) -> None:
    """Run a program. The traceback of its exception begins at its own first frame."""
    try:
        program()
        return
    except BaseException as error:
        failure = error
    # Outside the except block, so that the exception does not become the context of an
    # exception that sys.excepthook raises.
    try:
        traceback = failure.__traceback__
        while traceback is not None and _is_ours(traceback.tb_frame):
            traceback = traceback.tb_next
        if traceback is None:  # the error of an operation that nothing waited for
            from .recorded_traceback import traceback_of

            traceback = traceback_of(failure)
        _add_note(failure)
        # Python prints the traceback of an exit only under -i.
        if not isinstance(failure, SystemExit) or sys.flags.inspect:
            _print(failure.with_traceback(traceback))
        raise failure
    finally:
        del failure


# Python keeps frames in chunks of 16 KiB, and maps a new one for each call that crosses
# the end of the last. A frame of this size gets a chunk that holds the program's too.
_run.__code__ = _run.__code__.replace(co_stacksize=1 << 15)


def _add_note(error: BaseException) -> None:
    """Add a note to an exception that a package raised for an mxnp array."""
    # The program's exception has to be printed even if this fails.
    with suppress(Exception):
        from mxnp._interop import notes

        notes.add_note(error, owner_of_frame)


def _print(error: BaseException) -> None:
    """Print an uncaught exception before the runner's frames are in its traceback."""
    _bridge.print_exception(error)
    before = {name: vars(sys).get(name) for name in ("excepthook", "last_traceback")}
    missing = before.keys() - vars(sys)

    # Python then exits as it does for this exception, but must not print it again.
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


def _has_importer(path: str) -> bool:
    """Check whether modules can be imported from a file or folder, as from a zip file.

    `pkgutil` has functions like this one and the next. Its import takes longer.
    """
    for hook in sys.path_hooks:
        with suppress(ImportError):
            hook(path)
            return True
    return False


def _read_code(content: bytes) -> types.CodeType | None:
    """Return the code in the content of a ``.pyc`` file, or None for source code."""
    if not content.startswith(importlib.util.MAGIC_NUMBER):
        return None
    code: types.CodeType = marshal.loads(content[16:])  # behind the header
    return code


def run_path(
    path: str,
    args: Sequence[str],
    compiled: Callable[[bytes, str], types.CodeType | None] | None = None,
) -> None:
    """
    Run a script, or a folder or zip file with a ``__main__.py``, like `python`.

    Parameters
    ----------
    path : str
        The file or folder.
    args : sequence of str
        The rest of `sys.argv`.
    compiled : callable, optional
        A function that compiles a script and returns its code.

    Raises
    ------
    SystemExit
        With status 2 and Python's message, if the file cannot be read.
    """
    filename = path if os.path.isabs(path) else f"{os.getcwd()}{os.sep}{path}"
    if _has_importer(filename):
        sys.argv = [path, *args]
        if sys.flags.safe_path:
            sys.path.insert(0, filename)
        else:
            sys.path[0] = filename
        _new_main()
        _run(partial(_run_as_main, "__main__", alter_argv=False))
        return
    try:
        with open(filename, "rb") as file:
            content = file.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(
            f"{sys.executable}: can't open file {filename!r}: {reason}", file=sys.stderr
        )
        raise SystemExit(2) from None
    sys.argv = [path, *args]
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    loader: Any = SourceFileLoader("__main__", filename)
    code = _read_code(content)
    if code is not None:
        loader = SourcelessFileLoader("__main__", filename)
    elif compiled is not None:
        code = compiled(content, filename)
    names = _new_main(__loader__=loader, __file__=filename, __cached__=None)
    _run(partial(_execute, code or content, filename, names))


def run_module(name: str, args: Sequence[str]) -> None:
    """
    Run a module, like ``python -m``.

    Parameters
    ----------
    name : str
        The module, or a package with a ``__main__`` module.
    args : sequence of str
        The rest of `sys.argv`.
    """
    sys.argv = ["-m", *args]
    _set_first_path(os.getcwd())
    _new_main()
    _run(partial(_run_as_main, name))


def run_code(source: str, args: Sequence[str]) -> None:
    """
    Run source code, like ``python -c``.

    Parameters
    ----------
    source : str
        The code.
    args : sequence of str
        The rest of `sys.argv`.
    """
    sys.argv = ["-c", *args]
    _set_first_path("")
    if sys.version_info >= (3, 14):
        import textwrap

        source = textwrap.dedent(source)
    if sys.version_info >= (3, 13):
        import linecache

        # From Python 3.13 on, tracebacks show the lines of this code.
        lines = source.splitlines(keepends=True)
        linecache.cache["<string>"] = (len(source), None, lines, "<string>")
    names = _new_main()
    _run(partial(_execute, source + "\n", "<string>", names))


def run_stdin(args: Sequence[str]) -> None:
    """
    Run a program from the standard input, or a console if that is a terminal.

    Parameters
    ----------
    args : sequence of str
        The new `sys.argv`.
    """
    sys.argv = list(args) or [""]
    _set_first_path("")
    if sys.stdin.isatty():
        _start_console()
        return
    names = _new_main(__file__="<stdin>", __cached__=None)
    _run(partial(_execute, sys.stdin.buffer.read(), "<stdin>", names))


def _start_console() -> None:
    """Make Python start its console afterwards, or run the console of `code`."""
    started = getattr(sys.modules["__main__"], "__spec__", None)
    names = _new_main()
    version = importlib.import_module("mxnp").mxnp_version
    banner = (
        f"mxnp {version} (NumPy {numpy.__version__}), Python {sys.version}"
        f" on {sys.platform}\n`import numpy` imports mxnp here."
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
    """Make Python start its console at the end, and undo that when it starts."""
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
