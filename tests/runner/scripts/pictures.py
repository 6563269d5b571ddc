"""Pillow: arrays become pictures, and pictures arrays."""

import hashlib

import numpy as np
from PIL import Image

rng = np.random.default_rng(0)
gray = (np.outer(np.arange(48), np.arange(64)) % 256).astype(np.uint8)
color = np.stack([gray, gray[::-1], np.roll(gray, 5)], axis=-1)

for name, pixels in {
    "gray": gray,
    "transposed": gray.T,
    "part": gray[5:30, ::2],
    "color": color,
    "with alpha": np.concatenate([color, np.full((48, 64, 1), 128, np.uint8)], axis=-1),
    "bits": gray > 100,
    "floats": np.sqrt(gray).astype(np.float32),
    "integers": gray.astype(np.int32) * 1000,
}.items():
    image = Image.fromarray(pixels)
    back = np.asarray(image)
    print(name, image.mode, image.size, hashlib.sha256(image.tobytes()).hexdigest()[:12])
    print(back.dtype, back.shape, np.array_equal(back, pixels), back.mean())

small = np.array(Image.fromarray(color).resize((8, 6), Image.Resampling.BOX), dtype=float)
print(small.sum(axis=(0, 1)))
noisy = Image.fromarray(np.clip(gray + rng.normal(0, 20, gray.shape), 0, 255).astype("uint8"), mode="L")
print(noisy.getextrema(), np.array(noisy)[:2, :4])
try:
    Image.fromarray(gray.astype(np.complex128))
except TypeError as error:
    print(error)
