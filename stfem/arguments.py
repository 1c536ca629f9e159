"""Arguments of the verbs, checked before any work is done."""

from __future__ import annotations

import numpy as np

from stfem.semidiscretization import EquationProjection

__all__ = ["check_methods", "check_objects", "named"]


def check_objects(stepper: object, flux: object, penalty: object, initial_correction: object) -> None:
    """Raise TypeError for what is not the object that an extension point takes."""
    if stepper is not None:
        check_methods("stepper", stepper, "a stepper such as ExplicitRungeKutta(RK4)", "step", "order")
    if isinstance(flux, type) or not callable(flux):
        raise TypeError(f"flux: expected a function such as stfem.fluxes.flux_upwind, got {named(flux)}")
    if penalty is not None:
        check_methods("penalty", penalty, "a penalty such as InteriorPenalty(10.0)", "coefficient")
    if not isinstance(initial_correction, (bool, EquationProjection)):
        rule = "True, False or a reconstruction such as Siac()"
        check_methods("initial_correction", initial_correction, rule, "bind")


def check_methods(name: str, given: object, expected: str, *attributes: str) -> None:
    """Raise TypeError for a class, and for an object without one of the attributes."""
    if isinstance(given, type) or not all(hasattr(given, attribute) for attribute in attributes):
        raise TypeError(f"{name}: expected {expected}, got {named(given)}")


def named(given: object) -> str:
    """What was passed, for messages: numbers and words themselves, classes and objects by name."""
    if given is None or isinstance(given, (str, bool, int, float, np.generic)):
        return repr(given)
    return f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"
