"""Data that the book works on: the running example, real words, real ground, and a real model."""

from qkv.data.copying import (
    CopyModel,
    CopySteps,
    Switches,
    copy_model,
    letter_ids,
    letters,
)
from qkv.data.digits import Digits, digits
from qkv.data.excerpt import MiniLMExcerpt, SavedSentence, minilm_excerpt, saved_vectors
from qkv.data.image_model import image_model
from qkv.data.minilm import MiniLM, MiniLMSteps, Sentences, minilm, sentence_vectors
from qkv.data.paper_table import PaperModel, QuotedBLEU, paper_bleu, paper_table
from qkv.data.public_models import PublicModel, public_models
from qkv.data.round_table import RoundTable, round_table
from qkv.data.running_example import RunningExample, running_example
from qkv.data.sentences import changed_roles, paraphrases, real_sentences
from qkv.data.terrain import Terrain, terrain
from qkv.data.translations import (
    Translation,
    alignment_error_rate,
    date_translation,
    number_translation,
    translation_text,
    translation_vocabulary,
)
from qkv.data.translator import translator
from qkv.data.word_pieces import WordPieces, cut_word, split_words, word_pieces
from qkv.data.word_vectors import UnknownWordError, WordVectors, word_vectors

__all__ = [
    "CopyModel",
    "CopySteps",
    "Digits",
    "MiniLM",
    "MiniLMExcerpt",
    "MiniLMSteps",
    "PaperModel",
    "PublicModel",
    "QuotedBLEU",
    "RoundTable",
    "RunningExample",
    "SavedSentence",
    "Sentences",
    "Switches",
    "Terrain",
    "Translation",
    "UnknownWordError",
    "WordPieces",
    "WordVectors",
    "alignment_error_rate",
    "changed_roles",
    "copy_model",
    "cut_word",
    "date_translation",
    "digits",
    "image_model",
    "letter_ids",
    "letters",
    "minilm",
    "minilm_excerpt",
    "number_translation",
    "paper_bleu",
    "paper_table",
    "paraphrases",
    "public_models",
    "real_sentences",
    "round_table",
    "running_example",
    "saved_vectors",
    "sentence_vectors",
    "split_words",
    "terrain",
    "translation_text",
    "translation_vocabulary",
    "translator",
    "word_pieces",
    "word_vectors",
]
