"""control: control systems."""

import control
import numpy as np


def responses(small):
    system = control.tf(np.array([1.0]), np.array([1.0, 0.5, small[1]]))
    t, y = control.step_response(system, np.linspace(0, 5, 20))
    return (
        t,
        y,
        control.poles(system),
        control.forced_response(system, np.linspace(0, 1, 10), small[:10]).outputs,
    )


def state_space(small):
    system = control.ss(
        small[:4].reshape(2, 2),
        small[4:6].reshape(2, 1),
        np.eye(2)[:1],
        np.zeros((1, 1)),
    )
    gain, _, _ = control.lqr(system, np.eye(2), np.eye(1))
    return (
        system.A,
        gain,
        control.ctrb(system.A, system.B),
        control.frequency_response(system, np.array([0.1, 1.0])).magnitude,
    )
