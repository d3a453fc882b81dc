"""wrapt: wrappers of functions and objects."""

import numpy as np
import wrapt


@wrapt.decorator
def _doubled(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) * 2


class _Signal:
    def __init__(self, data):
        self.data = data

    @_doubled
    def scaled(self, by):
        return self.data * by


def decorators(x):
    @_doubled
    def shifted(v, by=1.0):
        return v + by

    return shifted(x + 1), shifted(x, by=x), _Signal(x * 2).scaled(3.0)


def proxies(x):
    proxy = wrapt.ObjectProxy(x * 1.0 + 1)
    return (
        proxy + 1,
        proxy.sum(),
        np.sqrt(proxy),
        proxy[3],
        isinstance(proxy, np.ndarray),
        len(proxy),
        np.asarray(proxy) * 2,
    )


def proxies_in_functions(x):
    proxy = wrapt.ObjectProxy(x * 1.0)
    return np.add(proxy, x), x + proxy, np.concatenate([proxy, x]), np.dot(proxy, x)


def shared_proxies(x):
    proxy = wrapt.ObjectProxy(x)
    before = x + 1
    proxy[0] = 5
    x[1] = 7
    proxy += 1
    return before, x, proxy.__wrapped__ is x


def partial_functions(x):
    return wrapt.PartialCallableObjectProxy(np.add, x)(1), wrapt.FunctionWrapper(
        np.sum, lambda w, i, a, k: w(*a, **k)
    )(x[:20] * 2)


def error_in_wrapped(x):
    return wrapt.ObjectProxy(x * 2) + x[:7]
