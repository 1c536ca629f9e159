"""A user's own equation, right and with one slip each."""

import numpy as np
import pytest

from stfem.equations import Burgers, Equation, ScalarConservationLaw


class Shallow(Equation):
    """Waves of depth h and discharge q in one dimension."""

    flux_degree = None

    def __init__(self) -> None:
        super().__init__(1, 2)

    def flux(self, u, x, t, direction):
        return np.stack([u[1], u[1] ** 2 / u[0] + 0.5 * u[0] ** 2])

    def jacobian_product(self, u, v, x, t, direction):
        speed = u[1] / u[0]
        return np.stack([v[1], (u[0] - speed**2) * v[0] + 2.0 * speed * v[1]])

    def wave_speed(self, u, x, t, direction):
        return np.abs(u[1] / u[0]) + np.sqrt(u[0])

    def probe_states(self, rng, n):
        return np.stack([rng.uniform(0.5, 2.0, n), rng.uniform(-1.0, 1.0, n)])

    @property
    def stability(self):
        raise TypeError("none")


def variant(**methods):
    return type("Shallow", (Shallow,), methods)()


def test_right_equation_passes() -> None:
    Shallow().check()


@pytest.mark.parametrize(
    ("methods", "error", "message"),
    [
        (
            {
                "jacobian_product": lambda self, u, v, x, t, i: (
                    1.001 * Shallow.jacobian_product(self, u, v, x, t, i)
                )
            },
            ValueError,
            "jacobian_product, direction 0: expected the derivative",
        ),
        (
            {"jacobian_product": lambda self, u, v, x, t, i: v},
            ValueError,
            "jacobian_product",
        ),
        (
            {"flux": lambda self, u, x, t, i: u[0]},
            ValueError,
            r"flux, direction 0: expected shape \(2, 3, 4\)",
        ),
        ({"flux": lambda self, u, x, t, i: u + 1j}, TypeError, "real numbers"),
        ({"flux": lambda self, u, x, t, i: u * np.nan}, ValueError, "finite"),
        ({"wave_speed": lambda self, u, x, t, i: np.abs(u[1] / u[0])}, ValueError, "wave_speed.*eigenvalue"),
        ({"wave_speed": lambda self, u, x, t, i: 9.0}, ValueError, "wave_speed.*shape"),
        ({"flux_degree": 2}, ValueError, "degree 2"),
        ({"linear": True}, ValueError, "f = b u as declared"),
        ({"probe_states": lambda self, rng, n: np.ones((1, n))}, ValueError, "probe_states"),
    ],
)
def test_slips_are_found(methods, error, message) -> None:
    with pytest.raises(error, match=message):
        variant(**methods).check()


def test_wrong_declarations() -> None:
    class Bad(Shallow):
        def __init__(self, *arguments) -> None:
            Equation.__init__(self, *arguments)

    for arguments, message in [
        ((0,), "dim"),
        ((1, 2, 0.0, (1.0,)), "diffused"),
        ((1, 2, 0.0, (1.0, 0.5)), "diffused"),
    ]:
        with pytest.raises(ValueError, match=message):
            Bad(*arguments)


def test_fluxes_that_differ_between_directions_are_not_isotropic() -> None:
    class Turned(Burgers):
        def flux(self, u, x, t, direction):
            return (1.0 + direction) * super().flux(u, x, t, direction)

        def jacobian_product(self, u, v, x, t, direction):
            return (1.0 + direction) * super().jacobian_product(u, v, x, t, direction)

        def wave_speed(self, u, x, t, direction):
            return (1.0 + direction) * super().wave_speed(u, x, t, direction)

    with pytest.raises(ValueError, match="isotropic: expected False"):
        Turned(2).check()
    equation = Turned(2)
    equation.isotropic = False
    equation.check()
    assert Burgers(2).isotropic
    assert not ScalarConservationLaw([(0.0, 1.0), (0.0, 0.0, 1.0)]).isotropic
