import base64
import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.data.image_model import PATH
from qkv.widgets import PatchAttention
from qkv.widgets.base import number, static_text
from qkv.widgets.patch_attention import VIEWS, shipped_ink


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layer", [0, 2])
def test_the_weights_are_the_models(layer, view):
    made = PatchAttention(layer=layer, view=view, ink=shipped_ink(1305)).numbers()
    scores, weights = qkv.vision_transformer(qkv.data.digits().images[1305], qkv.data.image_model())
    wanted = {
        "mean": weights[layer].mean(0),
        "rollout": qkv.attention_rollout(weights[: layer + 1]),
    }.get(view)
    wanted = weights[layer][int(view)] if wanted is None else wanted
    np.testing.assert_allclose(made["weights"], wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(made["scores"], scores, rtol=0, atol=1e-12)


def test_the_first_state_teaches():
    """The class token looks at one patch, and there is hardly any ink in it: the hole of the 3."""
    widget = PatchAttention()
    made = widget.numbers()
    assert made["scores"].argmax() == qkv.data.digits().labels[1300] == 3
    top = made["weights"][widget.query].argmax()
    assert made["weights"][widget.query, top] > 0.5
    assert qkv.cut_patches(widget.ink.reshape(8, 8), 2)[top - 1].sum() < 0.1 * 64


def test_the_first_numbers_are_rounded_and_right():
    widget = PatchAttention()
    made = widget.numbers()
    np.testing.assert_allclose(widget.first["weights"], made["weights"], rtol=0, atol=6e-6)
    np.testing.assert_allclose(widget.first["scores"], made["scores"], rtol=0, atol=6e-6)


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(PatchAttention().state()) == ["first", "ink", "layer", "query", "view"]


def test_the_posters_numbers_equal_cores():
    widget = PatchAttention(layer=1, view="2", query=5)
    poster, made = widget.poster(), widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", poster)
    numbers = [*made["weights"][5], *made["scores"], *qkv.softmax(made["scores"])]
    assert cells == [number(x) for x in numbers]
    drawn = re.findall(r'text-anchor="middle">([^<]+)<', poster)
    row = made["weights"][5]
    assert drawn == [number(100 * x, 1) for x in (*row[1:], row[0])]


def test_the_script_is_the_file_of_the_weights():
    text = static_text("image-model.js").split('"')[1]
    assert base64.b64decode(text) == PATH.read_bytes()
    assert len(text) <= 600_000


def test_a_notebook_that_asks_gets_the_weights():
    widget, sent = PatchAttention(), []
    widget.send = sent.append
    widget._answer(widget, {"want": "something"}, [])
    assert sent == []
    widget._answer(widget, {"want": "image-model"}, [])
    assert sent[0]["imageModel"] == static_text("image-model.js").split('"')[1]


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"ink": np.zeros(63)}, "of shape (64)"),
        ({"ink": np.full(64, 17.0)}, "whole numbers from 0 to 16"),
        ({"ink": np.full(64, -1.0)}, "whole numbers from 0 to 16"),
        ({"ink": np.full(64, 0.5)}, "whole numbers from 0 to 16"),
        ({"layer": 3}, "layer"),
        ({"query": 17}, "query"),
        ({"view": "3"}, "view"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        PatchAttention(**traits)
