"""scikit-learn: a pipeline that classifies, beside k-means by hand."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(11)
centers = np.array([[0, 0, 1, 5], [4, 1, 0, 2], [1, 5, 3, 0]], dtype=float)
labels = rng.integers(0, 3, 6000)
points = centers[labels] + rng.normal(scale=1.3, size=(labels.size, 4))


def k_means(x, k, steps=30):
    """Return the centres of the groups, and the group of each point."""
    middle = x[rng.choice(len(x), k, replace=False)]
    for _ in range(steps):
        distance = ((x[:, None, :] - middle) ** 2).sum(axis=2)
        group = distance.argmin(axis=1)
        moved = np.array([x[group == g].mean(axis=0) for g in range(k)])
        if np.allclose(moved, middle):
            break
        middle = moved
    return middle, group


middle, group = k_means(points, 3)
order = np.argsort(middle[:, 0])
print(middle[order].round(6))
print(np.bincount(group, minlength=3)[order])

train, test, train_labels, test_labels = train_test_split(
    points, labels, test_size=0.3, random_state=0
)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
model.fit(train, train_labels)
predicted = model.predict(test)
print("accuracy", round(float((predicted == test_labels).mean()), 6))
confusion = np.zeros((3, 3), dtype=int)
np.add.at(confusion, (test_labels, predicted), 1)
print(confusion)
print("folds", cross_val_score(model, points, labels, cv=4).round(4))
