"""soundfile: sound files."""

import numpy as np
import soundfile as sf


def files(x):
    sf.write("a.wav", x, 8000, subtype="DOUBLE")
    sf.write("b.flac", (x * 30000).astype(np.int16).reshape(-1, 2), 8000)
    return (
        sf.read("a.wav")[0],
        sf.read("b.flac", dtype="int16")[0],
        sf.info("a.wav").frames,
    )


def blocks(x):
    with sf.SoundFile("c.wav", "w", 8000, 1, subtype="FLOAT") as f:
        f.write(x[:30])
        f.write(x[30:])
    return [b.sum() for b in sf.blocks("c.wav", blocksize=32)][:9]


def shared_out(x):
    sf.write("d.wav", x[::-1] / 2, 8000, subtype="DOUBLE")
    before = x + 1
    sf.read("d.wav", out=x)
    return before, x, x * 2
