"""The digits are scikit-learn's; the shipped model is a file of float16 that knows them."""

import numpy as np
import pytest

import qkv
from qkv.data.image_model import PATH, parameters_of
from qkv.data.safetensors import read_safetensors


def test_the_pictures_are_scikit_learns():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    theirs, ours = datasets.load_digits(), qkv.data.digits()
    np.testing.assert_array_equal(16 * ours.images, theirs.images)
    np.testing.assert_array_equal(ours.labels, theirs.target)


def test_training_and_test_pictures_are_apart():
    digits = qkv.data.digits()
    assert len(digits.train[0]) + len(digits.test[0]) == len(digits.images) == 1797
    for images, labels in (digits.train, digits.test):
        assert len(images) == len(labels)
        assert set(labels) == set(range(10))
        assert not images.flags.writeable
    train = {image.tobytes() for image in digits.train[0]}
    assert not any(image.tobytes() in train for image in digits.test[0])


def test_the_model_is_small_and_right():
    model = qkv.data.image_model()
    assert PATH.stat().st_size <= 600_000
    assert qkv.count_parameters(model) == 14_002
    assert (model.size, model.d_model, len(model.layers)) == (2, 24, 3)
    images, labels = qkv.data.digits().test
    scores, _ = qkv.vision_transformer(images, model)
    assert (scores.argmax(-1) == labels).mean() > 0.9


def test_the_state_of_the_twin_is_the_file():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from qkv import twins

    state = read_safetensors(PATH.read_bytes())
    twin = twins.VisionTransformer(parameters_of(state))
    assert {n: tuple(p.shape) for n, p in twin.state_dict().items()} == {
        n: a.shape for n, a in state.items()
    }
    for name, p in twin.state_dict().items():
        assert torch.equal(p, torch.tensor(state[name]))
