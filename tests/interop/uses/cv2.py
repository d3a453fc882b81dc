"""opencv-python-headless: computer vision."""

import cv2
import numpy as np

cv2.setNumThreads(1)


def _image(x):
    rows = x.size // 20
    return (x.reshape(rows, 20) * 255).astype(np.uint8)


def colours(x):
    image = cv2.cvtColor(_image(x), cv2.COLOR_GRAY2BGR)
    return image, cv2.cvtColor(image, cv2.COLOR_BGR2HSV), cv2.split(image)[0]


def resize_and_blur(x):
    image = _image(x)
    return (
        cv2.resize(image, (40, 30)),
        cv2.GaussianBlur(image, (3, 3), 0),
        cv2.filter2D(x.reshape(-1, 20), -1, np.ones((3, 3)) / 9),
        cv2.medianBlur(image, 3),
    )


def threshold_and_contours(x):
    _, mask = cv2.threshold(_image(x), 127, 255, cv2.THRESH_BINARY)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    areas = sorted(cv2.contourArea(c) for c in contours)
    return mask, len(contours), areas, cv2.countNonZero(mask)


def edges(x):
    return cv2.Canny(_image(x), 50, 150), cv2.Sobel(x.reshape(-1, 20), cv2.CV_64F, 1, 0)


def draw(small):
    image = np.zeros((32, 32, 3), np.uint8)
    cv2.rectangle(image, (2, 3), (10, 12), (255, 0, 0), 1)
    cv2.putText(image, "a", (5, 25), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 255, 0))
    points = np.array([[1, 1], [20, 5], [9, 28]], np.int32)
    cv2.polylines(image, [points], True, (0, 0, 255))
    cv2.fillPoly(image, [points + 2], (9, 9, 9))
    return image, image.sum()


def warp(x):
    m = np.float32([[1, 0, 2], [0, 1, 3]])
    return cv2.warpAffine(_image(x), m, (20, 20)), cv2.getRotationMatrix2D(
        (5, 5), 30, 1.0
    )


def encode(x):
    ok, data = cv2.imencode(".png", _image(x))
    return (
        ok,
        data,
        cv2.imdecode(data, cv2.IMREAD_GRAYSCALE),
        cv2.imdecode(np.frombuffer(data.tobytes(), np.uint8), 0),
    )


def histogram(x):
    return cv2.calcHist([_image(x)], [0], None, [16], [0, 256]), cv2.minMaxLoc(
        x.reshape(-1, 20)
    )


def arithmetic(x):
    a = x.reshape(-1, 20)
    return (
        cv2.add(a, a * 2),
        cv2.addWeighted(a, 0.5, a + 1, 0.5, 0),
        cv2.norm(a),
        cv2.mean(a),
    )


def solve(small):
    m = small[:9].reshape(3, 3) + np.eye(3)
    return cv2.solve(m, np.ones((3, 1)))[1], cv2.Rodrigues(small[:3])[0]


def shared_dst(x):
    a = x.reshape(-1, 20)
    dst = np.zeros_like(a) + 1
    before = dst * 3
    cv2.multiply(a, a, dst=dst)
    return before, dst, dst + before


def shared_drawing(x):
    image = np.zeros((200, x.size // 20)) + 0.5
    before = image + 1
    cv2.circle(image, (1, 50), 20, 7.0, -1)
    cv2.normalize(image, image, 0, 1, cv2.NORM_MINMAX)
    return before.sum(), image.sum(), image


def error_type(x):
    cv2.cvtColor(x.reshape(-1, 20), cv2.COLOR_BGR2GRAY)
