"""torch: tensors and neural networks."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate

torch.set_num_threads(1)
# Products and sums are added in another order.
TOLERANCES = {"train": 1e-6, "matrix_product": 1e-12, "shared_slice": 1e-14}


def from_numpy(x):
    t = torch.from_numpy(x)
    return t.numpy(), t.dtype == torch.float64, (t + 1).sum().item()


def other_ways_in(x):
    return (
        torch.as_tensor(x).numpy(),
        torch.tensor(x).numpy(),
        torch.from_dlpack(x).numpy(),
        torch.asarray(x.astype(np.float32)).numpy(),
        torch.FloatTensor(x.astype(np.float32)).numpy(),
    )


def collate(x):
    batch = default_collate([x, x + 1])
    nested = default_collate([{"x": x[:3], "i": 1}, {"x": x[3:6], "i": 2}])
    return batch.numpy(), nested["x"].numpy(), nested["i"].numpy()


class _Rows(Dataset):
    def __init__(self, x):
        self.x = x.reshape(-1, 4).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], np.float32(i % 2)


def data_loader(x):
    return [
        xs.numpy() + ys.numpy()[:, None]
        for xs, ys in DataLoader(_Rows(x), batch_size=5)
    ][:4]


def tensor_dataset(x):
    data = TensorDataset(
        torch.from_numpy(x), torch.from_numpy((x > 0.5).astype(np.int64))
    )
    return [b[0].sum().item() for b in DataLoader(data, batch_size=x.size // 3)]


def train(small):
    torch.manual_seed(0)
    x = torch.from_numpy(small.reshape(-1, 3).astype(np.float32))
    y = torch.from_numpy((small[::3] > 0.5).astype(np.float32))
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x)[:, 0], y)
        loss.backward()
        optimizer.step()
    return loss.item()


def index_with_arrays(x):
    t = torch.arange(x.size)
    rows = (x * 10).astype(np.int64)
    return t[torch.from_numpy(rows)].numpy(), t[rows].numpy(), t[x > 0.5].numpy()


def matrix_product(x):
    m = x.reshape(-1, 4)
    return torch.matmul(torch.from_numpy(m.T.copy()), torch.from_numpy(m)).numpy()


def operators(x):
    t = torch.ones(x.size, dtype=torch.float64)
    return np.asarray(t) + x, (t * torch.as_tensor(x)).numpy(), np.add(t.numpy(), x)


def tensor_into_array(x):
    t = torch.from_numpy(x)
    y = np.asarray(t)
    z = np.array(t)
    z[:3] = t[:3] * 2
    return y + 1, z, np.concatenate([t, x])


def shared_mul_in_place(x):
    before = x * 2
    torch.from_numpy(x).mul_(2)
    return x, before, x + before


def shared_slice(x):
    before = x.sum()
    after = np.sqrt(x)
    torch.from_numpy(x)[::2] = 0.25
    return before, after, x.sum(), np.sqrt(x)


def shared_as_tensor(x):
    t = torch.as_tensor(x)
    x[1] = 5
    x += 1
    return t.numpy(), t.sum().item()


def saved_arrays(x):
    torch.save({"x": x, "y": x[:3]}, "arrays.pt")
    allowed = [np._core.multiarray._reconstruct, np.ndarray, np.dtype, type(x.dtype)]
    torch.serialization.add_safe_globals(allowed)
    loaded = torch.load("arrays.pt", weights_only=True)
    return loaded["x"], loaded["y"]


def error_negative_strides(x):
    return torch.from_numpy(x[::-1])
