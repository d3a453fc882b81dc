"""lifelines: survival times."""

import lifelines
import numpy as np
import pandas as pd
from lifelines import statistics, utils

TOLERANCES = {"regression": 1e-6, "parametric": 1e-4}


def _times(x):
    return x[:300] * 9.0 + 0.5, x[:300] > 0.3


def estimates(x):
    times, seen = _times(x)
    made = lifelines.KaplanMeierFitter().fit(times, seen)
    other = lifelines.NelsonAalenFitter().fit(
        times, event_observed=seen, timeline=np.arange(9)
    )
    return (
        made.survival_function_.to_numpy(),
        made.median_survival_time_,
        made.predict(np.array([1.0, 3.0])).to_numpy(),
        other.cumulative_hazard_.to_numpy(),
        times,
    )


def tests_of_groups(x):
    times, seen = _times(x)
    found = statistics.logrank_test(times, times[::-1] * 1.2, seen, seen[::-1])
    several = statistics.multivariate_logrank_test(
        times, np.arange(times.size) % 3, seen
    )
    return found.test_statistic, found.p_value, several.test_statistic


def regression(x):
    times, seen = _times(x)
    frame = pd.DataFrame({"t": times, "e": seen, "a": x[:300][::-1] * 2})
    made = lifelines.CoxPHFitter(penalizer=0.1).fit(frame, "t", "e")
    return made.params_.to_numpy(), made.predict_partial_hazard(frame[["a"]]).to_numpy()


def parametric(x):
    times, seen = _times(x)
    made = lifelines.WeibullFitter().fit(times, seen)
    return made.lambda_, made.rho_


def concordance(x):
    times, seen = _times(x)
    return utils.concordance_index(
        times, times[::-1] + x[:300], seen
    ), utils.survival_table_from_events(times, seen).to_numpy()


def error_negative(x):
    times, seen = _times(x)
    lifelines.KaplanMeierFitter().fit(times * np.nan, seen)
