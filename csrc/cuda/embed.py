"""Print the bytes of a file as numbers of C, for a build step."""

import sys
from pathlib import Path

if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    numbers = source.read_bytes()
    lines = (numbers[i : i + 32] for i in range(0, len(numbers), 32))
    target.write_text(",\n".join(",".join(map(str, line)) for line in lines) + "\n")
