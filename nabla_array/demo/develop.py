"""Develop what a camera's sensor has counted: python develop.py PHOTOGRAPH.npy RESULT.jpg.

A NumPy script that knows nothing of nabla_array; the demo runs it with `python -m nabla_array run`.
"""

import sys

import numpy as np
from PIL import Image


def lens(rows: int, columns: int) -> np.ndarray:
    """Return the light that a lens loses towards the corners, as a factor that gives it back."""
    y = np.linspace(-1, 1, rows)[:, None]
    x = np.linspace(-1, 1, columns)[None, :]
    distance = x**2 + y**2
    return 1 + 0.25 * distance + 0.05 * distance**2


def sharpen(channel: np.ndarray) -> None:
    """Raise what differs from its four neighbours, in place; strong edges are raised less."""
    inner = channel[1:-1, 1:-1]
    around = channel[:-2, 1:-1] + channel[2:, 1:-1] + channel[1:-1, :-2] + channel[1:-1, 2:]
    detail = inner - around / 4
    channel[1:-1, 1:-1] = inner + 0.8 * detail / (1 + 20 * np.abs(detail))


def film(light: np.ndarray) -> np.ndarray:
    """Return the tones that a film gives to light: soft in the shadows and in the highlights."""
    return light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14)


def develop(raw: np.ndarray) -> np.ndarray:
    """Return a photograph with its lens, white balance, colours, sharpness and tones put right."""
    gain = lens(*raw.shape[:2])
    channels = [(raw[:, :, k] / 255) ** 2 * gain * balance for k, balance in enumerate((1.08, 1.0, 0.94))]
    grey = 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
    result = np.empty_like(raw)
    for k, channel in enumerate(channels):
        channel = np.maximum(grey + 1.25 * (channel - grey), 0)
        sharpen(channel)
        tones = film(np.maximum(1.3 * channel, 0))
        result[:, :, k] = 255 * np.sqrt(np.clip(tones, 0, 1)) + 0.5
    return result


if __name__ == "__main__":
    picture = develop(np.load(sys.argv[1]))
    small = picture[::4, ::4]
    print("rows, columns, colours:", picture.shape)
    print("mean:", small.mean(axis=(0, 1)).round(3), "standard deviation:", small.std(axis=(0, 1)).round(3))
    Image.fromarray(small).save(sys.argv[2])
