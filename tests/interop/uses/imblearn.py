"""imbalanced-learn: classes of different sizes."""

from imblearn import combine, metrics, over_sampling, pipeline, under_sampling
from sklearn.linear_model import LogisticRegression

TOLERANCES = {"pipelines": 1e-9}


def _data(x):
    table = x[:400].reshape(-1, 4) * 1.0 + 1
    return table, (table[:, 0] > 1.7).astype(int)


def over(x):
    table, labels = _data(x)
    before = table + 0
    return (
        over_sampling.RandomOverSampler(random_state=0).fit_resample(table, labels),
        over_sampling.SMOTE(k_neighbors=2, random_state=0).fit_resample(table, labels),
        before,
        table,
    )


def under(x):
    table, labels = _data(x)
    sampler = under_sampling.RandomUnderSampler(random_state=0)
    found = sampler.fit_resample(table, labels)
    return (
        found,
        sampler.sample_indices_,
        under_sampling.TomekLinks().fit_resample(table, labels),
        under_sampling.NearMiss(n_neighbors=2).fit_resample(table, labels),
    )


def both(x):
    table, labels = _data(x)
    smote = over_sampling.SMOTE(k_neighbors=2, random_state=0)
    return combine.SMOTETomek(smote=smote, random_state=0).fit_resample(table, labels)


def pipelines(x):
    table, labels = _data(x)
    made = pipeline.make_pipeline(
        over_sampling.RandomOverSampler(random_state=0), LogisticRegression()
    )
    return made.fit(table, labels).predict_proba(table)


def scores(x):
    _, labels = _data(x)
    guessed = (x[: labels.size] > 0.4).astype(int)
    return (
        metrics.geometric_mean_score(labels, guessed),
        metrics.specificity_score(labels, guessed),
        metrics.sensitivity_specificity_support(labels, guessed),
    )


def error_lengths(x):
    table, labels = _data(x)
    over_sampling.SMOTE(k_neighbors=2).fit_resample(table, labels[:-1])
