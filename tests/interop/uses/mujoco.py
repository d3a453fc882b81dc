"""mujoco: physics of bodies."""

import mujoco
import numpy as np

MODEL = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="5 5 0.1"/>
<body pos="0 0 1"><joint type="free"/><geom size="0.1" mass="1"/></body>
<body pos="1 0 1"><joint name="h" type="hinge" axis="0 1 0"/>
<geom type="capsule" size="0.05 0.3" mass="1"/></body></worldbody>
<actuator><motor joint="h"/></actuator></mujoco>"""


def _made():
    model = mujoco.MjModel.from_xml_string(MODEL)
    return model, mujoco.MjData(model)


def steps(x):
    model, data = _made()
    data.qpos[:3] = x[:3] * 2.0 + 1
    data.qvel[:] = x[: model.nv] - 0.5
    for i in range(5):
        data.ctrl[:] = x[i : i + 1] * 3
        mujoco.mj_step(model, data)
    return data.qpos, data.qvel * 2, data.xpos.sum(axis=0)


def assigned(x):
    model, data = _made()
    data.qpos = np.concatenate([x[:3] + 1, np.array([1.0, 0, 0, 0]), x[3:4]])
    model.opt.gravity = x[:3] * 2
    mujoco.mj_forward(model, data)
    return data.qpos, model.opt.gravity, data.qacc


def shared_outputs(x):
    model, data = _made()
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv)) + 0
    jacobian = np.zeros((3, model.nv)) * 1.0
    before = full + 1
    mujoco.mj_fullM(model, data, full)
    mujoco.mj_jacBody(model, data, jacobian, None, 1)
    return before, full, jacobian


def shared_views(x):
    model, data = _made()
    view = data.qpos
    before = view + 1
    view[0] = 5
    data.qvel[0] = 1
    mujoco.mj_step(model, data)
    return before, view, data.joint("h").qpos


def functions(x):
    turned, product = np.zeros(3) + 0, np.zeros(4) + 0
    unit = np.array([1.0, 0, 0, 0]) * 1
    mujoco.mju_rotVecQuat(turned, x[:3] * 2, unit)
    mujoco.mju_mulQuat(product, unit, x[:4] + 1)
    return turned, product, mujoco.mju_norm(x[:3] + 1)


def error_shape(x):
    _, data = _made()
    data.qpos = x[:3] * 2
