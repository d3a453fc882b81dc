"""scikit-image: image processing."""

import numpy as np
from skimage import (
    color,
    draw,
    exposure,
    feature,
    filters,
    measure,
    morphology,
    restoration,
    segmentation,
    transform,
    util,
)


def _image(x):
    return x[:2000].reshape(-1, 20)


def filter_images(x):
    image = _image(x)
    return (
        filters.gaussian(image, 1),
        filters.sobel(image),
        filters.threshold_otsu(image),
        filters.median(image),
        filters.rank.mean(util.img_as_ubyte(image), morphology.disk(1)),
    )


def resize(x):
    image = _image(x)
    return (
        transform.resize(image, (10, 10)),
        transform.rotate(image, 30),
        transform.rescale(image, 0.5),
        transform.warp(image, transform.AffineTransform(translation=(2, 1))),
    )


def label_regions(x):
    image = _image(x)
    labels = measure.label(image > 0.5)
    return (
        labels,
        [
            (r.area, r.centroid)
            for r in measure.regionprops(labels, intensity_image=image)
        ],
        measure.find_contours(image, 0.5)[0],
        morphology.skeletonize(image > 0.3),
        measure.marching_cubes(x[:60].reshape(3, 4, 5), 0.5)[0],
    )


def colours(x):
    image = np.stack([_image(x)] * 3, axis=-1)
    return (
        color.rgb2gray(image),
        color.rgb2hsv(image),
        color.rgb2lab(image),
        exposure.equalize_hist(_image(x)),
        util.img_as_ubyte(_image(x)),
    )


def features(x):
    image = _image(x)
    return (
        feature.canny(image),
        feature.peak_local_max(image),
        feature.hog(np.tile(image[:3], (8, 2))),
        feature.local_binary_pattern(util.img_as_ubyte(image), 8, 1),
        feature.corner_harris(image),
    )


def segment(x):
    image = _image(x)
    return (
        segmentation.slic(image, n_segments=5, channel_axis=None),
        segmentation.watershed(image),
        segmentation.flood_fill(image, (0, 0), 2.0),
        morphology.remove_small_objects(image > 0.5, max_size=3),
        restoration.denoise_tv_chambolle(image),
    )


def shared_drawing(x):
    image = x.reshape(-1, 20)
    before = image + 1
    rows, columns = draw.disk((1, 10), 2)
    image[rows % image.shape[0], columns] = 9.0
    return before, image, image + 1
