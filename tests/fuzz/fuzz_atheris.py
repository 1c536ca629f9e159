"""Coverage-guided fuzzing of everything that reads files: python fuzz_atheris.py FOLDER -runs=N -seed=S.

Ends with an error at the first input that leads to something else than a ValueError, TypeError or OSError,
or that reaches a pickle or another program.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["stfem.io", "stfem.problems.recipes", "stfem.meshes.files"]):
    from fuzz_bytes import loaded, spoiled, valid_files

_FORBIDDEN = ("pickle.find_class", "os.system", "os.exec", "subprocess.Popen", "socket.connect")


class ReachedError(BaseException):
    """A file was about to run something."""


def _watch(event: str, arguments: object) -> None:
    if event in _FORBIDDEN:
        raise ReachedError(event)


def main() -> None:
    folder = Path(sys.argv.pop(1))
    files = valid_files(folder)
    names = sorted(files)
    sys.addaudithook(_watch)

    def one(data: bytes) -> None:
        provider = atheris.FuzzedDataProvider(data)

        def choose(count: int) -> int:
            return provider.ConsumeIntInRange(0, count - 1)

        name = names[choose(len(names))]
        content, load = files[name]
        result = loaded(folder, name, spoiled(name, content, choose), load)
        if not result.fine:
            raise RuntimeError(f"{name}: {result.kind}, {result.detail}")

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
