"""Whatever a user passes for u_0, g, b or c, as a tuple of Data."""

from __future__ import annotations

import numpy as np

from stfem.checks import checked_whole, described, real_array
from stfem.data.base import Data
from stfem.data.callables import MAX_COMPONENTS, CallableData, CheckedFunction, takes
from stfem.data.constant import Constant

__all__ = ["as_data", "check_given"]


def check_given(value: object, name: str) -> None:
    """Raise for what can be no datum, whatever the dimension and the number of components.

    Raises
    ------
    ValueError, TypeError
        As `as_data`.
    """
    if isinstance(value, Data) or (callable(value) and not isinstance(value, type)):
        return
    if isinstance(value, (tuple, list)):
        for entry in value:
            if isinstance(entry, (tuple, list)):
                raise TypeError(f"{name}: expected numbers, Data or callables, got {described(value)}")
            check_given(entry, name)
        return
    numbers = real_array(value, name)
    if numbers.ndim > 1 or not np.isfinite(numbers).all():
        raise ValueError(f"{name}: expected finite numbers, one or a vector, got {described(value)}")


def as_data(
    value: object, dim: int, components: int, name: str, with_time: bool | None = True
) -> tuple[Data, ...]:
    """One Data per component.

    Parameters
    ----------
    value : object
        A number (the same for all components), an array of `components` numbers, a Data (one component), a
        tuple or list of `components` numbers, Data or callables, or one callable with values as
        CheckedFunction says.
    dim, components : int
        Number of space dimensions and of components.
    name : str
        What the data are called in messages.
    with_time : bool, optional
        Whether callables take (x, t) or only (x). With None both do, and those of x alone are steady.

    Returns
    -------
    tuple of `components` Data

    Raises
    ------
    ValueError
        For a wrong shape, number of components or dimension, or a number that is not finite.
    TypeError
        For complex or non-numeric values.
    """
    checked_whole("dim", dim, 1, 3)
    checked_whole("components", components, 1, MAX_COMPONENTS)
    names = [name] if components == 1 else [f"{name}[{i}]" for i in range(components)]
    if isinstance(value, Data):
        if value.dim != dim:
            raise ValueError(f"{name}: expected data of dimension {dim}, got dimension {value.dim}")
        if components != 1:
            raise ValueError(f"{name}: expected {components} components, got one Data")
        return (value,)
    if isinstance(value, (tuple, list)):
        if len(value) != components:
            raise ValueError(f"{name}: expected {components} components, got {len(value)}")
        if any(isinstance(v, (tuple, list)) for v in value):
            raise TypeError(f"{name}: expected numbers, Data or callables, got {described(value)}")
        return tuple(as_data(v, dim, 1, n, with_time)[0] for v, n in zip(value, names, strict=True))
    if callable(value):
        if with_time is None:
            with_time = takes(value, "x", "t") or not takes(value, "x")
        function = CheckedFunction(value, dim, components, name, with_time)
        return tuple(CallableData(function, dim, n, with_time, i) for i, n in enumerate(names))
    numbers = real_array(value, name)
    if numbers.ndim > 1 or (numbers.ndim == 1 and numbers.shape != (components,)):
        raise ValueError(f"{name}: expected a number or shape ({components},), got shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name}: expected finite numbers, got {value!r}")
    return tuple(Constant(v, dim) for v in np.broadcast_to(numbers, (components,)).tolist())
