"""pillow: images."""

import io

import numpy as np
from PIL import Image


def _image(x):
    return (x.reshape(-1, 20) * 255).astype(np.uint8)


def from_array(x):
    image = Image.fromarray(_image(x))
    return (
        np.asarray(image),
        image.size,
        np.array(image.rotate(90)),
        np.array(image.resize((10, 10))),
    )


def colours(x):
    image = Image.fromarray(np.stack([_image(x)] * 3, axis=-1))
    return (
        np.array(image.convert("L")),
        np.array(image) // 2,
        np.array(image.getchannel(0)),
    )


def files(x):
    file = io.BytesIO()
    Image.fromarray(_image(x)).save(file, "PNG")
    return np.array(Image.open(file)), file.getvalue() == file.getvalue()


def floats(x):
    image = Image.fromarray(x.reshape(-1, 20).astype(np.float32))
    return np.array(image), image.getextrema(), image.mode


def frombuffer(x):
    data = _image(x)
    return np.array(Image.frombuffer("L", (20, data.shape[0]), data)), np.array(
        Image.frombytes("L", (20, data.shape[0]), data.tobytes())
    )
