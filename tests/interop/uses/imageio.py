"""imageio: image and video files."""

import imageio.v3 as iio
import numpy as np


def _image(x):
    return (x.reshape(-1, 20) * 255).astype(np.uint8)


def files(x):
    iio.imwrite("a.png", _image(x))
    iio.imwrite("a.tiff", x.reshape(-1, 20).astype(np.float32))
    return iio.imread("a.png"), iio.imread("a.tiff"), iio.improps("a.png").shape


def sequences(x):
    frames = np.stack([_image(x), 255 - _image(x)])
    iio.imwrite("a.gif", frames)
    return iio.imread("a.gif"), iio.imread(
        iio.imwrite("<bytes>", _image(x), extension=".bmp")
    )
