"""The paper's table 3 is quoted as printed, and its counts imply what chapter 15 says."""

import pytest

import qkv
from qkv.data import paper_bleu, paper_table

PRINTED = [row for row in paper_table() if row.printed]


def layers_of(row):
    one = qkv.encoder_layer_parameter_count(row.sizes)
    other = qkv.decoder_layer_parameter_count(row.sizes)
    return row.n_layers * (one + other)


def rows_that_fit(row, extra=0, lowest=-500_000):
    """Try every number of rows: the slow, certain version."""
    least = row.printed * 1_000_000 + lowest
    totals = ((rows, layers_of(row) + extra + rows * row.sizes.d_model) for rows in range(60_000))
    fits = [rows for rows, total in totals if least <= total < least + 1_000_000]
    return fits[0], fits[-1]


def test_base_and_big_are_counted_to_the_last_number():
    base, big = paper_table()[0], paper_table()[-1]
    assert qkv.encoder_layer_parameter_count(base.sizes) == 3_150_336
    assert qkv.decoder_layer_parameter_count(base.sizes) == 4_199_936
    assert layers_of(base) + 37_000 * 512 == 63_045_632
    assert qkv.encoder_layer_parameter_count(big.sizes) == 12_592_128
    assert qkv.decoder_layer_parameter_count(big.sizes) == 16_788_480
    assert layers_of(big) + 37_000 * 1024 == 214_171_648
    assert (base.printed, big.printed) == (65, 213)


def test_ten_rows_share_a_table_and_big_does_not():
    windows = [rows_that_fit(row) for row in PRINTED]
    assert len(windows) == 11
    assert max(low for low, _ in windows[:-1]) == 41_004
    assert min(high for _, high in windows[:-1]) == 41_208
    assert windows[0] == (39_841, 41_793)
    assert windows[-1] == (35_368, 36_344)
    assert not any(low <= 37_000 <= high for low, high in windows)


@pytest.mark.parametrize("lowest", [-500_000, 0], ids=["rounded", "cut off"])
@pytest.mark.parametrize("way", ["as core counts", "attention biases", "matrices only"])
def test_the_finding_does_not_hang_on_how_one_counts(way, lowest):
    def extra(row):
        s = row.sizes
        small = row.n_layers * (2 * (s.d_ff + s.d_model) + 5 * 2 * s.d_model)
        biases = 3 * row.n_layers * qkv.multi_head_bias_count(s)
        return {"as core counts": 0, "attention biases": biases, "matrices only": -small}[way]

    windows = [rows_that_fit(row, extra(row), lowest) for row in PRINTED]
    low = max(window[0] for window in windows[:-1])
    high = min(window[1] for window in windows[:-1])
    assert low <= high
    assert windows[-1][1] < low


def test_rows_b_follow_from_d_k_and_rows_a_keep_the_count():
    base, *others = paper_table()
    for row in others:
        change = layers_of(row) - layers_of(base)
        if row.group == "B":
            assert change == -18 * 8 * 2 * 512 * (64 - row.sizes.d_k)
            assert round(65 + change / 1e6) == row.printed
        if row.group == "A":
            assert change == 0
            assert row.printed is None


def test_the_table_is_in_the_papers_order():
    groups = [row.group for row in paper_table()]
    assert groups == ["base"] + 4 * ["A"] + 2 * ["B"] + 7 * ["C"] + ["big"]
    assert [row.printed for row in PRINTED] == [65, 58, 60, 36, 50, 80, 28, 168, 53, 90, 213]
    bleu = [25.8, 24.9, 25.5, 25.8, 25.4, 25.1, 25.4, 23.7, 25.3, 25.5, 24.5, 26.0, 25.4, 26.2]
    assert [row.bleu for row in paper_table()] == [*bleu, 26.4]


def test_the_french_number_is_quoted_from_each_place():
    quoted = {place.where: place.big_to_french for place in paper_bleu()}
    assert quoted == {
        "proceedings (2017), table 2": 41.0,
        "proceedings (2017), section 6.1": 41.0,
        "arXiv version 7 (2023), table 2": 41.8,
        "arXiv version 7 (2023), section 6.1": 41.0,
    }
    assert all(place.big_to_german == 28.4 for place in paper_bleu())
