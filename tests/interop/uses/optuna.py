"""optuna: searches for the best parameters."""

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)


def _study(**options):
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), **options)


def objectives(x):
    target = x[:50] * 1.0 + 1

    def objective(trial):
        slope = trial.suggest_float("slope", 0, 3)
        shift = trial.suggest_int("shift", 0, 4)
        return ((target * slope - shift) ** 2).mean()

    study = _study()
    study.optimize(objective, n_trials=15)
    return study.best_params, study.best_value, [t.value for t in study.trials]


def bounds_from_arrays(x):
    y = x * 2

    def objective(trial):
        return trial.suggest_float("v", y.min(), y.max()) + trial.suggest_categorical(
            "c", [1, 2]
        )

    study = _study()
    study.enqueue_trial({"v": y[3], "c": 2})
    study.optimize(objective, n_trials=4)
    return [t.value for t in study.trials], study.trials[0].params


def asked_and_told(x):
    study = _study(direction="maximize")
    for i in range(4):
        trial = study.ask()
        trial.suggest_float("v", 0, 1)
        study.tell(trial, (x[i] * 2 + trial.params["v"]))
    return study.best_value


def two_objectives(x):
    study = optuna.create_study(
        directions=["minimize", "maximize"],
        sampler=optuna.samplers.RandomSampler(seed=2),
    )
    y = x[:9] + 1
    study.optimize(lambda t: tuple(y[:2] * t.suggest_float("v", 0, 1)), n_trials=5)
    return [t.values for t in study.trials]


def attributes(x):
    study = _study()

    def objective(trial):
        trial.set_user_attr("rows", (x[:3] * 2).tolist())
        trial.report((x + 1).max(), 0)
        return x[1] * trial.suggest_float("v", 0, 1)

    study.optimize(objective, n_trials=2)
    return study.best_trial.user_attrs, study.best_trial.intermediate_values


def array_as_value(x):
    study = _study()
    trial = study.ask()
    study.tell(trial, x[:3] * 2, skip_if_finished=True)
    return trial.number, study.trials[0].state.name
