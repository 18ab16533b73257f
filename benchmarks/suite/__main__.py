"""``python -m benchmarks.suite``."""

from benchmarks.suite.cli import suite

if __name__ == "__main__":
    suite(prog_name="python -m benchmarks.suite")
