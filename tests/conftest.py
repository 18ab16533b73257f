"""What every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# What a test builds shall be built; and none shall depend on what another has left behind.
os.environ["LOOPWRIGHT_CACHE"] = "off"

# A run that a script put into the background ignores Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run: a failure seen once can be seen again. Compiling a kernel takes longer
# than hypothesis's deadline for one example.
settings.register_profile(
    "loopwright",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("loopwright")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return ROOT
