"""The quoted sizes of public models hold together."""

import re
from pathlib import Path

import qkv

MODELS = {model.name: model for model in qkv.data.public_models()}


def test_heads_share_evenly_and_names_differ():
    assert len(MODELS) == len(qkv.data.public_models()) == 9
    for model in MODELS.values():
        assert model.n_heads % model.n_kv_heads == 0
        assert model.window is None or model.window > 0


def test_in_all_but_one_the_heads_are_as_wide_as_the_model():
    wide = {name for name, m in MODELS.items() if m.n_heads * m.d_k != m.d_model}
    assert wide == {"Gemma 7B"}


def test_each_source_stands_in_the_bibliography():
    text = (Path(__file__).parents[2] / "book" / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"@\w+\{(\w+),", text))
    assert {model.source for model in MODELS.values()} <= keys
