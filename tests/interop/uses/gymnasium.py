"""gymnasium: environments of reinforcement learning."""

import gymnasium
import numpy as np


def spaces(small):
    box = gymnasium.spaces.Box(np.zeros(3), np.ones(3), dtype=np.float64)
    both = gymnasium.spaces.Dict({"a": box, "b": gymnasium.spaces.Discrete(4)})
    both.seed(3)
    return (
        box.contains(small[:3]),
        box.low,
        both.sample(),
        gymnasium.spaces.flatten(box, small[:3]),
    )


class _Drift(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(
        -np.ones(2) * 50, np.ones(2) * 50, dtype=np.float64
    )
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float64)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.zeros(2)
        return self.state.copy(), {}

    def step(self, action):
        self.state = self.state + np.asarray(action)
        return self.state.copy(), float(-np.abs(self.state).sum()), False, False, {}


def environment(small):
    env = gymnasium.wrappers.TimeLimit(_Drift(), 5)
    env.reset(seed=1)
    return [env.step(action)[:2] for action in small[:6].reshape(3, 2)]


def vector_environment(small):
    envs = gymnasium.vector.SyncVectorEnv([_Drift, _Drift])
    first, _ = envs.reset(seed=1)
    return first, envs.step(small[:4].reshape(2, 2))[:2]


def cart_pole(small):
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=3)
    return [env.step(int(v > 0.5))[0] for v in small[:5]]
