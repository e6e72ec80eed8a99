"""Laws of decoding: greedy, and with several beams."""

import itertools

import numpy as np

import qkv
from tests.core import oracles, samples
from tests.core.lawbook import close, law

SOURCE, ENDS = [3, 1, 28, 1, 5], (0, 30)


def _small(seed):
    """Return a model that knows four words, so that all sentences can be tried."""
    p = samples.transformer(seed)
    return qkv.TransformerParameters(p.E_source, p.E_target[:4] / 3, p.encoder, p.decoder)


def _quiet(seed):
    """Return a model whose words are short, so that their places count too."""
    p = samples.transformer(seed)
    return qkv.TransformerParameters(p.E_source, 0.3 * p.E_target, p.encoder, p.decoder)


def _log_p(p, written):
    rows = qkv.softmax(oracles.transformer(SOURCE, written[:-1], p))
    return float(sum(np.log(rows[t, word]) for t, word in enumerate(written[1:])))


@law("greedy_decode")
def greedy_equals_the_loop(greedy_decode):
    for seed in (2, 5):  # one stops, one changes its word
        p, written = _quiet(seed), [ENDS[0]]
        while len(written) <= 6 and not (len(written) > 1 and written[-1] == ENDS[1]):
            written.append(int(oracles.transformer(SOURCE, written, p)[-1].argmax()))
        assert greedy_decode(SOURCE, p, ENDS, 6) == tuple(written)


@law("greedy_decode")
def greedy_stops_at_the_stop(greedy_decode):
    p = samples.transformer(2)
    first = greedy_decode(SOURCE, p, ENDS, 4)[1]
    assert greedy_decode(SOURCE, p, (0, first), 4) == (0, first)


@law("beam_search")
def one_beam_is_greedy(beam_search):
    p = samples.transformer(1)
    ((written, log_p),) = beam_search(SOURCE, p, ENDS, 1, 5)
    assert written == qkv.greedy_decode(SOURCE, p, ENDS, 5)
    close(log_p, _log_p(p, written), 1e-9)


@law("beam_search")
def enough_beams_find_the_likeliest_of_all(beam_search):
    """Every sentence of at most three words is tried; the best ones must come out, in order."""
    for seed in range(3):
        p, stop = _small(seed), 3
        everything = {}
        for n in (1, 2, 3):
            for words in itertools.product(range(4), repeat=n):
                finished, early = words[-1] == stop, stop in words[:-1]
                if not early and (finished or n == 3):
                    everything[(0, *words)] = _log_p(p, (0, *words))
        wanted = sorted(everything, key=everything.get, reverse=True)[:5]
        found = beam_search(SOURCE, p, (0, stop), 64, 3)
        assert [written for written, _ in found[:5]] == wanted
        close([log_p for _, log_p in found[:5]], [everything[w] for w in wanted], 1e-9)


@law("beam_search")
def beams_are_sorted_and_differ(beam_search):
    found = beam_search(SOURCE, samples.transformer(3), ENDS, 3, 4)
    assert len({written for written, _ in found}) == 3
    assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
