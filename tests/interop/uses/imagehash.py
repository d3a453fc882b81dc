"""imagehash: hashes of images."""

import imagehash
import numpy as np
from PIL import Image


def _image(x):
    return Image.fromarray((x[:6000].reshape(-1, 20) * 255).astype(np.uint8))


def hashes(x):
    image = _image(x)
    kinds = (imagehash.average_hash, imagehash.phash, imagehash.dhash, imagehash.whash)
    return [str(kind(image)) for kind in kinds], imagehash.average_hash(image).hash


def differences(x):
    a = imagehash.average_hash(_image(x))
    b = imagehash.average_hash(_image(x[::-1] * 1.0))
    return a - b, a == b, len(a)


def from_arrays(x):
    made = imagehash.ImageHash((x[:36] * 1.0 > 0.5).reshape(6, 6))
    back = imagehash.hex_to_hash(str(made))
    return str(made), back.hash, made == back, made - back, hash(made) == hash(back)


def statistics_of_hashes(x):
    made = imagehash.phash(_image(x), hash_size=4)
    return np.asarray(made.hash).sum(), (np.asarray(made.hash) * 2).tolist()


def error_shapes(x):
    a = imagehash.ImageHash((x[:16] * 2 > 1).reshape(4, 4))
    return a - imagehash.ImageHash((x[:4] > 0.5).reshape(2, 2))
