"""Systems of conservation laws with a strictly convex entropy."""

from __future__ import annotations

import numpy as np

from stfem.data.base import Array
from stfem.equations.base import Equation
from stfem.equations.entropy import Entropy
from stfem.equations.probe_entropy import check_entropy
from stfem.equations.stability import Growth, GrowthForm, Stability

__all__ = ["EntropySystem"]


class EntropySystem(Equation):
    """∂_t u + Σ_i ∂_i f_i(u) − ∇·(D∇u) = g with an entropy; y = 2∫η(u|û) (T4).

    A system of one's own derives from this class, gives flux, Jacobian and wave speed like every `Equation`,
    and calls `carry` with its `Entropy` at the end of its constructor.
    """

    def carry(self, entropy: Entropy) -> None:
        """Take the entropy whose constants turn residuals into bounds.

        Raises
        ------
        ValueError
            For an entropy of another number of components, or beside a reaction, which T4.8 does not know.
        """
        if not self.reaction.is_zero:
            raise ValueError(f"reaction: expected none beside an entropy, got {self.reaction!r}")
        if entropy.states.lower.shape != (self.components,):
            raise ValueError(
                f"entropy: expected {self.components} components, got {entropy.states.lower.shape[0]}"
            )
        self._entropy = entropy

    @property
    def entropy(self) -> Entropy:
        return self._entropy

    @property
    def stability(self) -> Stability:
        """Factors of the entropy; its rate 2μ comes from `Entropy.rate`."""
        nothing = GrowthForm(np.zeros((self.components, self.dim)), (), np.zeros(self.components))
        entropy = self._entropy
        return Stability(
            lambda lower, upper: Growth((nothing,)),
            error_factor=entropy.error_factor,
            assumptions=(entropy.states.sentence,) if entropy.states.limits else (),
        )

    def probe_states(self, rng: np.random.Generator, count: int) -> Array:
        return self._entropy.states.sample(rng, count)

    def check(self) -> None:
        super().check()
        check_entropy(self, self._entropy)
