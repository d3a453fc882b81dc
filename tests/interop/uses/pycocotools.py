"""pycocotools: masks of images."""

import numpy as np
from pycocotools import mask


def _masks(x):
    flat = (x[:60] * 1.0 > 0.5).astype(np.uint8)
    return np.asfortranarray(flat.reshape(4, 5, 3))


def encoded(x):
    masks = _masks(x)
    found = mask.encode(masks)
    return found, mask.decode(found) * 2, mask.area(found), mask.toBbox(found)


def one_mask(x):
    made = np.asfortranarray((x.reshape(20, -1) > 0.5).astype(np.uint8))
    found = mask.encode(made)
    return mask.decode(found), mask.area(found)


def overlaps(x):
    found = mask.encode(_masks(x))
    boxes = x[:12].reshape(3, 4) * 10 + 1
    return (
        mask.iou(found[:2], found, [0, 1, 0]),
        mask.iou(boxes, boxes[:2] * 1.0, [0, 0]),
        mask.merge(found, intersect=True),
    )


def polygons(x):
    polygon = [(x[:12] * 9 + 1).tolist()]
    boxes = x[:8].reshape(2, 4) * 5 + 1
    return mask.decode(mask.frPyObjects(polygon, 12, 12)), mask.decode(
        mask.frPyObjects(boxes, 12, 12)
    )


def error_order(x):
    mask.encode((x[:60].reshape(4, 5, 3) > 0.5).astype(np.uint8))
