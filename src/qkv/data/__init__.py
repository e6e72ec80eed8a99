"""Data that the book works on: the running example, real words, real ground, and a real model."""

from qkv.data.minilm import MiniLM, MiniLMSteps, Sentences, minilm
from qkv.data.paper_table import PaperModel, QuotedBLEU, paper_bleu, paper_table
from qkv.data.round_table import RoundTable, round_table
from qkv.data.running_example import RunningExample, running_example
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
    "MiniLM",
    "MiniLMSteps",
    "PaperModel",
    "QuotedBLEU",
    "RoundTable",
    "RunningExample",
    "Sentences",
    "Terrain",
    "Translation",
    "UnknownWordError",
    "WordPieces",
    "WordVectors",
    "alignment_error_rate",
    "cut_word",
    "date_translation",
    "minilm",
    "number_translation",
    "paper_bleu",
    "paper_table",
    "round_table",
    "running_example",
    "split_words",
    "terrain",
    "translation_text",
    "translation_vocabulary",
    "translator",
    "word_pieces",
    "word_vectors",
]
