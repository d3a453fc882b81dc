"""pywavelets: wavelet transforms."""

import numpy as np
import pywt


def transforms(x):
    a, d = pywt.dwt(x, "db2")
    return (
        a,
        d,
        pywt.idwt(a, d, "db2"),
        pywt.wavedec(x, "haar", level=2),
        pywt.threshold(x, 0.5),
    )


def images(x):
    m = x.reshape(-1, 4)
    a, (h, _, _) = pywt.dwt2(m, "haar")
    return (
        a,
        h,
        pywt.waverec2(pywt.wavedec2(m, "haar", level=1), "haar"),
        pywt.swt(x[:32], "db1", level=1)[0],
    )


def continuous(x):
    return pywt.cwt(x[:100], np.arange(1, 5), "morl")[0]
