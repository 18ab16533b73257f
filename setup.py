"""What pyproject.toml cannot say: sched/, autotune/ and ops/ stand at the top and install inside loopwright."""

from setuptools import find_namespace_packages, setup

FOLDERS = {
    "loopwright": "loopwright",
    "loopwright.sched": "sched",
    "loopwright.autotune": "autotune",
    "loopwright.ops": "ops",
}

packages = []
for package, folder in FOLDERS.items():
    # Namespace packages too: folders that hold data only.
    inner = find_namespace_packages(folder, exclude=["*__pycache__*"])
    packages += [package, *(f"{package}.{name}" for name in inner)]

setup(packages=packages, package_dir=FOLDERS)
