"""deap: evolutionary computation."""

import random

import numpy as np
from deap import base, cma, creator, tools

creator.create("Best", base.Fitness, weights=(-1.0,))
creator.create("Individual", np.ndarray, fitness=creator.Best)
creator.create("Plain", list, fitness=creator.Best)


def _toolbox():
    random.seed(1)
    np.random.seed(1)
    toolbox = base.Toolbox()
    toolbox.register("evaluate", lambda v: (float(np.sum(np.asarray(v) ** 2)),))
    return toolbox


def individuals_of_arrays(small):
    made = creator.Individual(small[:6] * 1.0 + 1)
    other = creator.Individual(small[6:12])
    copied = _toolbox().clone(made)
    copied[0] = 9
    return np.asarray(made), np.asarray(copied), made.fitness.valid, np.asarray(other)


def crossover_of_lists(small):
    random.seed(2)
    a = creator.Plain(small[:8] * 2.0)
    b = creator.Plain(small[8:16] + 1)
    tools.cxTwoPoint(a, b)
    tools.mutGaussian(a, 0, 1, 0.5)
    return list(a), list(b)


def operators_write_arrays(small):
    random.seed(3)
    a, b = small[:10] * 1.0 + 1, small[10:20] * 1.0
    before = a + 1
    c, d = tools.cxBlend(a, b, 0.5)
    (e,) = tools.mutFlipBit((a > 1.2).astype(int), 0.5)
    return before, a, b, c is a, d is b, e


def statistics(x):
    stats = tools.Statistics()
    for name in ("mean", "std", "min", "max"):
        stats.register(name, getattr(np, name), axis=0)
    book = tools.Logbook()
    book.record(gen=0, **stats.compile(x.reshape(-1, 4) * 1.0 + 1))
    return book[0]["mean"], book[0]["max"], book.select("min")[0]


def evolution_strategy(small):
    toolbox = _toolbox()
    strategy = cma.Strategy(centroid=small[:4] * 1.0 + 1, sigma=0.5, lambda_=8)
    for _ in range(4):
        found = strategy.generate(creator.Plain)
        for individual in found:
            individual.fitness.values = toolbox.evaluate(individual)
        strategy.update(found)
    return strategy.centroid, strategy.C, strategy.sigma


def hall_of_fame(small):
    toolbox = _toolbox()
    best = tools.HallOfFame(2, similar=np.array_equal)
    made = [creator.Individual(row * 1.0) for row in small.reshape(-1, 4)]
    for individual in made:
        individual.fitness.values = toolbox.evaluate(individual)
    best.update(made)
    return [np.asarray(b) for b in best], [b.fitness.values for b in best]


def selections(small):
    random.seed(4)
    made = [creator.Plain(row * 2.0) for row in small.reshape(-1, 4)]
    for individual in made:
        individual.fitness.values = _toolbox().evaluate(individual)
    chosen = tools.selTournament(made, 5, tournsize=3)
    return [list(c) for c in chosen], list(tools.selBest(made, 1)[0])


def crossover_of_views(small):
    random.seed(5)
    a, b = creator.Individual(small[:8] * 2.0), small[8:16] + 1
    tools.cxTwoPoint(a, b)
    tools.cxUniform(b, a, 0.5)
    tools.mutShuffleIndexes(b, 0.5)
    return np.asarray(a), b
