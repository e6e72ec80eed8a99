"""core against torch's `F.scaled_dot_product_attention`."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from tests.parity import torch_layers
from tests.parity.draws import ALWAYS, TOLERANCE, Numbers, dtypes, name_of, seeds
from tests.parity.record import close


@settings(ALWAYS, max_examples=300)
@given(
    seed=seeds,
    dtype=dtypes,
    batch=st.sampled_from([(), (2,), (3,)]),
    heads=st.sampled_from([(1, 1), (4, 1), (6, 2), (6, 3), (5, 5)]),
    n_q=st.sampled_from([1, 3, 7]),
    n_k=st.sampled_from([1, 5, 11]),
    widths=st.sampled_from([(8, 8), (8, 5), (1, 4), (13, 2)]),
    mask=st.sampled_from([None, "bool", "float", "causal"]),
    shared=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    scale=st.sampled_from([None, None, 0.3, 1.0]),
)
def test_values(seed, dtype, batch, heads, n_q, n_k, widths, mask, shared, scale):
    """Masks may share the batch's, the heads' or the queries' axis, and may leave rows empty."""
    numbers = Numbers(seed, dtype)
    (n_heads, n_kv_heads), (d_k, d_v) = heads, widths
    q = numbers.normal(*batch, n_heads, n_q, d_k)
    k, v = (numbers.normal(*batch, n_kv_heads, n_k, d) for d in (d_k, d_v))
    shape = [1 if one else n for one, n in zip(shared, (*batch, n_heads, n_q)[-3:], strict=False)]
    attn_mask = None
    if mask in ("bool", "float"):
        attn_mask = numbers.allowed(*shape, n_k, everywhere=False)
        attn_mask = attn_mask if mask == "bool" else numbers.added(attn_mask)
    settings_of_both = {"is_causal": mask == "causal", "scale": scale}
    expected = functional.scaled_dot_product_attention(
        q, k, v, attn_mask=attn_mask, enable_gqa=n_heads != n_kv_heads, **settings_of_both
    )
    arrays = [x if x is None else x.numpy() for x in (q, k, v, attn_mask)]
    actual = torch_layers.scaled_dot_product_attention(*arrays, **settings_of_both)
    assert actual.dtype == expected.numpy().dtype
    what = f"core against F.scaled_dot_product_attention, {name_of(dtype)}"
    close(what, actual, expected.numpy(), TOLERANCE[dtype])
    assert torch.isfinite(expected).all()
