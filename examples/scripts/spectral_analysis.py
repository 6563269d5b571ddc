"""What is in a noisy signal: spectra, windows, a filter, a spectrogram, autocorrelation."""

import matplotlib.pyplot as plt
import numpy as np

fs = 1000.0  # Hz
t = np.arange(0, 4, 1 / fs)
rng = np.random.default_rng(99)
signal = 1.2 * np.sin(2 * np.pi * 50 * t) + 0.7 * np.cos(2 * np.pi * 120.5 * t + 0.3)
signal += 0.5 * np.sin(2 * np.pi * (10 + 20 * t) * t) * (t > 2)
signal += rng.normal(scale=0.8, size=t.shape)
signal[1500:1510] = np.nan  # the recorder failed
bad = np.isnan(signal)
signal[bad] = np.interp(t[bad], t[~bad], signal[~bad])
print(f"{t.size} samples, {bad.sum()} mended, rms {np.sqrt(np.mean(signal**2)):.4f}")

spectrum = np.fft.rfft(signal * np.hanning(len(signal)))
freq = np.fft.rfftfreq(t.size, d=1 / fs)
power = np.abs(spectrum) ** 2
is_peak = (power[1:-1] > power[:-2]) & (power[1:-1] > power[2:])
peaks = np.flatnonzero(is_peak) + 1
peaks = peaks[np.argsort(power[peaks])[::-1][:3]]
for k in np.sort(peaks):
    left, mid, right = np.log(power[k - 1 : k + 2])
    shift = 0.5 * (left - right) / (left - 2 * mid + right)
    print(f"peak at {freq[k] + shift * freq[1]:8.3f} Hz, {10 * np.log10(power[k] / power.max()):6.2f} dB")
print("Parseval:", np.isclose(np.sum(np.abs(np.fft.fft(signal)) ** 2) / t.size, np.sum(signal**2)))

# Welch: the mean over windows that overlap by half.
size = 512
window = np.blackman(size)
starts = np.arange(0, len(signal) - size + 1, size // 2)
frames = signal[starts[:, None] + np.arange(size)] * window
welch = (np.abs(np.fft.rfft(frames, axis=-1)) ** 2).mean(axis=0) / (fs * (window**2).sum())
welch[1:-1] *= 2
f = np.fft.rfftfreq(size, 1 / fs)
print(f"Welch: {welch.shape}, noise floor {np.median(welch):.2e}, total {np.trapezoid(welch, f):.4f}")
bands = {"low": (0, 30), "mains": (45, 55), "mid": (55, 115), "tone": (115, 126)}
for name, (lo, hi) in bands.items():
    inside = np.logical_and(f >= lo, f < hi)
    print(f"{name:6s}{welch[inside].sum() * f[1]:.4f}")

# Remove the mains by a notch in frequency, smooth by a moving average.
F = np.fft.fft(signal)
k = np.fft.fftfreq(t.size, 1 / fs)
F[(np.abs(np.abs(k) - 50) < 1)] = 0
clean = np.fft.ifft(F).real
kernel = np.ones(5) / 5
smooth = np.convolve(clean, kernel, mode="same")
print(f"without the mains: std {clean.std():.4f}, smoothed {smooth.std():.4f}")

r = np.correlate(clean - clean.mean(), clean - clean.mean(), mode="full")[t.size - 1 :]
r /= r[0]
print("autocorrelation:", r[:10].round(4))
crossings = np.where(np.diff(np.signbit(smooth)))[0]
print("zero crossings:", crossings.size, "first", crossings[:6].tolist())

spectrogram = 20 * np.log10(np.abs(np.fft.rfft(frames)).T + 1e-12)
chirp = (f > 80) & (f < 180) & (np.abs(f - 120.5) > 8)
track = f[chirp][spectrogram[chirp].argmax(axis=0)]
print("chirp in time:", track[-6:].round(1))
fig, ax = plt.subplots()
ax.pcolormesh(starts / fs, f, spectrogram, shading="auto")
ax.set(xlabel="s", ylabel="Hz")
fig.savefig("spectral_analysis.png")
