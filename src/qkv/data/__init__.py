"""Small data that the book works on: the running example and real word vectors."""

from qkv.data.running_example import RunningExample, running_example
from qkv.data.word_vectors import UnknownWordError, WordVectors, word_vectors

__all__ = [
    "RunningExample",
    "UnknownWordError",
    "WordVectors",
    "running_example",
    "word_vectors",
]
