"""Files: what goes in comes out, with its types; everything else is refused with a sentence."""

import json
import math
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest

from stfem.io import container

CONTENT = {
    "none": None,
    "truth": True,
    "whole": 2**70,
    "number": 0.1 + 0.2,
    "infinite": (math.inf, -math.inf),
    "nan": math.nan,
    "text": "‖u−û‖ “quoted” \\ \n",
    "list": [1, (2, [3.0]), ()],
    "mapping": {"mapping": {"tuple": {}}, "array": "array0"},
    "array": np.arange(6.0).reshape(2, 3)[:, ::2],
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.empty((0, 3)),
    "complex": np.array([1j, 2.0]),
    "numpy number": np.int64(3),
    "numpy truth": np.bool_(True),
}


def same(a, b):
    """Equal in value and type, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


@pytest.fixture
def written(tmp_path):
    return container.write(tmp_path / "file.npz", "estimate", CONTENT)


def test_round_trip(written):
    assert same(container.read(written, "estimate"), CONTENT)
    assert not same(container.read(written, "estimate"), {**CONTENT, "list": [1, [2, [3.0]], ()]})


def test_the_name_does_not_matter_for_reading(written):
    other = written.rename(written.with_name("renamed.txt"))
    assert same(container.read(str(other), "estimate"), CONTENT)


def test_numpy_alone_reads_it(written):
    with np.load(written, allow_pickle=False) as archive:
        text = json.loads(str(archive["stfem"]))
    assert (text["version"], text["kind"]) == (container.FORMAT_VERSION, "estimate")


@pytest.mark.parametrize("name", ["file", "file.npy", "file.npz.txt", "file.NPZ", ".npz"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"expected a file name that ends in \.npz, got"):
        container.write(tmp_path / name, "estimate", {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([None]), np.array(["a"]), {1: 2}])
def test_other_content_is_refused(tmp_path, value):
    with pytest.raises(TypeError, match="expected"):
        container.write(tmp_path / "file.npz", "estimate", {"value": [value]})
    assert list(tmp_path.iterdir()) == []


def test_every_truncation_is_noticed(written):
    whole = written.read_bytes()
    for length in [0, 1, 3, 4, 5, 30, *range(100, len(whole), 97), len(whole) - 1]:
        written.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"file\.npz: expected"):
            container.read(written, "estimate")


def test_flipped_bytes_are_noticed(written):
    """Every byte of the arrays has a checksum; what lies between them (dates, say) may change unseen."""
    whole = written.read_bytes()
    noticed = 0
    positions = range(4, len(whole), 7)
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        written.write_bytes(damaged)
        try:
            assert same(container.read(written, "estimate"), CONTENT)
        except ValueError as error:
            assert "expected" in str(error)  # noqa: PT017  (either way is right, silent damage is not)
            noticed += 1
    assert noticed > 0.5 * len(positions)


def test_one_flipped_bit_is_refused_with_the_name_of_the_file(tmp_path):
    """In the directory of the archive and in the heads of the arrays there are flags for encryption, …."""
    content = {"array": np.arange(3.0)}
    path = container.write(tmp_path / "file.npz", "estimate", content)
    whole = path.read_bytes()
    head, entry = whole.index(b"\x93NUMPY"), whole.index(b"PK\x01\x02")
    refused = 0
    for bit in [*range(8 * head, 8 * (head + 128), 5), *range(8 * entry, 8 * (entry + 46))]:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            assert same(container.read(path, "estimate"), content)  # some bits mean nothing
        except ValueError as error:
            assert str(error).startswith(f"{path}: expected ")  # noqa: PT017
            refused += 1
    assert refused > 300


def test_an_error_of_the_disk_is_no_damage(written, monkeypatch):
    def failing(*arguments, **options):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(np, "load", failing)
    with pytest.raises(OSError, match="Input/output"):
        container.read(written, "estimate")


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "file.npz"
    for foreign in (b"", b"some text", pickle.dumps([1.0]), b"\x93NUMPY\x01\x00v\x00"):
        path.write_bytes(foreign)
        with pytest.raises(ValueError, match="expected a file that stfem has saved, got something else"):
            container.read(path, "estimate")
    np.savez(path, values=np.arange(3.0))
    with pytest.raises(ValueError, match="got another archive of arrays"):
        container.read(path, "estimate")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("document.xml", "<x/>")
    with pytest.raises(ValueError, match="got another archive of arrays"):
        container.read(path, "estimate")
    for text in ("no JSON", "[1]", "{}", '{"version": 1}', '{"version": 1, "kind": "estimate"}'):
        np.savez(path, stfem=np.array(text))
        with pytest.raises(ValueError, match="damaged"):
            container.read(path, "estimate")


def test_pickles_are_never_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    path = tmp_path / "file.npz"
    text = {"version": 1, "kind": "estimate", "content": {"mapping": {"a": {"array": "array0"}}}}
    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb()
    np.savez(path, stfem=np.array(json.dumps(text)), array0=bomb)
    with pytest.raises(ValueError, match="damaged"):
        container.read(path, "estimate")
    assert not (tmp_path / "executed").exists()
    with np.load(path, allow_pickle=True) as archive:  # the trap is real
        archive["array0"]
    assert (tmp_path / "executed").exists()


def test_newer_versions_and_other_kinds_are_refused(written, monkeypatch):
    with pytest.raises(ValueError, match="expected a saved solution, got a saved estimate"):
        container.read(written, "solution")
    monkeypatch.setattr(container, "FORMAT_VERSION", container.FORMAT_VERSION + 1)
    container.write(written, "estimate", CONTENT)
    assert same(container.read(written, "estimate"), CONTENT)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"expected at most version 1 of the file format, got 2: a newer"):
        container.read(written, "estimate")


def test_a_failed_write_leaves_the_old_file(written, monkeypatch):
    before = written.read_bytes()

    def full_disk(stream, **arrays):
        stream.write(b"PK\x03\x04 half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        container.write(written, "estimate", {})
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_an_older_file_is_replaced(written):
    container.write(written, "estimate", {"new": 1})
    assert container.read(written, "estimate") == {"new": 1}
    assert list(written.parent.iterdir()) == [written]


def test_links_stay_links(written):
    link = written.with_name("link.npz")
    link.symlink_to(written.name)
    container.write(link, "estimate", {"new": 1})
    assert link.is_symlink()
    assert container.read(written, "estimate") == {"new": 1}


def test_permissions_are_those_of_new_files(written):
    plain = written.with_name("plain")
    plain.touch()
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing/file\.npz"):
        container.write(tmp_path / "missing" / "file.npz", "estimate", {})
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(IsADirectoryError):
        container.write(tmp_path / "folder.npz", "estimate", {})
    assert [path.name for path in tmp_path.iterdir()] == ["folder.npz"]
    with pytest.raises(FileNotFoundError):
        container.read(tmp_path / "missing.npz", "estimate")
