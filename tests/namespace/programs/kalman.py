from math import sqrt

import numpy as np


class KalmanFilter:
    def __init__(self, F, H, Q, R, P, x0):
        self.n, self.m = F.shape[1], H.shape[0]
        self.F, self.H, self.Q, self.R, self.P, self.x = F, H, Q, R, P, x0

    def predict(self):
        self.x = np.dot(self.F, self.x)
        self.P = np.dot(np.dot(self.F, self.P), self.F.T) + self.Q
        return self.x

    def update(self, z):
        y = z - np.dot(self.H, self.x)
        S = self.R + np.dot(self.H, np.dot(self.P, self.H.T))
        K = np.dot(np.dot(self.P, self.H.T), np.linalg.inv(S))
        self.x = self.x + np.dot(K, y)
        identity = np.eye(self.n)
        self.P = np.dot(
            np.dot(identity - np.dot(K, self.H), self.P), (identity - np.dot(K, self.H)).T
        ) + np.dot(np.dot(K, self.R), K.T)


dt = 1.0 / 60
F = np.array([[1, dt, 0], [0, 1, dt], [0, 0, 1]])
H = np.array([1, 0, 0]).reshape(1, 3)
Q = np.array([[0.05, 0.05, 0.0], [0.05, 0.05, 0.0], [0.0, 0.0, 0.0]])
R = np.array([0.5]).reshape(1, 1)
x = np.linspace(-10, 10, 40)
rng = np.random.RandomState(1)
measurements = -(x**2 + 2 * x - 2) + rng.normal(0, 2, 40)
kf = KalmanFilter(F=F, H=H, Q=Q, R=R, P=np.eye(3), x0=np.zeros((3, 1)))
predictions = []
for z in measurements:
    predictions.append(np.dot(H, kf.predict())[0])
    kf.update(z)
predictions = np.array(predictions)
print(predictions.shape, predictions[:5].ravel(), kf.P, sep="\n")
print(sqrt(((predictions[:, 0] - measurements) ** 2).mean()))
for i, (p, m) in enumerate(zip(predictions[:5], measurements, strict=False)):
    print(f"{i:>3} {p[0]:>8.3f} {m:>8.3f} {float(p[0] - m):+.2e}")
