"""nevergrad: optimization without gradients."""

import nevergrad as ng


def minimized(small):
    target = small[:3] * 1.0 + 1
    made = ng.optimizers.OnePlusOne(parametrization=3, budget=30)
    made.parametrization.random_state.seed(2)
    found = made.minimize(lambda v: float(((v - target) ** 2).sum()))
    return found.value, found.loss


def arrays_as_parameters(x):
    made = ng.p.Array(init=x[:4] * 2)
    made.set_bounds(0, 3)
    made.random_state.seed(1)
    before = made.value + 1
    child = made.sample()
    made.value = x[4:8] + 0.5
    return before, child.value, made.value


def instrumented(x):
    space = ng.p.Instrumentation(ng.p.Array(init=x[:2] + 1), n=ng.p.Choice([1, 2, 3]))
    space.random_state.seed(3)
    made = ng.optimizers.RandomSearch(space, budget=10)
    found = made.minimize(lambda v, n: float((v * x[:2]).sum() + n))
    return found.args[0], found.kwargs


def asked_and_told(x):
    made = ng.optimizers.DE(ng.p.Array(init=x[:3] * 2), budget=20)
    made.parametrization.random_state.seed(4)
    for _ in range(6):
        candidate = made.ask()
        made.tell(candidate, (candidate.value**2).sum())
    return made.provide_recommendation().value
