"""The appendix "A contract with torch": its cells, section by section, and what they only print.

No version is skipped here. Where another torch differs, the test that fails names the section.
"""

import re
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

import qkv

PAGE = Path(__file__).parents[2] / "book" / "torch-contract.md"
sdpa = functional.scaled_dot_product_attention


def sections():
    """Return (heading, [code of its cells]) in the order of the page."""
    parts = re.split(r"^#{1,3} (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", body, re.DOTALL)
        cells = [re.sub(r"\A---\n.*?\n---\n", "", c, flags=re.DOTALL) for c in cells]
        cells = [c for c in cells if "myst_nb" not in c]
        if cells:
            yield heading, cells


SECTIONS = list(sections())


@pytest.fixture(scope="module")
def outcomes():
    """Run the page from top to bottom; keep the error of each section."""
    mpl.use("agg")
    found, space = {}, {}
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.filterwarnings("ignore", message=".*nested tensor")
        for heading, cells in SECTIONS:
            try:
                for cell in cells:
                    exec(cell, space)
            except Exception as error:
                found[heading] = error
    return found


@pytest.mark.parametrize("heading", [heading for heading, _ in SECTIONS])
def test_the_page_holds(outcomes, heading, capsys):
    if heading in outcomes:
        raise outcomes[heading]


def test_the_page_is_read():
    assert len(SECTIONS) > 25


@pytest.fixture
def numbers():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def normal(numbers):
    return lambda *shape: torch.randn(*shape, generator=numbers, dtype=torch.float64)


@pytest.fixture
def X(normal):  # noqa: N802
    return normal(2, 5, 12)


def layer(**more):
    torch.manual_seed(0)
    return nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64, **more)


def test_a_padding_mask_of_two_axes_is_read_as_queries_by_keys(normal):
    q = normal(2, 3, 5, 4)
    words = torch.arange(5) < torch.tensor([[5], [2]])
    with pytest.raises(RuntimeError, match="must match"):
        sdpa(q, q, q, attn_mask=words)
    square = normal(5, 3, 5, 4)
    words = torch.arange(5) < torch.arange(1, 6)[:, None]
    four_axes = sdpa(square, square, square, attn_mask=words[None, None])
    assert_close(sdpa(square, square, square, attn_mask=words), four_axes)


@pytest.mark.parametrize("width", [8, 2])
def test_a_mask_beside_is_causal_is_joined_or_refused(normal, width):
    q, v = normal(1, 1, 5, 8), normal(1, 1, 5, width)
    kept = torch.ones(5, 5, dtype=torch.bool)
    kept[:, -1] = False
    if width == 8:
        joined = sdpa(q, q, v, attn_mask=kept, is_causal=True)
        assert_close(joined, sdpa(q, q, v, attn_mask=kept.tril()))
    else:
        with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set"):
            sdpa(q, q, v, attn_mask=kept, is_causal=True)


@pytest.mark.parametrize(("need_weights", "kept"), [(True, "mask"), (False, "triangle")])
def test_is_causal_overrides_the_mask_without_weights(X, need_weights, kept):
    last = torch.zeros(5, 5, dtype=torch.bool)
    last[:, -1] = True
    rules = {"mask": last, "triangle": torch.ones(5, 5, dtype=torch.bool).triu(1)}
    both, _ = layer()(X, X, X, attn_mask=last, is_causal=True, need_weights=need_weights)
    one, _ = layer()(X, X, X, attn_mask=rules[kept], need_weights=need_weights)
    assert_close(both, one)


@pytest.mark.parametrize(("n_heads", "nan"), [(3, False), (4, True)])
def test_the_layers_own_fast_path_needs_an_even_number_of_heads(X, n_heads, nan):
    part = nn.MultiheadAttention(12, n_heads, batch_first=True, dtype=torch.float64).eval()
    none = torch.zeros(5, 5, dtype=torch.bool)
    none[1] = True
    with torch.no_grad():
        output, _ = part(X, X, X, attn_mask=none, need_weights=False)
    assert output[0, 1].isnan().all().item() is nan
    assert output[:, [0, 2, 3, 4]].isfinite().all()


def test_replacing_nan_in_the_output_does_not_mend_the_gradient(X):
    part = layer()
    none = torch.zeros(5, 5, dtype=torch.bool)
    none[1] = True
    loss = part(X, X, X, attn_mask=none)[0].nan_to_num(0.0).sum()
    assert loss.isfinite()
    loss.backward()
    assert part.in_proj_weight.grad.isnan().all()


def test_the_functions_dropout_has_no_off_switch(normal):
    q, k, v = normal(3, 7), normal(5, 7), normal(5, 2)

    class Module(nn.Module):
        def forward(self):
            return sdpa(q, k, v, dropout_p=0.4)

    part = Module().eval()
    assert not torch.equal(part(), part())


def test_hooks_catch_no_maps_in_an_encoder(X):
    block = nn.TransformerEncoderLayer(12, 4, 20, 0.0, batch_first=True, dtype=torch.float64)
    caught = []
    block.self_attn.register_forward_hook(lambda module, args, out: caught.append(out[1]))
    block(X)
    assert caught == [None]


@pytest.mark.parametrize(
    ("shape", "axis"), [((5,), 0), ((3, 5), 1), ((2, 3, 5), 0), ((2, 3, 5, 4), 1)]
)
def test_softmax_without_dim_chooses_by_the_number_of_axes(normal, shape, axis):
    scores = normal(*shape)
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        assert_close(functional.softmax(scores), scores.softmax(dim=axis))


def test_grouped_heads_are_neighbours(normal):
    q, k, v = normal(1, 6, 3, 7), normal(1, 2, 5, 7), normal(1, 2, 5, 4)
    with pytest.raises(RuntimeError, match="must match"):
        sdpa(q, k, v)
    ours, _ = qkv.grouped_attention(q.numpy(), k.numpy(), v.numpy())
    assert_close(sdpa(q, k, v, enable_gqa=True), torch.tensor(ours))
    one_k, one_v = k[:, :1], v[:, :1]
    assert_close(sdpa(q, one_k, one_v), sdpa(q, one_k, one_v, enable_gqa=True))


def test_scale_multiplies_the_dot_products(normal):
    q, k, v = normal(3, 7), normal(5, 7), normal(5, 2)
    assert_close(sdpa(q, k, v, scale=7**-0.5), sdpa(q, k, v))
    assert_close(sdpa(q, k, v, scale=0.3), sdpa(q * 0.3 * 7**0.5, k, v))


def test_kdim_changes_the_start_by_xaviers_rule():
    torch.manual_seed(0)
    packed = nn.MultiheadAttention(96, 3).in_proj_weight
    own = nn.MultiheadAttention(96, 3, kdim=24, vdim=24).k_proj_weight
    assert own.shape == (96, 24)
    assert (own.abs().max() / packed.abs().max()).item() == pytest.approx(
        qkv.checks.get("torch_contract.xavier").answer, rel=0.01
    )


@pytest.mark.parametrize("extra", ["add_bias_kv", "add_zero_attn"])
def test_one_key_more_that_no_mask_hides(X, extra):
    every = torch.ones(5, 5, dtype=torch.bool)
    output, weights = layer(**{extra: True})(X, X, X, attn_mask=every)
    assert weights.shape == (2, 5, 6)
    assert (weights[..., -1] == 1).all()
    assert output.isfinite().all()


def test_the_transformer_has_no_table_no_softmax_and_no_mask(normal):
    torch.manual_seed(0)
    model = nn.Transformer(12, 4, 1, 1, 20, 0.0, batch_first=True, dtype=torch.float64)
    assert not {type(part) for part in model.modules()} & {nn.Embedding, nn.Softmax}
    source, target = normal(1, 5, 12), normal(1, 7, 12)
    edited = target.clone()
    edited[0, -1] += 1.0
    moved = (model(source, edited) - model(source, target)).abs().amax(-1)[0]
    assert (moved > 1e-9).all()


def test_the_decoder_looks_at_pads_without_its_own_mask(normal):
    torch.manual_seed(0)
    model = nn.Transformer(12, 4, 1, 1, 20, 0.0, batch_first=True, dtype=torch.float64)
    source, target = normal(1, 5, 12), normal(1, 7, 12)
    pads = torch.arange(5)[None] >= 3
    alone = model(source[:, :3], target)
    forgotten = model(source, target, src_key_padding_mask=pads)
    given = model(source, target, src_key_padding_mask=pads, memory_key_padding_mask=pads)
    assert_close(given, alone)
    assert (forgotten - alone).abs().max() > 0.01


def test_layers_of_an_encoder_start_as_copies_and_post_norm():
    block = nn.TransformerEncoderLayer(12, 4, 20, batch_first=True)
    stack = nn.TransformerEncoder(block, 2)
    assert block.norm_first is False
    assert stack.norm is None
    assert torch.equal(stack.layers[0].linear1.weight, stack.layers[1].linear1.weight)
    model = nn.Transformer(12, 4, 2, 2, 20, batch_first=True)
    first, second = model.encoder.layers
    assert not torch.equal(first.linear1.weight, second.linear1.weight)


def test_defaults_that_the_page_names():
    assert nn.MultiheadAttention(12, 3).batch_first is False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nn.Transformer(12, 3, 1, 1, 20)
    assert model.batch_first is False
    square = nn.Transformer.generate_square_subsequent_mask(3)
    assert square.dtype == torch.float32
    assert np.array_equal(square.isneginf().numpy(), ~qkv.causal_mask(3))


@pytest.mark.parametrize(
    ("dtype", "limit"), [(torch.float32, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)]
)
def test_half_the_bits_half_the_digits(numbers, dtype, limit):
    rounded = [torch.randn(64, d, generator=numbers).to(dtype) for d in (32, 32, 16)]
    exact = sdpa(*(x.double() for x in rounded))
    assert 0 < (sdpa(*rounded).double() - exact).abs().max() < limit
