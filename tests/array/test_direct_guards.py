"""Small operations that are not computed directly, or only after a check.

Each statement would be wrong, or write beyond an array, without one of the checks in
csrc/python/direct.
"""

import os
import warnings

import numpy
import pytest

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        os.environ.get("MXNP_THRESHOLD") == "0", reason="all operations are recorded"
    ),
]


def outcome(xp, text):
    """Run statements, and return all arrays and numbers, or the error."""
    names = {"np": xp, "warnings": warnings, "read_only": read_only, "late": late(xp)}
    try:
        exec(text, names)
    except Exception as error:
        names["error"] = type(error).__name__, str(error)
    return {k: v for k, v in names.items() if k in {*"abcdimx", "error"}}


def read_only(a):
    a.flags.writeable = False
    return a


def late(xp):
    """Return a function that makes small arrays whose elements are not computed yet."""

    def small(*numbers):
        large = xp.zeros(40_000)
        large[: len(numbers)] = numbers
        return (large + 0)[: len(numbers)]

    return small


KEYS = [
    "i = np.array([3, 2, 1, 0, 2]); i[i] = 7",
    "i = np.array([3, 2, 1, 0, 2]); i[i] = 10**9",
    "i = np.arange(60) * 7 % 60; i[i] = -(10**9)",
    "i = np.arange(60) * 7 % 60; i[i[::2]] = i[1::2]",
    "i = np.arange(60) * 7 % 60; i[i] = i",
    "a = np.arange(9.); a[np.arange(1, 9)] = a[:-1]",
    "a = np.arange(9.); a[np.arange(8)[::-1] + 1] = a[::-1][:8]",
    "a = np.arange(9.); a[np.array([1, 2, 3])] = np.array([5.])",
    "a = np.arange(9.); a[np.array([1, 2, 3])] = np.array([5., 6.])",
    "a = np.arange(9.); a[np.array([1, 2, 3])] = np.ones((1, 3))",
    "a = np.arange(9.); a[np.array([1, 9])] = 5.",
    "a = np.arange(9.); b = a[np.array([1, 9])]",
    "a = np.arange(9.); a[np.array([1, -10])] = 5.",
    "a = np.arange(9.); b = a[late(1, 2, 8).astype(int)]",
    "a = np.arange(9.); a[late(1, 2, 8).astype(int)] = 5.",
    "a = np.arange(9.); b = a[late(1, 0, 8, 1, 0, 0, 0, 0, 0) > 0]",
    "a = np.arange(9.); a[late(1, 0, 8, 1, 0, 0, 0, 0, 0) > 0] = 5.",
    "a = np.arange(9.); a[:3] = late(54, 55, 56)",
    "a = np.arange(9.); a[np.array([1, 2, 3])] = late(64, 65, 66)",
    "a = np.arange(9.); b = a[np.ones(8, bool)]",
    "a = np.arange(9.); a[np.ones(10, bool)] = 5.",
    "m = np.zeros(9, bool); m[2] = True; m[1:][m[:-1]] = True",
    "m = np.ones(9, bool); m[2] = False; m[:-1][m[1:]] = False",
    "m = np.ones(9, bool); m[m] = False",
    "a = np.zeros(9, bool); a[::2] = True; a.view('u1')[a] = 7",
    "a = read_only(np.arange(9.)); a[0] = 1.",
    "a = read_only(np.arange(9.)); a[1:] = 1.",
    "a = read_only(np.arange(9.)); a[np.array([1])] = 1.",
    "a = read_only(np.arange(9.)); a[a > 3] = 1.",
    "a = np.arange(9.); a[:3] = np.ones(2)",
    "a = np.arange(9.); a[:3] = np.ones((1, 3))",
    "a = np.arange(9.); a[:3] = np.ones((3, 1))",
    "a = np.arange(12.).reshape(3, 4); a[...] = np.ones(3)",
    "a = np.arange(16.).reshape(4, 4); a[...] = a.T",
    "a = np.arange(16.).reshape(4, 4); a.T[...] = a",
    "a = np.arange(16.).reshape(4, 4); a[:, 1:] = a[:, :-1]",
    "a = np.arange(16.).reshape(4, 4); a[1:] = a[0]",
    "a = np.arange(16.).reshape(4, 4); a[::-1] = a",
    "a = np.arange(9.); a[7:3:-1] = a[3:7]",
    "a = np.arange(9.); a[3:7] = a[7:3:-1]",
    "a = np.arange(9.); a[np.array([3, 4, 5, 6])] = a[7:3:-1]",
    "i = np.arange(9); i[i[7:3:-1]] = i[3:7]; i[7:3:-1][i[:4] % 4] = 5",
    "a = np.arange(9.); x = [a[-9], a[8]]; b = a[-10]",
    "a = np.arange(9.); b = a[9]",
    "a = np.arange(9.); a[-10] = 1.",
    "a = np.arange(12.).reshape(3, 4); b = a[2]; c = a[2, 3]; a[1] = 5.",
    "a = np.arange(12.).reshape(3, 4); b = a[1, 2, 3]",
    "a = np.arange(12.).reshape(3, 4); b = a[..., None, 1]; c = a[None, ..., 2:]",
    "a = np.arange(12.).reshape(3, 4); b = a[..., None]; c = a[None, ...]",
    "a = np.arange(12.).reshape(3, 4); b = a[..., ...]",
    "a = np.arange(12.).reshape(3, 4); x = [r.tolist() for r in a]",
    "a = np.arange(9.); b = a[::2]; b[1:] = 0; c = a[6:2:-2]",
]
OUTPUTS = [
    "a = np.arange(16.).reshape(4, 4); np.add(a.T, 1, out=a)",
    "a = np.arange(16.).reshape(4, 4); np.add(a, a.T, out=a)",
    "a = np.arange(16.).reshape(4, 4); a += a.T",
    "a = np.arange(9.); np.add(a[::-1], 1, out=a)",
    "a = np.arange(9.); np.multiply(a[1:], 2, out=a[:-1])",
    "a = np.arange(9.); np.multiply(a[:-1], a[1:], out=a[1:])",
    "a = np.arange(9.); np.add(a[:1], 1, out=a)",
    "a = np.arange(16.).reshape(4, 4); np.add(a[0], a, out=a)",
    "a = np.arange(16.).reshape(4, 4); a *= a[:, :1]",
    "a = np.arange(9.); np.add(a[7:3:-1], 1, out=a[3:7])",
    "a = np.arange(9.); np.add(a[3:7], 1, out=a[7:3:-1])",
    "a = np.arange(12_000, dtype='i'); b = np.arange(12_000, dtype='f'); c = a + b",
    "a = np.arange(9.); np.maximum(a[0:1], 4, out=a)",
    "a = np.arange(9.); np.maximum(a[3:4], a, out=a)",
    "a = np.arange(9); np.add(a[::-1], a.view('u8'), out=a)",
    "a = np.arange(12_000.); np.add(a[::-1], 1, out=a)",
    "a = np.arange(12_000.); np.hypot(a[::-1], a, a)",
    "a = np.arange(16_000.); a[1:] *= a[:-1]",
    "a = np.arange(9.) - 4; np.divide(a, a - a, out=a)",
    "a = np.arange(9.) - 4; np.remainder(a, a - a, out=a)",
    "a = read_only(np.arange(9.)); np.add(a, 1, out=a)",
    "a = read_only(np.arange(9.)); a += 1",
    "a = np.arange(9.); np.add(a, 1, out=a[:3])",
    "a = np.arange(3.); np.add(np.ones((3, 3)), 1, out=a)",
    "a = np.arange(3.); np.add(1, np.float64(2), out=a)",
    "a = np.arange(3); np.add(a, 1.5, out=a)",
    "a = np.arange(3.); np.add(a, 1, out=late(11, 12, 13))",
    "a = late(21, 22, 23); np.add(np.arange(3.), 1, out=a); b = a + 0",
    "a = np.ones(100_000, 'b'); b = a * 2.5; c = b.sum()",
    "a = np.ones(120_000, '?'); b = a + 1j; c = a * np.float32(3)",
    "a = np.ones(120_000, 'b'); b = np.zeros(120_000); np.add(a, a, out=b)",
    "a = np.arange(4); b = np.logical_and(a, 2**70)",
    "a = np.arange(4); b = a + 2**63",
    "a = np.arange(4); b = a < 2**70; c = a == -(2**70)",
    "a = np.arange(3.) + np.arange(4.)",
]
FUNCTIONS = [
    "a = read_only(np.arange(9.)); a.fill(1.)",
    "a = np.arange(9); b = np.arange(3.); b = [b[a[:3]]]; a.fill(3); b = np.arange(3.)[a]",
    "i = np.arange(5); a = np.arange(5.); b = a[i]; i[0] = 5; c = a[i]",
    "i = np.arange(5); a = np.arange(5.); b = a[i]; np.add(i, 1, out=i); c = a[i]",
    "a = np.arange(9.); x = [a.item(8), a.item(-9)]; b = a.item(9)",
    "a = np.arange(9.); b = a.item(-10)",
    "a = [np.arange(9.).astype(t).item(3) for t in 'fFilLhbe?D']",
    "a = np.arange(12.); b = a.reshape(3, 5)",
    "a = np.arange(12.); b = a.reshape(5, -1)",
    "a = np.arange(12.); b = a.reshape(-1, -1)",
    "a = np.arange(12.); b = a.reshape(13)",
    "a = np.arange(12.); b = a.reshape(2, 2)",
    "a = np.arange(4.); b = np.clip(a, np.zeros(3), np.ones(4))",
    "a = np.arange(4.); b = np.clip(a, np.zeros(1), np.ones((3, 1)))",
    "a = np.arange(4.); b = np.clip(a, np.zeros(4, 'f'), 2)",
    "m = np.arange(4) > 1; b = np.where(m, np.ones(3), 0.)",
    "m = np.arange(4) > 1; b = np.where(m, np.ones((2, 4)), np.zeros(4))",
    "m = np.arange(4) > 1; b = np.where(m, np.ones(4, 'f'), np.zeros(4))",
    "m = np.arange(4) > 1; b = np.where(m, np.ones(4, 'b'), 300)",
    "m = np.arange(4) > 1; b = np.where(m, np.ones(4), 2)",
    "b = np.concatenate([np.ones((2, 3)), np.ones((2, 4))])",
    "b = np.concatenate([np.ones((2, 3)), np.ones(3)])",
    "b = np.concatenate([np.ones(2), np.ones(3, 'i')])",
    "b = np.stack([np.ones(2), np.ones(3)])",
    "b = np.stack([np.ones((2, 2)), np.ones((2, 3))])",
    "b = np.concatenate([late(31, 32), np.ones(3)])",
    "b = np.stack([np.ones(2), late(41, 42)])",
    "b = np.concatenate([])",
    "a = np.arange(6.); b = np.dot(a, a[:5])",
    "a = np.arange(6.); b = np.dot(a[::-1], a); c = np.dot(a[::2], a[1::2])",
    "a = np.arange(6.); b = np.dot(a[:0], a[:0]); c = np.dot(a, a.astype('f'))",
    "a = np.arange(6.); b = np.cumsum(a, 1)",
    "a = np.arange(6.); b = np.cumsum(a, -2)",
    "a = np.arange(6.).reshape(2, 3); b = np.cumsum(a, -2); c = np.cumsum(a, 2)",
    "a = np.arange(6.) * 1j; warnings.simplefilter('error'); b = a.astype(float)",
    "b = np.array([1, 2.5]); c = np.array([1, 2**63]); a = np.array([2**63 - 1, -(2**63)])",
    "b = np.array([1, True]); c = np.array([1., 2])",
    "a = np.zeros(0); b = a.sum(); x = a.max()",
    "a = np.ones((2, 0)); b = a.sum(1); c = a.mean(0); x = a.max(axis=0)",
    "a = np.ones((3, 2)); b = a.max(axis=2)",
    "a = np.arange(6.)[::2]; b = a.sum(); c = a.copy(); x = a.argmax(); i = a.cumsum()",
    "a = np.ones((2, 3)) @ np.ones((2, 3))",
    "a = np.ones((2, 3)) @ np.ones(2)",
    "a = np.ones((2, 0)) @ np.ones((0, 3)); b = np.ones(0) @ np.ones(0)",
    "a = np.ones((2, 3), 'f') @ np.ones((3, 2)); b = np.ones((2, 3), int) @ np.ones(3, int)",
    "a = np.arange(12.).reshape(3, 4); b = a.T @ a; c = a[:, ::2] @ a[:2, ::-1]; x = a[1] @ a[2]",
    "a = np.arange(9.).reshape(3, 3); b = np.dot(a.T, a[::-1]); c = np.dot(a, a[:, 0])",
    "a = np.full((1, 1), -0.); b = np.dot(a, a); c = np.dot(a, -a)",
]  # fmt: skip


@pytest.mark.parametrize("text", KEYS + OUTPUTS + FUNCTIONS)
def test_statement(xp, text):
    return outcome(xp, text)


def test_a_result_is_as_long_as_its_mask_is_true(xp):
    a = xp.arange(50.0)
    return (
        [a[xp.arange(50) < n] for n in (0, 1, 49, 50)],
        a[a > 100],
        a[numpy.ones(50, bool)],
    )
