import numpy as np
from numpy.fft import fft, fft2, fftfreq, fftshift, ifft, ifft2, irfft, rfft

np.set_printoptions(precision=4, suppress=True, linewidth=100)
N = 64
t = np.arange(N) / N
s = np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 20 * t)
S = fft(s)
f = fftfreq(N, 1 / N)
print(f[:8], np.abs(S)[:8], S.dtype)
mask = np.abs(f) > 10
S_f = S.copy()
S_f[mask] = 0
r = ifft(S_f)
print(r.real[:6], np.allclose(r.imag, 0), np.iscomplexobj(r), np.isrealobj(r.real))
print(np.angle(S[5]), np.abs(S[5]), S[5].real, S[5].imag, S[5].conj(), S[5])
print(np.round(fftshift(np.abs(S)), 2)[28:40])
img = np.zeros((8, 8))
img[2:5, 3:6] = 1
F = fft2(img)
print(np.abs(F)[:2], np.allclose(ifft2(F).real, img))
k = np.hanning(5)
k /= k.sum()
print(k, np.convolve(s, k, "valid")[:5])
print(irfft(rfft(s)[:10], N)[:4])
z = np.exp(1j * np.linspace(0, np.pi, 5))
print(z, z**2, abs(z), z * z.conj(), sep="\n")
print(np.real(np.roots([1, -6, 11, -6])), np.poly([1, 2, 3]), np.polyval([1, 0, -1], 3))
print((1 + 2j) * np.array([1, 1j]), np.array([1 + 1j]) / 2, complex(z[1]))
z.imag[:] = 0
print(z)
z.real += 1
print(z)
print(np.linalg.eig(np.array([[0, -1], [1, 0]])))
w, v = np.linalg.eigh(np.array([[2.0, 0], [0, 3]]))
print(w, v)
print(np.linalg.eigh(np.array([[2.0, 0], [0, 3]])).eigenvalues)
print(np.sinc(t[:4]), np.unwrap([0, 3, 6.5]), np.heaviside([-1, 0, 1], 0.5))
print(
    np.logspace(0, 3, 4),
    np.geomspace(1, 8, 4),
    np.linspace(0, 1, 5, endpoint=False),
    np.linspace(0, 1, 3, retstep=True),
)
spec = 10 * np.log10(np.abs(S) ** 2 + 1e-20)
print(spec.max(), spec.argmax())
