"""simpleitk: medical images."""

import numpy as np
import SimpleITK as sitk


def images(x):
    image = sitk.GetImageFromArray(x.reshape(-1, 5))
    smooth = sitk.SmoothingRecursiveGaussian(image, 1.0)
    return (
        sitk.GetArrayFromImage(image),
        sitk.GetArrayFromImage(smooth),
        image.GetSize(),
        sitk.GetArrayViewFromImage(image)[0].copy(),
    )


def measure(x):
    image = sitk.GetImageFromArray((x.reshape(-1, 5) > 0.5).astype(np.uint8))
    return sitk.GetArrayFromImage(
        sitk.ConnectedComponent(image)
    ), sitk.GetArrayFromImage(sitk.SignedMaurerDistanceMap(image))
