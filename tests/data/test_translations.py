"""Numbers and dates: the words are the libraries', the alignment is the rule's."""

import datetime

import pytest

from qkv.data import (
    alignment_error_rate,
    date_translation,
    number_translation,
    translation_text,
    translation_vocabulary,
)

EVERY = [*range(2000), *range(2000, 100_000, 61), *range(100_000, 1_000_000, 1013)]


@pytest.mark.parametrize("language", ["de", "fr"])
def test_numbers_are_those_of_num2words(language):
    num2words = pytest.importorskip("num2words", reason="num2words is not installed").num2words
    for n in EVERY:
        pair = number_translation(n, language)
        assert translation_text(pair.source, "en") == num2words(n)
        assert translation_text(pair.target, language) == num2words(n, lang=language)


@pytest.mark.parametrize("language", ["de", "fr"])
def test_dates_are_those_of_babel(language):
    dates = pytest.importorskip("babel.dates", reason="Babel is not installed")
    first = datetime.date(1900, 1, 1)
    for day in range(0, 73_049, 17):
        date = first + datetime.timedelta(day)
        pair = date_translation(date, language)
        assert translation_text(pair.source, "en") == dates.format_date(date, "full", "en")
        assert translation_text(pair.target, language) == dates.format_date(date, "full", language)


def test_every_token_has_one_place_in_the_table():
    words = translation_vocabulary()
    assert len(set(words)) == len(words)
    seen = set()
    for language in ("de", "fr"):
        for n in EVERY:
            pair = number_translation(n, language)
            seen |= {*pair.source, *pair.target}
        for day in range(0, 73_049, 11):
            date = datetime.date(1900, 1, 1) + datetime.timedelta(day)
            pair = date_translation(date, language)
            seen |= {*pair.source, *pair.target}
    assert seen == set(words) - {"<pad>", "<s>", "</s>"}


@pytest.mark.parametrize("n", [7, 21, 100, 71, 97, 1000, 21_001, 380_580])
@pytest.mark.parametrize("language", ["de", "fr"])
def test_every_word_but_and_and_the_comma_has_a_partner(n, language):
    pair = number_translation(n, language)
    assert pair.sure <= pair.possible
    linked = {t for t, _ in pair.possible}
    alone = {pair.target[t] for t in range(len(pair.target)) if t not in linked}
    assert alone <= {"und", "et"}
    linked = {s for _, s in pair.possible}
    alone = {pair.source[s] for s in range(1, len(pair.source)) if s not in linked}
    assert alone <= {"and", ","}
    assert all(s > 0 for _, s in pair.possible)


def _named(pair, links):
    return {(pair.target[t], pair.source[s]) for t, s in links}


def test_alignments_by_hand():
    pair = number_translation(21_034, "de")
    assert _named(pair, pair.sure) == {
        ("ein", "one"), ("zwanzig", "twenty"), ("tausend", "thousand"),
        ("vier", "four"), ("dreißig", "thirty"),
    }  # fmt: skip
    pair = number_translation(77, "fr")
    assert _named(pair, pair.sure) == {
        ("soixante", "seventy"), ("dix", "seventy"), ("sept", "seven"),
    }  # fmt: skip
    pair = number_translation(1100, "fr")
    assert _named(pair, pair.sure) == {("mille", "thousand"), ("cent", "hundred")}
    assert _named(pair, pair.possible - pair.sure) == {("mille", "one"), ("cent", "one")}
    pair = date_translation(datetime.date(2019, 8, 5), "fr")
    assert _named(pair, pair.sure) == {
        ("lundi", "Monday"), ("5", "5"), ("août", "August"), ("20", "20"), ("19", "19"),
    }  # fmt: skip


def test_equal_words_keep_their_own_places():
    pair = number_translation(5555, "de")
    assert sorted(s for t, s in pair.sure if pair.target[t] == "fünf") == [1, 4, 8]


def test_the_error_rate_by_hand():
    pair = number_translation(71, "fr")  # soixante et onze; sure (0, 1), possible (2, 1), (2, 2)
    assert alignment_error_rate([{(0, 1)}], [pair]) == 0
    assert alignment_error_rate([{(0, 1), (2, 2)}], [pair]) == 0
    assert alignment_error_rate([{(0, 1), (1, 1), (2, 2)}], [pair]) == 1 - 3 / 4
    assert alignment_error_rate([set()], [pair]) == 1
    with pytest.raises(ValueError, match="2 sets of links for 1 translations"):
        alignment_error_rate([set(), set()], [pair])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: number_translation(-1, "de"), "n must be from 0 to 999,999, got -1"),
        (lambda: number_translation(10**6, "de"), "got 1,000,000"),
        (lambda: number_translation(1, "it"), "language must be one of de, fr, got 'it'"),
        (lambda: date_translation(datetime.date(1899, 1, 1), "de"), "from 1900 to 2099, got 1899"),
        (lambda: date_translation(datetime.date(1900, 1, 1), "en"), "one of de, fr, got 'en'"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
