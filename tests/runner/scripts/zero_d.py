"""Arrays without axes, and scalars: what is written to whom, and what each is an instance of."""

import copy
import pickle

import numpy as np

a = np.array(5.0)
b = a
a += 1
print(repr(a), repr(b), a is b)
a[...] = 3
b[()] *= 2
print(a, repr(a[()]), repr(a[...]))
total = np.zeros(())
seen = total[...]
for x in np.arange(4.0):
    total += x
print(total, repr(seen))


def scaled(out=None):
    out = np.empty(()) if out is None else out
    out[...] = 4
    out *= 2
    return out


print(repr(scaled()), repr(scaled(a)), a, repr(np.add(1, 2, out=np.zeros(()))))
print([repr(x) for x in (np.zeros(()), np.ones((), int), np.full((), 3), np.asarray(3), np.asarray(a + 1))])
print([repr(x) for x in (a.copy(), a.astype(int), a.T, a.real, a.imag, a.view(), a.reshape(1), a.ravel())])
s = a + 1
print([repr(x) for x in (s, s.copy(), s.astype(int), s.T, s.real, a.sum(), np.mean(a), np.max(a))])
print(
    [repr(x) for x in (np.where(True, 1, 2), np.squeeze(np.ones((1, 1))), np.ones(1).reshape(()), np.copy(s))]
)
for x in (a, s):
    print(np.isscalar(x), isinstance(x, np.ndarray), isinstance(x, float), f"{x:.2f}", str(x))
    print(repr(copy.deepcopy(x)), repr(pickle.loads(pickle.dumps(x))))
    try:
        print(hash(x) == hash(float(x)))
    except TypeError as error:
        print(type(error).__name__)
t = s
s += 1
print(s, t)
v = s.reshape(1)
v[0] = 100
print(s, v)
whole = np.array(1)
try:
    whole /= 2
except TypeError:
    print("does not fit", whole)
a.resize(3, refcheck=False)
print(a, a.base is None)
