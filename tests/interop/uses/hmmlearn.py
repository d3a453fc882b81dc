"""hmmlearn: hidden Markov models."""

import numpy as np
from hmmlearn import hmm

TOLERANCES = {"fitted": 1e-07, "decoded": 1e-07}


def _model(x):
    made = hmm.GaussianHMM(2, random_state=1)
    made.startprob_ = np.array([0.5, 0.5]) * 1.0
    made.transmat_ = np.array([[0.8, 0.2], [0.3, 0.7]]) + 0
    made.means_ = x[:4].reshape(2, 2) * 2
    made.covars_ = np.ones((2, 2)) + x[4]
    return made


def decoded(x):
    table = x[:400].reshape(-1, 2) * 1.0 + 1
    made = _model(x)
    return made.score(table), made.predict(table), made.predict_proba(table)


def samples(x):
    found, states = _model(x).sample(9, random_state=np.random.RandomState(3))
    return found, states


def fitted(x):
    table = x[:400].reshape(-1, 2) * 2
    before = table + 0
    lengths = np.array([20] * (len(table) // 20) + [len(table) % 20])
    made = hmm.GaussianHMM(2, n_iter=3, random_state=1).fit(table, lengths[lengths > 0])
    return np.sort(made.means_, axis=0), before, table


def categories(x):
    made = hmm.CategoricalHMM(2, random_state=0, n_iter=3)
    made.fit((x[:300] * 3).astype(int).reshape(-1, 1))
    return made.emissionprob_.shape, np.round(made.transmat_.sum(axis=1), 9)


def error_probabilities(x):
    made = _model(x)
    made.startprob_ = np.array([0.5, 0.9]) * 1
    made.score(x.reshape(-1, 2))
