import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.data import paper_table
from qkv.widgets import ParameterMap
from qkv.widgets.parameter_map import GROUPS, TIMES, layout

SIZES = qkv.LayerSizes(d_model=10, d_ff=24, n_heads=3, d_k=4, d_v=5)


def widget(**more):
    given = {"sizes": [10, 24, 3, 4, 5], "layers": [2, 3], "rows": 13, **more}
    return ParameterMap(**given)


def test_the_parts_sum_to_what_core_counts():
    layers = 2 * qkv.encoder_layer_parameter_count(SIZES)
    layers += 3 * qkv.decoder_layer_parameter_count(SIZES)
    biases = (2 + 2 * 3) * qkv.multi_head_bias_count(SIZES)
    for tables in (1, 2, 3):
        total = widget(tables=tables).numbers()["total"]
        assert total == layers + tables * 13 * 10
        assert widget(tables=tables, biases=True).numbers()["total"] == total + biases


def test_the_parts_are_the_arrays_of_a_real_model():
    rng = np.random.default_rng(15)
    E = rng.normal(size=(13, 10))
    encoder = [qkv.initial_encoder_layer(rng, SIZES) for _ in range(2)]
    decoder = [qkv.initial_decoder_layer(rng, SIZES) for _ in range(3)]
    model = qkv.TransformerParameters(E, E, encoder, decoder)
    assert qkv.count_parameters(model) == widget().numbers()["total"]
    sites = {
        "encoder self-attention": [layer.attention for layer in encoder],
        "decoder self-attention": [layer.self_attention for layer in decoder],
        "decoder cross-attention": [layer.cross_attention for layer in decoder],
        "encoder feed-forward": [layer.feed_forward for layer in encoder],
        "decoder feed-forward": [layer.feed_forward for layer in decoder],
    }
    for part in widget().parts():
        if part.name.startswith("W_"):
            arrays = [getattr(site, part.name) for site in sites[f"{part.side} {part.group}"]]
            assert part.count == sum(array.size for array in arrays)
            assert part.layers == len(arrays)
            rows_and_columns = f"{arrays[0].shape[-2]} {TIMES} {arrays[0].shape[-1]}"
            assert part.shape.endswith(rows_and_columns)


@pytest.mark.parametrize("row", paper_table(), ids=lambda row: row.name)
def test_every_row_of_the_papers_table(row):
    s = row.sizes
    sizes = [s.d_model, s.d_ff, s.n_heads, s.d_k, s.d_v]
    here = ParameterMap(sizes=sizes, layers=[row.n_layers] * 2, rows=37_000)
    made = here.numbers()
    assert made["total"] == qkv.transformer_parameter_count(s, row.n_layers, 37_000)
    assert made["printed"] == row.printed
    if row.printed:
        low, high = made["fits"]
        for rows, prints in ((low - 1, False), (low, True), (high, True), (high + 1, False)):
            total = qkv.transformer_parameter_count(s, row.n_layers, rows)
            rounded = (total + 500_000) // 1_000_000
            assert (rounded == row.printed) is prints


def test_the_first_state_asks_the_question():
    made = ParameterMap().numbers()
    assert made["total"] == 63_045_632
    assert made["printed"] == 65
    assert made["fits"] == [39_841, 41_793]
    assert "63.0 million" in ParameterMap().poster()
    assert "39,841 to 41,793 rows" in ParameterMap().poster()


def test_groups_and_fields_have_the_share_of_their_counts():
    here = widget(tables=2, biases=True)
    made, parts = here.numbers(), here.parts()
    assert sum(made["groups"]) == made["total"]
    assert made["groups"][GROUPS.index("table")] == 2 * 130
    for part, (x, y, wide, tall) in zip(parts, layout(parts, 7.0, 3.0), strict=True):
        np.testing.assert_allclose(wide * tall / 21, part.count / made["total"], rtol=1e-12)
        assert -1e-12 <= x <= x + wide <= 7 + 1e-12
        assert -1e-12 <= y <= y + tall <= 3 + 1e-12


def test_an_encoder_alone_and_nothing_but_a_table():
    made = ParameterMap(sizes=[768, 3072, 12, 64, 64], layers=[12, 0], rows=30_522).numbers()
    s = qkv.LayerSizes(768, 3072, 12, 64, 64)
    assert made["total"] == 12 * qkv.encoder_layer_parameter_count(s) + 30_522 * 768
    assert made["groups"][GROUPS.index("cross-attention")] == 0
    assert ParameterMap(layers=[0, 0], rows=5).numbers()["total"] == 5 * 512
    assert ParameterMap(layers=[0, 0], rows=5).poster().count("<rect") == 1


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(ParameterMap().state()) == ["at", "biases", "layers", "rows", "sizes", "tables"]


def test_the_posters_numbers_are_the_parts():
    here = widget()
    total = here.numbers()["total"]
    cells = [int(x) for x in re.findall(r"<td>(\d+)</td>", here.poster())]
    want = [[p.each, p.layers, p.count, 100 * p.count / total] for p in here.parts()]
    np.testing.assert_allclose(np.reshape(cells, (-1, 4)), want, rtol=0, atol=0.5 + 1e-9)


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"sizes": [512, 2048, 8, 64]}, "shape (5)"),
        ({"sizes": [512, 2048, 0, 64, 64]}, "sizes must be integers from 1"),
        ({"sizes": [512.5, 2048, 8, 64, 64]}, "sizes must be integers from 1"),
        ({"sizes": [20_000, 2048, 8, 64, 64]}, "sizes must be integers from 1"),
        ({"layers": [-1, 6]}, "layers must be integers from 0"),
        ({"layers": [6, 129]}, "layers must be integers from 0"),
        ({"rows": 0}, "rows"),
        ({"tables": 4}, "tables"),
        ({"biases": "yes"}, "biases"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        ParameterMap(**traits)
