"""Check documentation, comments and docstrings for phrases to avoid, and for long lines."""

import io
import re
import subprocess
import tokenize

import pytest
from support.paths import ROOT

WIDTH = 130  # of prose: tables, code and links may be longer

# Folders with sources, and programs in the style of other projects.
FOLDERS = ("mxnp", "csrc", "metal", "tests", "docs/extensions", "array_api_tests")
OF_OTHERS = "tests/interop/uses/"

# Phrases of the project's early text, and what to write instead.
AVOIDED = {
    r"\b(told|tells) of\b": "report, describe",
    r"\bwhoever\b": "anyone who, code that",
    r"\ban own\b": "its own, a separate",
    r"\bas if at once\b": "eagerly",
    r"\b(has|have) not (a|an|the|any|its)\b": "lacks, has no",
    r"\bMetal host\b": "Metal emulator",
    r"\bteam of threads\b": "thread pool",
    r"\bfor nothing\b(?! else)": "needlessly",
    r"\bas (NumPy|Python) has it\b": "as in",
    r"\bsuch as it is\b": "as it is",
    r"\bto be had\b": "available",
    r"\bwhat comes of\b": "the result of",
}
# The same for the first words of docstrings and of comments in C.
FIRST_WORDS = {r"gives?\s": "Return", r"tells?\s": "Return whether, Report"}

ANY = re.compile("|".join([*AVOIDED, r"\b(gives?|tells?)\b"]), re.IGNORECASE)
C_SOURCE = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
OPENING = re.compile(r"\w*[\"']+\s*|/[*/]+\s*")


def files(*patterns):
    listing = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listing.stdout.splitlines())
    return [
        path for path in paths if path.exists()
    ]  # a file may be deleted, not yet in git


def prose(page):
    """Return the numbered lines of a page that are neither code nor table."""
    is_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith("|"):
            yield number, line


def python_texts(source):
    """Yield the first lines and the texts of comments and docstrings."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_first = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and is_first
        ):
            yield token.start[0], token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def c_texts(source):
    """Yield the first lines and the texts of comments."""
    for match in C_SOURCE.finditer(source):
        if match["comment"]:
            yield source.count("\n", 0, match.start()) + 1, match["comment"]


TEXTS = dict.fromkeys((".py", ".pyi"), python_texts)
TEXTS |= dict.fromkeys((".c", ".h", ".m", ".metal", ".def"), c_texts)


def avoided(number, line):
    """Yield a message for each phrase to avoid in a line."""
    for phrase, instead in AVOIDED.items():
        if re.search(phrase, line, re.IGNORECASE):
            yield f"{number}: {phrase!r}: {instead}"


def findings(texts, source):
    """Yield a message for each phrase to avoid in the texts of a source."""
    for start, text in texts(source):
        for number, line in enumerate(text.splitlines(), start):
            yield from avoided(number, line)
        opening = OPENING.match(text)
        for words, instead in FIRST_WORDS.items():
            if opening and re.match(words, text[opening.end() :], re.IGNORECASE):
                yield f"{start}: begins with {words!r}: {instead}"


def is_generated(page):
    return page.name.startswith("benchmarks") or page.name == "coverage.md"


def test_pages_avoid_some_phrases():
    found = [
        f"{page.relative_to(ROOT)}:{finding}"
        for page in files("*.md")
        for number, line in prose(page)
        for finding in avoided(number, line)
    ]
    assert not found, "\n".join(found)


def test_comments_and_docstrings_avoid_some_phrases():
    found = []
    for path in files(*FOLDERS):
        texts = TEXTS.get(path.suffix)
        if not texts or OF_OTHERS in path.as_posix():
            continue
        source = path.read_text(encoding="utf-8")
        if ANY.search(source):  # most files need not be split into tokens
            found += [f"{path.relative_to(ROOT)}:{f}" for f in findings(texts, source)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("texts", "source", "count"),
    [
        (python_texts, 'def f():\n    """Give an array."""\n', 1),
        (python_texts, '"""A module.\n\nIt is told of\nby whoever."""\n', 2),
        (python_texts, 'class A:  # whoever\n    x = "whoever"\n', 1),
        (c_texts, '/* Gives 0. */\nchar *s = "// whoever"; // told of it\n', 2),
        (c_texts, "/* Gives.\n * What comes of it. */\nint whoever;\n", 1),
    ],
)
def test_phrases_are_found_in_comments_and_docstrings(texts, source, count):
    found = list(findings(texts, source))
    assert len(found) == count, found


def test_lines_of_prose_are_not_too_long():
    found = [
        f"{page.relative_to(ROOT)}:{number}: {len(line)} characters"
        for page in files("*.md")
        if not is_generated(page)
        for number, line in prose(page)
        if len(line) > WIDTH
    ]
    assert not found, "\n".join(found)
