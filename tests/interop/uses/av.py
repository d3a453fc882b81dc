"""av: sounds and films."""

import io

import av
import numpy as np


def frames(x):
    pixels = (x[:60] * 255).astype(np.uint8).reshape(4, 5, 3) + 1
    made = av.VideoFrame.from_ndarray(pixels, format="rgb24")
    return made.to_ndarray() * 2, made.to_ndarray(format="gray"), made.width, pixels


def sounds(x):
    samples = (x.reshape(1, -1) * 30000).astype(np.int16)
    made = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
    made.sample_rate = 8000
    return made.to_ndarray() + 1, made.samples


def films(x):
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as output:
        stream = output.add_stream("ffv1", rate=5)
        stream.width, stream.height, stream.pix_fmt = 20, 30, "gray"
        for i in range(3):
            pixels = (x[:60] * 60 * (i + 1)).astype(np.uint8)
            pixels = np.repeat(pixels.reshape(30, 2), 10, axis=1)
            for packet in stream.encode(
                av.VideoFrame.from_ndarray(pixels, format="gray")
            ):
                output.mux(packet)
        for packet in stream.encode():
            output.mux(packet)
    file.seek(0)
    with av.open(file) as source:
        return [f.to_ndarray(format="gray") for f in source.decode(video=0)]


def planes(x):
    pixels = (x[:60] * 255).astype(np.uint8).reshape(6, 10)
    made = av.VideoFrame.from_ndarray(pixels, format="gray")
    return np.frombuffer(made.planes[0], np.uint8).reshape(6, -1)[:, :10] * 2


def error_dtype(x):
    av.VideoFrame.from_ndarray(x[:60].reshape(4, 5, 3) * 2, format="rgb24")
