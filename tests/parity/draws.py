"""What hypothesis draws: sizes that differ, seeds, precisions and masks."""

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st

# The order of the examples is fixed, so a run is the same everywhere.
ALWAYS = settings(derandomize=True, deadline=None, database=None, print_blob=False)
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
TOLERANCE_OF_STACKS = {torch.float32: 5e-6, torch.float64: 1e-12}

dtypes = st.sampled_from([torch.float32, torch.float64])
seeds = st.integers(0, 2**32 - 1)
# (n_heads, d): their product is the width E that torch wants.
heads = st.sampled_from([(1, 7), (2, 5), (2, 3), (3, 4), (4, 2), (3, 2)])


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


class Numbers:
    """Normal numbers and masks from one seed."""

    def __init__(self, seed, dtype):
        self.rng = np.random.default_rng(seed)
        torch.manual_seed(seed)  # modules made after this start the same in every run
        self.dtype = dtype

    def normal(self, *shape):
        return torch.from_numpy(self.rng.normal(size=shape)).to(self.dtype)

    def allowed(self, *shape, everywhere=True):
        """Return a bool tensor, True = may look; `everywhere` leaves the first key to all."""
        allowed = self.rng.random(shape) < 0.6
        if everywhere:
            allowed[..., 0] = True
        return torch.from_numpy(allowed)

    def added(self, allowed):
        """Return finite numbers to be added to the scores, -inf where it is not allowed."""
        return self.normal(*allowed.shape).masked_fill(~allowed, -torch.inf)

    def disturb(self, module):
        """Move biases away from 0 and gains away from 1, where torch starts them."""
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**31)))
        with torch.no_grad():
            for x in module.parameters():
                if x.ndim == 1:
                    x += 0.1 * torch.randn(x.shape, generator=generator, dtype=x.dtype)
        return module
