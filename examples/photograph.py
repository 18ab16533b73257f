"""Develop a photograph: from the mosaic that a camera's sensor sees to a sharpened picture, its edges and its corners.

The photograph is one that matplotlib ships. Each step is an operator of the library, built for the picture's size with the
default schedule; `loopwright tune --workloads image-pipeline` finds faster ones.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.image import imread, imsave

import loopwright as lw
from loopwright import ops

warnings.simplefilter("ignore", lw.UntunedWarning)  # the default schedule will do here


def run(work: lw.Workload, *arrays: np.ndarray) -> np.ndarray:
    """Build a workload for this machine and call it; the first pixels are what NumPy makes of the same arrays."""
    return lw.build(work, target="cpu")(*arrays)


photo = imread(Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg")
H, W, _ = photo.shape

# What a sensor would have seen of it: of each pixel one colour, red and green in even rows, green and blue in odd ones.
mosaic = np.empty((H, W), "uint8")
mosaic[0::2, 0::2], mosaic[0::2, 1::2] = photo[0::2, 0::2, 0], photo[0::2, 1::2, 1]
mosaic[1::2, 0::2], mosaic[1::2, 1::2] = photo[1::2, 0::2, 1], photo[1::2, 1::2, 2]

picture = run(ops.demosaic(X=(H, W)), mosaic)
error = np.abs(picture.astype(int) - photo).mean()
print(f"demosaic: {H} x {W} pixels; colours are off by {error:.1f} of 255 on average")
assert error < 5

picture = run(ops.median_filter(X=picture.shape), picture)
picture = run(ops.local_laplacian(X=picture.shape, alpha=0.5), picture)
picture = run(ops.unsharp_mask(X=picture.shape, sigma=1.5, amount=0.7), picture)
imsave("developed.png", picture)

grey = run(ops.luma(X=picture.shape), picture)
even = run(ops.equalize_histogram(X=grey.shape), grey)
print(f"equalize_histogram: mean tone {grey.mean():.0f} -> {even.mean():.0f}")
assert abs(even.mean() - 127.5) < 5

smooth = run(ops.bilateral_grid(X=grey.shape), grey)
imsave("edges.png", run(ops.gradient_magnitude(X=grey.shape), smooth), cmap="gray")

corners = run(ops.harris(X=grey.shape), smooth)
strong = np.argwhere(corners >= np.partition(corners, -100, axis=None)[-100])
print(
    f"harris: the 100 strongest corners lie around row {strong[:, 0].mean():.0f}, column {strong[:, 1].mean():.0f}"
)
assert len(strong) >= 100

print(
    f"{picture.shape[1]} x {picture.shape[0]} pixels developed into developed.png, their edges into edges.png"
)
print("ok")
