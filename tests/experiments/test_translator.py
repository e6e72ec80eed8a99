"""The translator: what training sees, what is scored how, and that a seed gives the same again."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import qkv  # noqa: E402
from qkv import twins  # noqa: E402
from qkv.experiments import load_result, translator  # noqa: E402
from qkv.experiments.translator import PARTS, RATES, Config  # noqa: E402


@pytest.fixture(scope="module")
def model():
    return twins.Transformer(qkv.data.translator()).float()


@pytest.fixture(scope="module")
def test_set():
    return translator.draw_test(200)


def test_training_never_sees_the_test():
    numbers, days = translator.held_out()
    assert min(numbers) >= 100
    assert len(numbers) == 9999
    assert len(days) == translator.N_DAYS // 10
    seen = {x.source for x in translator.draw_training(np.random.default_rng(0), 4000)}
    assert seen.isdisjoint(x.source for x in translator.draw_test())
    assert all("hundred" not in x.source[: x.source.index("thousand")] for x in
               translator.draw_test(400) if "thousand" in x.source)  # fmt: skip


def test_what_is_larger_is_larger():
    for x in translator.draw_larger(50):
        assert "hundred" in x.source[: x.source.index("thousand")]


def test_the_shipped_weights_are_the_third_seeds(model):
    kept = load_result("translator").select(**{"parts": "all", "rate": 6e-3, "warm_up": 50})
    (row,) = [r for r in kept if r["seed"] == translator.SHIPPED_SEED and "exact" in r]
    test = translator.draw_test()
    right = translator.exact(model, test)  # rounded to float16, so a sentence may differ
    assert right.mean() == pytest.approx(row["exact"], abs=0.002)
    weights = translator.cross_weights(model, test[:400])
    best = max(a["accuracy"] for a in translator.alignments(weights, test[:400]))
    (kept_best,) = [max(r["accuracy"] for r in kept if r["seed"] == 2 and "layer" in r)]
    assert best == pytest.approx(kept_best, abs=0.03)


def test_a_short_training_gives_the_losses_of_the_long_one():
    """Guards the weights: the first steps of their own training."""
    torch.set_num_threads(1)
    short = Config(seed=translator.SHIPPED_SEED, steps=300)
    losses = []

    class EnoughError(Exception):
        pass

    def stop(step, loss):
        losses.append(loss)
        if step == 40:
            raise EnoughError

    with pytest.raises(EnoughError):
        translator.train(short, stop)
    assert losses[0] == pytest.approx(np.log(258), abs=1.5)
    assert losses[39] < 0.7 * losses[0]
    assert losses[39] == pytest.approx(losses[38], rel=0.25)


@pytest.mark.slow
def test_a_seed_gives_the_committed_row_again():
    rows = translator.run(Config(seed=1, rate=2e-2))
    (kept,) = load_result("translator").select(parts="all", rate=2e-2, warm_up=50, seed=1)
    assert rows[0]["exact"] <= 0.02
    assert rows[0]["loss"] == pytest.approx(kept["loss"], rel=0.3)


def test_the_result_says_what_the_chapter_says():
    result = load_result("translator")

    def exact(parts="all", rate=6e-3, warm_up=50):
        rows = result.select(parts=parts, rate=rate, warm_up=warm_up)
        return np.array([r["exact"] for r in rows if "exact" in r])

    for parts in PARTS[:-1]:
        assert len(exact(parts)) == 3
        assert exact(parts).min() >= 0.99
    assert exact("uniform").max() < 0.3
    assert [exact(rate=r, warm_up=w).mean() < 0.99 for r, w in RATES] == [True] * 3
    assert exact(rate=2e-2).max() < 0.02
    heads = [r for r in result.rows if "layer" in r]
    assert len(heads) == 24
    for seed in range(3):
        best = max((r for r in heads if r["seed"] == seed), key=lambda r: r["accuracy"])
        assert best["layer"] == 1
        assert best["accuracy"] > 0.8 > 0.3 > best["accuracy_reads"]


def test_a_batch_is_its_sentences_one_by_one(model, test_set):
    few = test_set[:5]
    said = translator.translate(model, [x.source for x in few])
    assert said == [translator.translate(model, [x.source])[0] for x in few]
    words = qkv.data.translation_vocabulary()
    for x, y in zip(few, said, strict=True):
        ids = [words.index(word) for word in x.source]
        written = qkv.greedy_decode(ids, qkv.data.translator(), (1, 2))
        assert tuple(words[i] for i in written[1:-1]) == y


def test_links_are_scored_at_the_row_that_is_asked_for(test_set):
    few = test_set[:20]
    weights = []
    for x in few:
        w = np.zeros((2, 1 + len(x.target), len(x.source)))
        for t in range(len(x.target)):
            partners = sorted(s for u, s in x.sure if u == t)
            w[0, t, partners[0] if partners else 0] = 1  # head 0: the row that predicts
            w[1, t + 1, partners[0] if partners else 0] = 1  # head 1: the row that reads
        weights.append(w)
    predicts, reads = (translator.alignments(weights, few, row) for row in ("predicts", "reads"))
    assert predicts[0]["accuracy"] == 1
    assert reads[1]["accuracy"] == 1
    assert max(predicts[1]["accuracy"], reads[0]["accuracy"]) < 0.6


def test_baselines(test_set):
    known = translator.baselines(test_set)
    assert known["best"] == {"accuracy": 1.0, "aer": pytest.approx(0, abs=0.02)}
    rng = np.random.default_rng(0)
    random = [
        {(t, int(rng.integers(len(x.source)))) for t in range(len(x.target))}
        for x in test_set
        for _ in range(20)
    ]
    many = [x for x in test_set for _ in range(20)]
    accuracy = translator.alignment_accuracy(random, many)
    assert accuracy == pytest.approx(known["uniform"]["accuracy"], abs=0.01)
    rate = qkv.data.alignment_error_rate(random, many)
    assert rate == pytest.approx(known["uniform"]["aer"], abs=0.01)


@pytest.mark.parametrize("parts", PARTS)
def test_what_is_tied_stays_tied(parts):
    torch.set_num_threads(1)
    model, losses = translator.train(Config(parts=parts, steps=3, warm_up=1, batch=8))
    assert np.isfinite(losses).all()
    for attention in translator.attentions(model):
        assert (attention.W_K is attention.W_Q) == (parts == "W_K = W_Q")
        assert (attention.W_V is attention.W_K) == (parts == "W_V = W_K")
        fixed = parts in ("V = X", "V = a quarter of X")
        assert attention.W_V.requires_grad == (not fixed)
    if parts == "V = X":
        torch.testing.assert_close(attention.W_V[1], torch.eye(64))
    if parts == "V = a quarter of X":
        torch.testing.assert_close(attention.W_V.permute(1, 0, 2).reshape(64, 64), torch.eye(64))
    if parts == "uniform":
        x = translator.draw_test(1)
        (weights,) = translator.cross_weights(model, x)
        np.testing.assert_allclose(weights, 1 / len(x[0].source), atol=1e-6)


def test_a_head_that_is_removed_writes_nothing(model):
    less = translator.without_head(model, 1, 2)
    kept, gone = (m.decoder[1].cross_attention.W_O for m in (model, less))
    assert (gone[40:60] == 0).all()
    torch.testing.assert_close(gone[:40], kept[:40])
    torch.testing.assert_close(gone[60:], kept[60:])
    assert less.E_source is less.E_target


def test_the_rate_rises_and_falls():
    config = Config(steps=300, warm_up=50)
    rates = [translator.rate_at(config, step) for step in range(300)]
    assert np.argmax(rates) in (49, 50)
    assert max(rates) == config.rate
    assert rates[0] == config.rate / 50
    assert 0 < rates[-1] < config.rate / 200


def test_the_progress_line_counts(capsys):
    show = translator.progress_line(4)
    show(1, 2.0)
    show(4, 0.5)
    text = capsys.readouterr().out
    assert "step 1 of 4, loss 2.000" in text
    assert text.endswith("step 4 of 4, loss 0.500\n")


def test_the_command_writes_what_is_shipped(tmp_path, monkeypatch, capsys):
    import qkv.experiments.__main__ as command

    written = [tmp_path / "a.safetensors"]
    written[0].write_bytes(b"1234")
    monkeypatch.setattr(translator, "write_weights", lambda: written)
    assert command.main(["weights", "translator"]) == 0
    assert "a.safetensors: 4 bytes" in capsys.readouterr().out
