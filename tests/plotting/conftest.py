import pytest

import stfem
from stfem.problems import linear_advection_diffusion


@pytest.fixture(scope="session")
def results():
    """Certificates of a wave, by dimension."""
    return {d: stfem.certify(linear_advection_diffusion(d, 1e-3, 0.05), cells=3, degree=1) for d in (1, 2, 3)}
