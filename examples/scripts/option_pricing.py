"""Options by Monte Carlo, against Black and Scholes: European, Asian, barrier, American."""

import math

import numpy as np

S0, K, r, sigma, T = 100.0, 105.0, 0.03, 0.25, 1.0
rng = np.random.default_rng(12345)


def norm_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def black_scholes(kind):
    d1 = (np.log(S0 / K) + (r + sigma**2 / 2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    call = S0 * norm_cdf(d1) - K * np.exp(-r * T) * norm_cdf(d2)
    return call if kind == "call" else call - S0 + K * np.exp(-r * T)


def paths(n, steps):
    dt = T / steps
    z = rng.standard_normal((n // 2, steps))
    z = np.concatenate([z, -z])  # antithetic
    increments = (r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z
    log_s = np.cumsum(increments, axis=1)
    log_s = np.insert(log_s, 0, 0.0, axis=1)
    return S0 * np.exp(log_s)


def estimate(name, payoff, exact=None):
    value = np.exp(-r * T) * payoff
    mean, error = value.mean(), value.std(ddof=1) / np.sqrt(value.size)
    line = f"{name:14s} {mean:8.4f} +- {error:.4f}"
    if exact is not None:
        line += f"   exact {exact:8.4f}   off by {(mean - exact) / error:+.2f} sigma"
    print(line)


S = paths(50_000, 52)
print("paths", S.shape, f"{S.nbytes / 1e6:.1f} MB")
print("mean path:", S.mean(axis=0)[::13].round(3))
estimate("call", np.maximum(S[:, -1] - K, 0), black_scholes("call"))
estimate("put", np.maximum(K - S[:, -1], 0), black_scholes("put"))
estimate("digital", np.where(S[:, -1] > K, 1.0, 0.0))
estimate("Asian call", np.maximum(S[:, 1:].mean(axis=1) - K, 0))
estimate("lookback", S.max(axis=1) - S[:, -1])
knocked = (S > 130).any(axis=1)
payoff = np.maximum(S[:, -1] - K, 0)
payoff[knocked] = 0
estimate("up-and-out", payoff)
print(f"knocked out: {knocked.mean():.2%}")

# American put, by Longstaff and Schwartz.
dt = T / 52
cash = np.maximum(K - S[:, -1], 0)
for t in range(51, 0, -1):
    cash *= np.exp(-r * dt)
    itm = S[:, t] < K
    x = S[itm, t] / K
    coefficients = np.polyfit(x, cash[itm], 3)
    exercise = K - S[itm, t]
    now = exercise > np.polyval(coefficients, x)
    cash[np.flatnonzero(itm)[now]] = exercise[now]
print(f"American put   {np.exp(-r * dt) * cash.mean():8.4f}")

losses = S0 - S[:, -1]
var = np.quantile(losses, [0.95, 0.99])
tail = [losses[losses >= v].mean() for v in var]
print("value at risk 95%, 99%:", var.round(3), "expected shortfall:", np.round(tail, 3))
returns = np.diff(np.log(S), axis=1)
weeks = np.corrcoef(returns[:, 0], returns[:, 1])[0, 1]
print(f"volatility: {returns.std() * np.sqrt(52):.4f}, correlation of two weeks: {weeks:.5f}")
