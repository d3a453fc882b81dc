"""Check the documentation for phrases to avoid and for long lines."""

import re
import subprocess

import pytest
from support.paths import ROOT

WIDTH = 130  # of prose: tables, code and links may be longer

# Phrases of the project's early pages, and what to write instead.
AVOIDED = {
    r"\b(told|tells) of\b": "report, describe",
    r"\bwhoever\b": "anyone who, code that",
    r"\ban own\b": "its own, a separate",
    r"\bas if at once\b": "eagerly",
    r"\b(has|have) not (a|an|the|any|its)\b": "lacks, has no",
    r"\bMetal host\b": "Metal emulator",
    r"\bteam of threads\b": "thread pool",
}


def pages():
    files = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True
    )
    if files.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in files.stdout.split()]


def prose(page):
    """Return the numbered lines of a page that are neither code nor table."""
    is_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith("|"):
            yield number, line


def is_generated(page):
    return page.name.startswith("benchmarks") or page.name == "coverage.md"


def test_pages_avoid_some_phrases():
    found = [
        f"{page.relative_to(ROOT)}:{number}: {words!r}: {instead}"
        for page in pages()
        for number, line in prose(page)
        for words, instead in AVOIDED.items()
        if re.search(words, line, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


def test_lines_of_prose_are_not_too_long():
    found = [
        f"{page.relative_to(ROOT)}:{number}: {len(line)} characters"
        for page in pages()
        if not is_generated(page)
        for number, line in prose(page)
        if len(line) > WIDTH
    ]
    assert not found, "\n".join(found)
