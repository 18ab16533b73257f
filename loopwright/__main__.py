"""`python -m loopwright`: the command line, for an environment whose scripts are not on the path."""

from loopwright.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
