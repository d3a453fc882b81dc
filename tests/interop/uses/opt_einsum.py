"""opt_einsum: contractions in a good order."""

import opt_einsum as oe

TOLERANCES = {"contract": 1e-12}


def contract(x):
    m = x.reshape(-1, 4)
    return (
        oe.contract("ab,cb->ac", m[:20], m[:20]),
        oe.contract("ab,bc,cd->ad", m[:3], m[:4], m[:4]),
        oe.contract("a,a->", x, x),
    )


def expressions(x):
    f = oe.contract_expression("ab,bc->ac", (3, 4), (4, 4))
    return f(x[:12].reshape(3, 4), x[:16].reshape(4, 4)), oe.contract_path(
        "ab,bc->ac", x[:12].reshape(3, 4), x[:16].reshape(4, 4)
    )[0]
