"""Arrays from files and to files: NumPy's formats, CSV tables, PNG pictures; also numbers and lists written on the
command line.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from ..files import opened, replacing
from .failures import Failure, files, one_line
from .shapes import read_settings

FORMATS: Final = ("npy", "npz", "csv", "png")


def read_arrays(settings: Iterable[str]) -> dict[str, Any]:
    """``A=a.npy``, ``B=data.npz:key``, ``C=table.csv``, ``I=photo.png``, ``alpha=0.5``, ``v=[1,2,3]``, by name.

    Numbers, lists and tables become Python numbers and lists: they take the type of the parameter. Raises `Failure` for
    anything unreadable.
    """
    return {name: _array(name, value) for name, value in read_settings(settings, "--input", "A=a.npy").items()}


def _array(name: str, value: str) -> Any:
    try:
        given = json.loads(value)
    except (ValueError, RecursionError):
        return _file(name, value)
    if isinstance(given, (int, float, list)):
        return given
    raise Failure(f"--input {name}={value}: an array is a file, a number, or a list of numbers such as [1, 2, 3]")


def _file(name: str, value: str) -> Any:
    path, colon, key = value.rpartition(":")
    if not (colon and path.lower().endswith(".npz")):
        path, key = value, ""
    match Path(path).suffix.lower():
        case ".npy":
            with _loaded(path) as array:
                if not isinstance(array, np.ndarray):
                    raise Failure(f"{path}: holds several arrays by name; call it {Path(path).stem}.npz")
                return array
        case ".npz":
            return _member(path, key, name)
        case ".csv":
            return _table(path)
        case ".png":
            return _picture(path)
        case _:
            raise Failure(f"--input {name}={value}: an array is a .npy, .npz, .csv or .png file, a number, or a list")


@contextmanager
def _loaded(path: str) -> Iterator[Any]:
    """An array, or an archive that stays open while the block runs."""
    with files(path), opened(path) as file:
        start = file.read(6)
        if not start.startswith((b"\x93NUMPY", b"PK")):
            raise Failure(f"{path}: is not a NumPy file; write one with `numpy.save`")
        file.seek(0)
        with _damaged(path):
            loaded = np.load(file, allow_pickle=False)
        yield loaded


@contextmanager
def _damaged(path: str) -> Iterator[None]:
    """Turns any exception that a damaged file raises in NumPy, zip or the header parser into one line."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        if "pickle" in str(error).lower():
            message = "holds Python objects, which could run anything when they are read; save an array of numbers"
        else:
            message = "is damaged, or is not a NumPy file"
        raise Failure(f"{path}: {message}") from None


def _member(path: str, key: str, name: str) -> Any:
    with _loaded(path) as archive:
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise Failure(f"{path}: holds one array, not several by name")
        key = key or (archive.files[0] if len(archive.files) == 1 else name)
        if key not in archive.files:
            listed = ", ".join(archive.files) or "none"
            raise Failure(f"{path}: no array `{key}`; its arrays are {listed}: write --input {name}={path}:KEY")
        with _damaged(f"{path}:{key}"):
            array = archive[key]
        if not isinstance(array, np.ndarray):
            raise Failure(f"{path}:{key}: is not a NumPy array")
        return array


def _table(path: str) -> Any:
    with files(path), opened(path) as file:
        lines = file.read().decode("utf-8-sig").splitlines()
    rows = [(number, line.split(",")) for number, line in enumerate(lines, start=1) if line.strip()]
    table: list[list[int | float]] = []
    for number, row in rows:
        if len(row) != len(rows[0][1]):
            raise Failure(f"{path}:{number}: {len(row)} numbers, where line {rows[0][0]} has {len(rows[0][1])}")
        table.append([_number(cell, path, number) for cell in row])
    if not table:
        raise Failure(f"{path}: holds no numbers")
    # One column is a vector; a vector written as one row keeps its axis.
    return [row[0] for row in table] if len(table[0]) == 1 else table


def _number(cell: str, path: str, line: int) -> int | float:
    for kind in (int, float):
        try:
            number = kind(cell)
        except ValueError:
            continue
        if number not in (math.inf, -math.inf) or "inf" in cell.lower():
            return number
    raise Failure(f"{path}:{line}: {cell.strip()!r} is not a number")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise Failure("pictures need Pillow: pip install 'tcjax[png]'") from None
    return Image


def _picture(path: str) -> Any:
    image = _pillow()
    with files(path), opened(path) as file:
        try:
            with image.open(file, formats=["PNG"]) as picture:
                plain = picture.convert("RGB") if picture.mode == "P" else picture
                return np.asarray(plain)
        except MemoryError:
            raise
        except Exception as error:
            raise Failure(f"{path}: cannot be read as a picture: {error}") from None


def fitted(arrays: Mapping[str, Any], declared: Mapping[str, str | None], cast: bool) -> dict[str, Any]:
    """The arrays, converted to the types of the parameters: pictures to 0..1 where a float is declared, others only
    with `cast`.
    """
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        dtype = declared.get(name)
        if isinstance(array, np.ndarray) and dtype is not None and str(array.dtype) != dtype:
            if array.dtype == np.uint8 and not array.flags.writeable and dtype.startswith(("float", "bfloat")):
                array = array.astype(np.float32) / np.float32(255)
            if cast:
                array = _cast(name, array, dtype)
        found[name] = array
    return found


def _cast(name: str, array: np.ndarray, dtype: str) -> np.ndarray:
    import ml_dtypes

    if array.dtype.kind not in "biufcV":
        raise Failure(f"`{name}` is an array of {array.dtype}, not of numbers")
    with np.errstate(all="ignore"):
        return array.astype(getattr(ml_dtypes, dtype, dtype))


# ---------------------------------------------------------------- results


def make_directory(path: str) -> None:
    """Creates the results directory before anything is computed. Raises `Failure` where this is not possible."""
    if Path(path).exists() and not Path(path).is_dir():
        raise Failure(f"--out {path}: this is a file; name a directory, which gets one file per result")
    with files(path):
        Path(path).mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise Failure(f"--out {path}: this directory cannot be written to")


def write_arrays(results: Mapping[str, np.ndarray], directory: str, format: str) -> list[str]:
    """Writes every result into the directory, which must exist, and returns the paths.

    Raises `Failure` for what a format cannot hold.
    """
    for name, array in results.items():
        _check_format(name, array, format)
    if format == "npz":
        path = str(Path(directory) / "results.npz")
        with _replaced(path) as file:
            np.savez(file, **{name: _plain(array) for name, array in results.items()})  # type: ignore[arg-type]
        return [one_line(path)]
    written: list[str] = []
    for name, array in results.items():
        path = str(Path(directory) / f"{name}.{format}")
        with _replaced(path) as file:
            _write(file, array, format)
        written.append(one_line(path))
    return written


@contextmanager
def _replaced(path: str) -> Iterator[BinaryIO]:
    """A result's file. Its name is easy to guess, so an existing link of that name is replaced, not followed."""
    with files(path), replacing(path, follow=False) as file:
        yield file


def _check_format(name: str, array: np.ndarray, format: str) -> None:
    if format == "csv" and (array.ndim > 2 or array.dtype.kind == "c"):
        raise Failure(f"`{name}` is {_described(array)}: CSV holds vectors and matrices of real numbers; use npy")
    if format == "png":
        _pillow()
        if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or 0 in array.shape:
            raise Failure(f"`{name}` is {_described(array)}: a picture has the shape (H, W), (H, W, 3) or (H, W, 4)")
        if array.dtype.kind == "c" or (array.dtype.kind in "iu" and array.dtype != np.uint8):
            raise Failure(f"`{name}` is {_described(array)}: a picture holds floats from 0 to 1, uint8 or bool")


def _described(array: np.ndarray) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _plain(array: np.ndarray) -> np.ndarray:
    """The array in a type that NumPy itself writes: bfloat16 becomes float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def _write(file: BinaryIO, array: np.ndarray, format: str) -> None:
    array = _plain(array)
    match format:
        case "npy":
            np.save(file, array)
        case "csv":
            whole = array.dtype.kind in "biu"
            digits = "%d" if whole else "%.9g" if array.dtype.itemsize <= 4 else "%.17g"
            np.savetxt(file, np.atleast_1d(array), fmt=digits, delimiter=",")
        case _:
            levels = array
            if array.dtype.kind == "f":
                levels = np.nan_to_num(np.clip(array, 0, 1) * 255 + 0.5).astype(np.uint8)
            elif array.dtype == bool:
                levels = array.astype(np.uint8) * 255
            _pillow().fromarray(levels).save(file, format="PNG")
