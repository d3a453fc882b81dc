"""pandera: checks of data frames."""

import numpy as np
import pandas as pd
import pandera.pandas as pa


def schemas(x):
    schema = pa.DataFrameSchema(
        {
            "a": pa.Column(float, pa.Check.in_range(1, 2)),
            "k": pa.Column(int, pa.Check.isin(np.arange(5))),
        }
    )
    frame = pd.DataFrame({"a": x * 1.0 + 1, "k": (x * 5).astype(int)})
    return schema.validate(frame).to_numpy()


def checks_of_the_program(x):
    limits = x[:3] * 0 + 3.0
    schema = pa.DataFrameSchema(
        {
            "a": pa.Column(
                float,
                [
                    pa.Check(lambda s: s < limits.max()),
                    pa.Check(lambda s: np.all(s.to_numpy() >= 0)),
                ],
            )
        }
    )
    return schema.validate(pd.DataFrame({"a": x + 1}))["a"].to_numpy()


def series(x):
    schema = pa.SeriesSchema(float, pa.Check.le((x * 2).max()), nullable=False)
    return schema.validate(pd.Series(x * 2)).to_numpy()


def coerced(x):
    schema = pa.DataFrameSchema({"a": pa.Column("int32")}, coerce=True)
    return schema.validate(pd.DataFrame({"a": x * 9}).round()).to_numpy()


def models(x):
    class Model(pa.DataFrameModel):
        a: float = pa.Field(ge=0)

        @pa.check("a")
        @classmethod
        def small(cls, values):
            return values < 5

    return Model.validate(pd.DataFrame({"a": x + 1})).to_numpy()


def error_values(x):
    schema = pa.DataFrameSchema({"a": pa.Column(float, pa.Check.lt(0))})
    try:
        schema.validate(pd.DataFrame({"a": x + 1}))
    except pa.errors.SchemaError as error:
        raise ValueError(error.failure_cases["failure_case"].sum()) from None
