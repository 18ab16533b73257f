"""What pyproject.toml cannot say: sched/, autotune/ and ops/ stand at the top, and install inside loopwright."""

from setuptools import find_packages, setup

FOLDERS = {
    "loopwright": "loopwright",
    "loopwright.sched": "sched",
    "loopwright.autotune": "autotune",
    "loopwright.ops": "ops",
}

packages = []
for package, folder in FOLDERS.items():
    packages += [package, *(f"{package}.{inner}" for inner in find_packages(folder))]

setup(packages=packages, package_dir=FOLDERS)
