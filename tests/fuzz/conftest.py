"""What needs a package that may not be there is not collected without it."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("atheris") else ["fuzz_atheris.py"]
