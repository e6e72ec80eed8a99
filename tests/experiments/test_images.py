"""The result and the weights of chapter 17: what the page says of them, and that a seed repeats."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import qkv  # noqa: E402
from qkv import twins  # noqa: E402
from qkv.experiments import images, load_result  # noqa: E402
from qkv.experiments.images import MODELS, RANKINGS, REMOVED, Config  # noqa: E402
from qkv.experiments.why_three import one_thread  # noqa: E402

TEST, LABELS = qkv.data.digits().test


@pytest.fixture(scope="module")
def twin():
    return twins.VisionTransformer(qkv.data.image_model())


def column(model, name="accuracy"):
    return load_result("images").column(name, part="accuracy", model=model)


def test_the_result_says_what_the_chapter_says():
    assert [len(column(m)) for m in MODELS] == [
        1 if m == "logistic regression" else 5 for m in MODELS
    ]
    assert column("CNN").min() > column("class token").max()
    assert abs(column("logistic regression")[0] - column("class token").mean()) < 0.01
    assert column("no positions").max() < 0.7
    assert column("attention uniform").mean() < column("class token").mean() - 0.02
    for same in ("mean", "one way", "permuted", "class without position"):
        assert abs(column(same).mean() - column("class token").mean()) < 0.01
    assert column("class token", "moved").max() < 0.2
    np.testing.assert_array_equal(column("no positions", "moved"), column("no positions"))
    sizes = {m: column(m, "learned")[0] for m in MODELS}
    assert abs(sizes["CNN"] - sizes["class token"]) < 50


def test_the_two_deletion_tests_contradict_each_other():
    result = load_result("images")
    at = REMOVED.index(4)
    blank, unseen = (
        {r: result.column(how, part="deletion", ranking=r)[:, at].mean() for r in RANKINGS}
        for how in ("blank", "unseen")
    )
    assert min(blank, key=blank.get) == "ink" == max(unseen, key=unseen.get)
    assert min(unseen, key=unseen.get) == "rollout" == max(blank, key=blank.get)


def test_the_shipped_weights_are_the_first_seeds(twin):
    result = load_result("images")
    kept = column("class token")[images.SHIPPED_SEED]
    scores, _ = qkv.vision_transformer(TEST, qkv.data.image_model())
    assert (scores.argmax(-1) == LABELS).mean() == pytest.approx(kept, abs=0.005)
    (row,) = result.select(part="deletion", ranking="rollout", seed=images.SHIPPED_SEED)
    blank, unseen = images.deletion(twin, TEST, LABELS, "rollout", 0)
    np.testing.assert_allclose(blank, row["blank"], atol=0.02)
    np.testing.assert_allclose(unseen, row["unseen"], atol=0.02)


def test_a_short_training_learns():
    """Guards the weights: the first epochs of their own training."""
    with one_thread():
        model = images.train(Config(seed=images.SHIPPED_SEED, epochs=3))
        assert 0.5 < images.accuracy(model, TEST.astype(np.float32), LABELS) < 0.95


@pytest.mark.slow
def test_a_seed_gives_the_committed_row_again():
    (row,) = images.run(Config(model="logistic regression"))
    (kept,) = load_result("images").select(part="accuracy", model="logistic regression")
    for name in ("accuracy", "trained", "moved"):
        assert row[name] == pytest.approx(kept[name], abs=0.005)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_taken_away_stays_away(model):
    with one_thread():
        trained = images.train(Config(model=model, epochs=1, n_train=200))
        assert images.n_learned(trained) == column(model, "learned")[0]
    if model == "no positions":
        assert not trained.twin.P.any()
    if model == "class without position":
        assert not trained.twin.P[0].any()
        assert trained.twin.P[1:].all()
    if model == "attention uniform":
        _, weights = trained.twin(torch.tensor(TEST[:2].astype(np.float32)))
        for w in weights:
            torch.testing.assert_close(w, torch.full_like(w, 1 / 17))
    if model == "one way":
        pixels = torch.tensor(TEST[:2].astype(np.float32))
        _, weights = trained.twin(pixels, images.one_way())
        assert all((w[..., 1:, 0] == 0).all() for w in weights)
        assert all((w[..., 0, 1:] > 0).all() for w in weights)


def test_permuted_pictures_hold_the_same_patches():
    order = images.the_order()
    assert sorted(order) == list(range(16))
    moved = images.permute_patches(TEST[:3], order)
    np.testing.assert_array_equal(qkv.cut_patches(moved, 2), qkv.cut_patches(TEST[:3], 2)[:, order])


def test_rankings(twin):
    few = TEST[:6]
    for ranking in RANKINGS:
        order = images.rank_patches(twin, few, ranking, seed=1)
        assert [sorted(row) for row in order] == [list(range(16))] * 6
    ink = qkv.cut_patches(few, 2).sum(-1)
    first = images.rank_patches(twin, few, "ink")[:, 0]
    np.testing.assert_array_equal(ink[range(6), first], ink.max(-1))
    _, weights = qkv.vision_transformer(few, qkv.data.image_model())
    rolled = images.patch_values(twin, few, "rollout")
    np.testing.assert_allclose(rolled, qkv.attention_rollout(weights)[:, 0, 1:], atol=1e-12)


def test_the_gradient_is_the_slope_of_the_score(twin):
    few = TEST[:2]
    value = images.patch_values(twin, few, "gradient")
    scores, _ = qkv.vision_transformer(few, qkv.data.image_model())
    c, slope = scores[0].argmax(), np.zeros((8, 8))
    for at in np.ndindex(8, 8):
        ends = []
        for step in (1e-5, -1e-5):
            moved = few[0].copy()
            moved[at] += step
            ends.append(qkv.vision_transformer(moved, qkv.data.image_model())[0][c])
        slope[at] = (ends[0] - ends[1]) / 2e-5
    wanted = np.abs(qkv.cut_patches(few[0] * slope, 2)).sum(-1)
    np.testing.assert_allclose(value[0], wanted, atol=1e-6)


def test_removed_patches_are_blank_or_out_of_sight(twin):
    order = images.rank_patches(twin, TEST[:4], "ink")
    blank = qkv.cut_patches(images.without_patches(TEST[:4], order, 5), 2)
    for i in range(4):
        assert not blank[i, order[i, :5]].any()
        kept = order[i, 5:]
        np.testing.assert_array_equal(blank[i, kept], qkv.cut_patches(TEST[i], 2)[kept])
    all_hidden = images.accuracy_unseen(
        twin, TEST[:50], LABELS[:50], np.tile(range(16), (50, 1)), 16
    )
    said = images.accuracy_unseen(twin, 0 * TEST[:50], LABELS[:50], np.tile(range(16), (50, 1)), 16)
    assert all_hidden == said  # with no patch in sight the picture does not matter


def test_the_command_writes_what_is_shipped(tmp_path, monkeypatch, capsys):
    import qkv.experiments.__main__ as command

    written = [tmp_path / "a.safetensors"]
    written[0].write_bytes(b"1234")
    monkeypatch.setattr(images, "write_weights", lambda: written)
    assert command.main(["weights", "images"]) == 0
    assert "a.safetensors: 4 bytes" in capsys.readouterr().out
