from dataclasses import dataclass

import numpy as np

people = np.array(
    [("Ann", 30, 1.7), ("Bob", 25, 1.8), ("Cyd", 35, 1.6)],
    dtype=[("name", "U10"), ("age", "i4"), ("height", "f8")],
)
print(people, people["name"], people["age"].mean(), people[people["age"] > 26]["name"])
people["age"] += 1
people.sort(order="age")
print(people, people.dtype.names)
print(np.sort(people, order="height")["name"][::-1], people[0], people[0]["name"])
words = np.array(["pear", "apple", "fig"])
print(np.sort(words), np.char.upper(words), words == "fig", np.unique(list("hello")), words[0])
dates = np.arange("2024-02-27", "2024-03-02", dtype="datetime64[D]")
print(dates, dates[1] - dates[0], np.diff(dates))
objs = np.array([1, "a", None], dtype=object)
print(objs, [type(o).__name__ for o in objs])


@dataclass
class P:
    pos: np.ndarray
    vel: np.ndarray


ps = [P(np.array([i, 0.0]), np.array([0.0, i])) for i in range(3)]
for p in ps:
    p.pos += 0.1 * p.vel
print(ps[2], np.array([p.pos for p in ps]))
m = np.ma.array([1.0, 2, 3], mask=[0, 1, 0])
print(m, m.mean())
a = np.arange(10)
a[::2] = -1
print(a, a[a != -1], np.delete(a, [0, 1]), np.insert(a, 1, 99), np.append(a, [1, 2]))
it = np.nditer(np.arange(4).reshape(2, 2), flags=["multi_index"])
for v in it:
    print(it.multi_index, v, end="; ")
print()
for idx, v in np.ndenumerate(np.array([[1, 2], [3, 4]])):
    print(idx, v, end="; ")
print()
print(list(np.ndindex(2, 2)))
x = np.arange(24).reshape(2, 3, 4)
print(
    x[..., 1],
    x[:, None].shape,
    x[0, [0, 2], 1:3],
    x[np.ix_([0, 1], [0, 2])].shape,
    x.transpose(2, 0, 1).shape,
)
print(np.einsum("ijk->ik", x), np.tensordot(x, np.ones(4), axes=1), x.sum(axis=(0, 2)), x.reshape(-1)[-3:])
f = np.vectorize(lambda a, b: a if a > b else b)
print(f([1, 5], [3, 2]))
print(
    np.apply_along_axis(lambda r: r.max() - r.min(), 1, x[0]),
    np.fromfunction(lambda i, j: i * 10 + j, (2, 3)),
)
try:
    np.array([1, 2]) + "a"
except TypeError:
    print("no sum")
print(
    np.zeros((2, 0)),
    np.array([]),
    np.array([[]]).shape,
    np.nan == np.nan,
    np.isnan([1, np.nan]),
    np.nanmean([1, np.nan]),
)
print(
    repr(np.zeros((2, 2), dtype=np.float32)),
    repr(np.array([True, False])),
    repr(np.array([1e10, 1e-10])),
    repr(np.arange(2000)),
)
print(np.array([0.1, 1 / 3, 1e6]), np.array([1e-20, 1]), np.array([np.inf, -np.inf, np.nan]), -np.zeros(2))
print(
    np.int32(7) // 2,
    np.float32(1) / 3,
    np.uint8(255) + np.uint8(1) if False else 0,
    7 % np.array([4]),
    np.array([5]) ** 2.0,
)


def f(x, y=2, *args, **kw):
    return x * y


print(*map(f, np.arange(3)), [i for i in reversed(np.arange(3))], np.arange(3)[::-1].tolist())
print(
    np.may_share_memory(a, a[1:]),
    a[1:].base is a,
    a.flags["C_CONTIGUOUS"],
    a.strides,
    a.data.nbytes if hasattr(a.data, "nbytes") else 0,
)
print(
    np.datetime64("2024-01-01").astype("datetime64[M]"),
    np.info is not None,
    np.pi,
    np.e,
    np.euler_gamma,
    np.inf,
    -np.inf,
)
