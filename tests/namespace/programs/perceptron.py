import numpy as np


class Perceptron:
    def __init__(self, eta=0.01, n_iter=50, random_state=1):
        self.eta, self.n_iter, self.random_state = eta, n_iter, random_state

    def fit(self, X, y):
        rgen = np.random.RandomState(self.random_state)
        self.w_ = rgen.normal(loc=0.0, scale=0.01, size=1 + X.shape[1])
        self.errors_ = []
        for _ in range(self.n_iter):
            errors = 0
            for xi, target in zip(X, y, strict=False):
                update = self.eta * (target - self.predict(xi))
                self.w_[1:] += update * xi
                self.w_[0] += update
                errors += int(update != 0.0)
            self.errors_.append(errors)
        return self

    def net_input(self, X):
        return np.dot(X, self.w_[1:]) + self.w_[0]

    def predict(self, X):
        return np.where(self.net_input(X) >= 0.0, 1, -1)


rng = np.random.RandomState(3)
X = np.vstack((rng.randn(50, 2) + np.array([2, 2]), rng.randn(50, 2) - [1, 2]))
y = np.hstack((np.ones(50), -np.ones(50)))
p = Perceptron(eta=0.1, n_iter=10).fit(X, y)
print(p.w_, p.errors_)
print("accuracy", np.mean(p.predict(X) == y))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


X = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
y = np.array([[0, 1, 1, 0]]).T
np.random.seed(1)
syn0 = 2 * np.random.random((3, 4)) - 1
syn1 = 2 * np.random.random((4, 1)) - 1
for j in range(1500):
    l0 = X
    l1 = sigmoid(np.dot(l0, syn0))
    l2 = sigmoid(np.dot(l1, syn1))
    l2_error = y - l2
    if j % 500 == 0:
        print("Error:" + str(np.mean(np.abs(l2_error))))
    l2_delta = l2_error * l2 * (1 - l2)
    l1_error = l2_delta.dot(syn1.T)
    l1_delta = l1_error * (l1 * (1 - l1))
    syn1 += l1.T.dot(l2_delta)
    syn0 += l0.T.dot(l1_delta)
print(l2)
labels = np.array([0, 2, 1, 2])
onehot = np.zeros((labels.size, labels.max() + 1))
onehot[np.arange(labels.size), labels] = 1
print(onehot, np.eye(3)[labels], onehot.argmax(1), sep="\n")


def softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(axis=-1, keepdims=True)


print(softmax(np.array([[1.0, 2, 3], [1000, 1001, 1002]])))
loss = -np.log(softmax(np.arange(6.0).reshape(2, 3))[range(2), [0, 2]]).mean()
print("loss:", loss)
