"""The shipped sentences keep their rule, and the pairs and triples are what they say."""

import re
from importlib.resources import files

import numpy as np

import qkv


def test_the_rule_of_the_360_sentences():
    sentences = qkv.data.real_sentences()
    assert len(sentences) == len(set(sentences)) == 360
    for sentence in sentences:
        assert re.fullmatch(r"[A-Z][A-Za-z ,;'-]*[.!?]", sentence), sentence
        assert 8 <= len(sentence.split()) <= 14, sentence
    text = files("qkv.data").joinpath("real_sentences.txt").read_text(encoding="utf-8")
    novels = re.split(r"^# .*\n", text, flags=re.M)[1:]
    assert [len(novel.split("\n")) - 1 for novel in novels] == [60] * 6


def test_pairs_share_few_words():
    pairs = qkv.data.paraphrases()
    texts = [text for pair in pairs for text in pair]
    assert len(pairs) == 30
    assert len(set(texts) | set(qkv.data.real_sentences())) == 60 + 360
    words = [[set(re.findall(r"\w+", text.lower())) for text in pair] for pair in pairs]
    shared = [len(a & b) / len(a | b) for a, b in words]
    assert np.mean(shared) < 0.15


def test_triples_change_the_roles_and_no_word():
    for one, passive, changed in qkv.data.changed_roles():
        words = [sorted(re.findall(r"\w+", text.lower())) for text in (one, passive, changed)]
        assert words[0] == words[2]
        assert one != changed
        assert {"by"} < set(words[1])
