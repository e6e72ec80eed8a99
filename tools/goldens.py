"""Write golden numbers for the JavaScript tests: inputs, and what `qkv.core` makes of them.

    python tools/goldens.py            write js/test/golden/*.json
    python tools/goldens.py --check    write nothing, fail if a file is stale

A function decorated with `@golden` returns a list of cases; its name is the file's name.
"""

import datetime
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from qkv import core
from qkv.data import (
    date_translation,
    digits,
    number_translation,
    paper_table,
    round_table,
    running_example,
    translation_vocabulary,
)
from qkv.widgets.cache_stepper import WAYS as KEPT
from qkv.widgets.cache_stepper import CacheStepper
from qkv.widgets.cross_attention import CrossAttention
from qkv.widgets.head_splitter import WAYS, HeadSplitter
from qkv.widgets.induction_trace import InductionTrace
from qkv.widgets.layer_stepper import LayerStepper
from qkv.widgets.learn_one_head import LearnOneHead, loss_and_gradients
from qkv.widgets.mask_lab import RULES, MaskLab
from qkv.widgets.notation_decoder import NAMES, USES, NotationDecoder
from qkv.widgets.parameter_map import ParameterMap, layout
from qkv.widgets.patch_attention import PatchAttention, shipped_ink
from qkv.widgets.position_lab import CODES, PositionLab
from qkv.widgets.real_heads import RealHeads
from qkv.widgets.scale_lab import FACTORS, ScaleLab, normals
from qkv.widgets.soft_lookup import SoftLookup
from qkv.widgets.tokens_to_rows import TokensToRows, small_list
from qkv.widgets.translator_explorer import TranslatorExplorer
from qkv.widgets.why_three import difference_eigenvalues

FOLDER = Path(__file__).resolve().parents[1] / "js" / "test" / "golden"
GOLDENS: dict[str, Callable[[], list[dict[str, Any]]]] = {}


def golden(function: Callable[[], list[dict[str, Any]]]) -> Callable[[], list[dict[str, Any]]]:
    """Register a golden file."""
    GOLDENS[function.__name__] = function
    return function


@golden
def dot_product() -> list[dict[str, Any]]:
    """Pairs of vectors of several sizes, a right angle and opposites among them."""
    rng = np.random.default_rng(2)
    pairs = [(rng.normal(size=n), rng.normal(size=n)) for n in (1, 2, 2, 2, 3, 5, 7, 384)]
    pairs += [
        (np.array([3.0, 1.0]), np.array([1.0, 2.0])),
        (np.array([2.0, 1.0]), np.array([-1.0, 2.0])),
        (np.array([0.5, -1.5]), np.array([-1.0, 3.0])),
        (np.array([1e-9, 2e9]), np.array([3e8, 1e-7])),
    ]
    return [
        {
            "x": x,
            "y": y,
            "dot_product": core.dot_product(x, y),
            "length_x": core.vector_length(x),
            "length_y": core.vector_length(y),
            "cosine_similarity": core.cosine_similarity(x, y),
            "shadow": core.dot_product(x, y) / core.vector_length(y),
            "shadow_point": core.dot_product(x, y) / core.dot_product(y, y) * y,
        }
        for x, y in pairs
    ]


@golden
def attention() -> list[dict[str, Any]]:
    """Whole heads from X to the output: self, cross, causal, empty rows, huge scores."""
    rng = np.random.default_rng(5)
    ex = running_example()
    target, source = ex.X_target, ex.X_source
    empty = np.array([[True, False, True], [False, False, False]])
    causal = core.causal_mask(5)

    def case(X_q: Any, X_kv: Any, *W: Any, mask: Any = None) -> dict[str, Any]:
        q, k, v = core.project_qkv(X_q, X_kv, *W)
        steps = core.attention_steps(q, k, v, mask)
        names = ("dot_products", "scaled", "scores", "weights", "output")
        computed = {name: getattr(steps, name) for name in names}
        given = dict(zip(("w_q", "w_k", "w_v"), W, strict=True))
        return {"x_q": X_q, "x_kv": X_kv, **given, "mask": mask, "q": q, "k": k, "v": v, **computed}

    def head(*shapes: tuple[int, int], size: float = 1.0) -> list[np.ndarray]:
        return [size * rng.normal(size=shape) for shape in shapes]

    cases = []
    for i in range(3):
        W = ex.W_Q[i], ex.W_K[i], ex.W_V[i]
        cases += [case(source, source, *W), case(source, source, *W, mask=causal)]
        cases += [case(target, source, *W)]
        cases += [
            case(target, ex.memory, ex.W_Q_cross[i], ex.W_K_memory[i], ex.W_V_memory[i]),
        ]
    X_q, X_kv, *W = head((2, 4), (3, 7), (4, 5), (7, 5), (7, 6))
    cases += [case(X_q, X_kv, *W), case(X_q, X_kv, *W, mask=empty)]
    X_q, X_kv, *W = head((2, 4), (3, 7), (4, 5), (7, 5), (7, 6), size=30)
    cases += [case(X_q, X_kv, *W), case(X_q, X_kv, *W, mask=empty)]
    cases += [case(*head((3, 2), (1, 2), (2, 5), (2, 5), (2, 4)))]
    return cases


@golden
def softmax_bench() -> list[dict[str, Any]]:
    """Causal tables of scores, their weights along both axes, and what the last query moves."""
    rng = np.random.default_rng(3)
    cases = []
    for n_q, n_k, size in [(4, 5, 1.0), (2, 2, 3.0), (3, 7, 1.0), (5, 5, 200.0)]:
        for temperature, times in [(1.0, 3.0), (0.125, -2.5), (8.0, 1.0)]:
            scores = size * rng.normal(size=(n_q, n_k))
            both = []
            for factor in (1.0, times):
                changed = scores.copy()
                changed[-1] *= factor
                changed = np.where(core.causal_mask(n_q, n_k, n_k - n_q), changed, -np.inf)
                keys = core.softmax_with_temperature(changed, temperature)
                queries = core.softmax(np.divide(changed, temperature).T).T
                both.append({"keys": keys, "queries": queries})
            moved = {a: np.abs(both[1][a] - both[0][a]).max(axis=1) for a in ("keys", "queries")}
            given = {"scores": scores, "temperature": temperature, "times": times}
            cases.append({**given, "weights": both[1], "moved": moved})
    return cases


@golden
def mask_lab() -> list[dict[str, Any]]:
    """Tables of scores under random masks, by every rule for a hidden key."""
    rng = np.random.default_rng(9)
    cases = []
    for n, size, open_share in [(3, 1.0, 0.5), (5, 4.0, 0.3), (7, 2.0, 0.8), (4, 300.0, 0.5)]:
        tokens = ["pad" if j >= n - 2 else f"w{j}" for j in range(n)]
        mask = (rng.random((n, n)) < open_share).astype(float)
        mask[1] = 0.0
        scores = size * rng.normal(size=(n, n))
        for rule in RULES:
            widget = MaskLab(tokens=tokens, scores=scores, mask=mask, rule=rule)
            given = {"tokens": tokens, "scores": scores, "mask": mask.astype(int), "rule": rule}
            cases.append({**given, **widget.numbers()})
    return cases


@golden
def head_splitter() -> list[dict[str, Any]]:
    """Layers of 1, 2 and 4 heads by every way: the running example, and random numbers."""
    rng = np.random.default_rng(10)
    cases = []
    for n, d in [(5, 8), (3, 12), (7, 4)]:
        given: dict[str, Any] = {}
        if d != 8:
            given = {"x": rng.normal(size=(n, d)), "w": rng.normal(size=(d, 4 * d))}
            given["tokens"] = [f"w{t}" for t in range(n)]
        for n_heads in (1, 2, 4):
            for way in WAYS:
                widget = HeadSplitter(n_heads=n_heads, way=way, **given)
                shown = {"x": widget.x, "w": widget.w, "h": n_heads, "way": way}
                cases.append({**shown, "t": widget.token, **widget.numbers()})
    return cases


@golden
def cross_attention() -> list[dict[str, Any]]:
    """Layers between two sequences, shuffled and with words hidden; one number taken apart."""
    rng = np.random.default_rng(12)
    cases = []
    for n_q, n_k, d_model, d_memory, n_heads, d_k, d_v in [
        (7, 5, 8, 9, 3, 4, 2),
        (2, 3, 5, 4, 1, 7, 6),
        (1, 4, 3, 2, 5, 6, 7),
    ]:
        inputs = {
            "tokens_q": [f"q{t}" for t in range(n_q)],
            "X": (2 * rng.normal(size=(n_q, d_model))).tolist(),
            "tokens_kv": [f"k{j}" for j in range(n_k)],
            "memory": (2 * rng.normal(size=(n_k, d_memory))).tolist(),
            "columns": [f"c{c}" for c in range(d_model)],
            "columns_kv": [f"m{c}" for c in range(d_memory)],
            "heads": [f"h{i}" for i in range(n_heads)],
        }
        shapes = {
            "W_Q": (n_heads, d_model, d_k),
            "W_K": (n_heads, d_memory, d_k),
            "W_V": (n_heads, d_memory, d_v),
            "W_O": (n_heads * d_v, d_model),
        }
        parameters = {name: rng.normal(size=shape).tolist() for name, shape in shapes.items()}
        for hidden in ([0] * n_k, [1] + [0] * (n_k - 1), [1] * n_k):
            order = rng.permutation(n_k).tolist()
            chosen = [int(rng.integers(size)) for size in (n_q, d_model, n_heads, n_k)]
            given = {"inputs": inputs, "parameters": parameters, "order": order, "hidden": hidden}
            made = CrossAttention(**given, chosen=chosen).numbers()
            cases.append({**given, "chosen": chosen, **made})
    return cases


@golden
def real_heads() -> list[dict[str, Any]]:
    """Weights and what is carried, by core from the stored bytes; first and last of everything."""
    cases = []
    for sentence, head in [(0, [2, 9]), (0, [0, 0]), (1, [0, 2]), (4, [1, 8]), (7, [5, 11])]:
        made = RealHeads(sentence=sentence, head=head).numbers()
        numbers = {name: made[name] for name in ("q", "scores", "weights", "carried")}
        numbers["q"] = numbers["q"][:2]
        cases.append({"sentence": sentence, "head": head, **numbers})
    return cases


@golden
def position_lab() -> list[dict[str, Any]]:
    """Every code with and without a causal mask, at places of the text near and far."""
    cases = []
    for order, start in [([0, 1, 2, 3, 4], 0), ([3, 1, 2, 0, 4], 0), ([4, 2, 0, 1, 3], 7)]:
        for code in CODES:
            for causal in (False, True):
                given = {"order": order, "code": code, "start": start, "causal": causal}
                cases.append({**given, **PositionLab(**given).numbers()})
    for code in CODES:
        given = {"order": [0, 1, 2, 3, 4], "code": code, "start": 37, "causal": False}
        cases.append({**given, **PositionLab(**given).numbers()})
    return cases


@golden
def translations() -> list[dict[str, Any]]:
    """Numbers of every kind and dates in both languages: words and gold links; the vocabulary."""
    cases: list[dict[str, Any]] = [{"vocabulary": translation_vocabulary()}]
    numbers = [*range(130), 200, 280, 300, 999, 1000, 1001, 1080, 1100, 2000, 7071, 10_000]
    numbers += [71_000, 80_000, 81_081, 91_191, 100_000, 180_200, 200_000, 280_080, 999_999]
    examples = [(str(n), lambda lang, n=n: number_translation(n, lang)) for n in numbers]
    for text in ("1900-01-01", "1957-12-25", "2000-02-29", "2024-08-08", "2099-12-31"):
        date = datetime.date.fromisoformat(text)
        examples.append((text, lambda lang, date=date: date_translation(date, lang)))
    for text, make in examples:
        for language in ("de", "fr"):
            pair = make(language)
            links = {"sure": sorted(pair.sure), "possible": sorted(pair.possible)}
            case = {"source": pair.source, "target": pair.target, **links}
            cases.append({"text": text, "language": language, **case})
    return cases


@golden
def translator_explorer() -> list[dict[str, Any]]:
    """Run the shipped model: what it writes, and one head of every site."""
    cases = []
    for text, language in [
        ("85026", "de"),
        ("81028", "fr"),
        ("260867", "fr"),
        ("1957-12-25", "de"),
    ]:
        made = TranslatorExplorer(text=text, language=language)
        heads = []
        for site, layer, head in (
            ("encoder", 0, 3),
            ("decoder", 1, 0),
            ("cross", 0, 2),
            ("cross", 1, 1),
        ):
            made.site, made.head = site, [layer, head]
            numbers = made.numbers()
            rows = {name: numbers[name] for name in ("q", "k", "scores", "weights")}
            heads.append({"site": site, "layer": layer, "head": head, **rows})
        case = {"text": text, "language": language, "heads": heads}
        cases.append({**case, "source": numbers["source"], "written": numbers["written"]})
    return cases


@golden
def induction_trace() -> list[dict[str, Any]]:
    """Rows of texts, new and old letters, with paths open and closed, by both heads."""
    cases = []
    closed: list[list[str]]
    for text, row, closed in [
        ("QUERYKEYVALU", -1, [[], ["1.2"], ["K"], ["Q", "2.1"], ["2.1", "2.2"], ["1.1", "V"]]),
        ("HOCUSPOCUS", 7, [[], ["1.1"], ["K", "V"]]),
        ("SEVENTYSE", 3, [[], ["2.2"]]),
        ("ABCDEFGHIJKLMABC", 15, [[]]),
        ("Z", 0, [[], ["1.1", "1.2", "2.1", "2.2"]]),
    ]:
        for paths in closed:
            for head in (0, 1):
                given = {"text": text, "row": row, "head": head, "closed": paths}
                cases.append({**given, "made": InductionTrace(**given).numbers()})
    return cases


@golden
def patch_attention() -> list[dict[str, Any]]:
    """Run the shipped model on shipped, painted and blank pictures: scores, and what is shown."""
    places = (1307, 1308, 1309, 1300, 1301, 1302, 1303, 1304, 1305, 1306, 1323, 1338)
    labels = digits().labels
    shipped = [{"place": p, "digit": int(labels[p]), "ink": shipped_ink(p)} for p in places]
    patches = core.cut_patches(shipped_ink(1303).reshape(8, 8), 2)
    order = np.random.default_rng(17).permutation(16)
    moved = patches[order].reshape(4, 4, 2, 2).swapaxes(1, 2).reshape(64)
    cases: list[dict[str, Any]] = [{"shipped": shipped, "order": order, "moved": moved}]
    painted = np.random.default_rng(17).integers(0, 17, size=64).astype(float)
    for ink in (shipped_ink(1300), shipped_ink(1338), painted, np.zeros(64)):
        made, looks = PatchAttention(ink=ink), []
        for layer, view in ((0, "0"), (1, "2"), (2, "mean"), (1, "rollout"), (2, "rollout")):
            made.layer, made.view = layer, view
            weights = made.numbers()["weights"]
            looks.append({"layer": layer, "view": view, "weights": weights})
        cases.append({"ink": ink, "scores": made.numbers()["scores"], "looks": looks})
    return cases


@golden
def cache_stepper() -> list[dict[str, Any]]:
    """Every word, head and number of sets; what is kept changes from case to case."""
    cases = []
    for word in range(7):
        for sets in (3, 1):
            for head in range(3):
                kept = KEPT[(word + head) % 3]
                given = {"word": word, "kept": kept, "sets": sets, "head": head}
                cases.append({**given, **CacheStepper(**given).numbers()})
    return cases


@golden
def layer_stepper() -> list[dict[str, Any]]:
    """Rows and their parts at every place, of random layers and the example, in both orders."""
    rng = np.random.default_rng(14)
    n, d, d_ff, heads, d_k, d_v = 3, 5, 7, 2, 4, 3
    shapes = {"X": (n, d), "W_Q": (heads, d, d_k), "W_K": (heads, d, d_k), "W_V": (heads, d, d_v)}
    shapes |= {"W_O": (heads * d_v, d), "W_1": (d, d_ff), "b_1": (d_ff,), "W_2": (d_ff, d)}
    drawn: dict[str, Any] = {
        name: rng.normal(size=shape).tolist() for name, shape in shapes.items()
    }
    drawn["E"] = rng.normal(size=(11, d)).tolist()
    for name, count in (("tokens", n), ("columns", d), ("units", d_ff), ("words", 11)):
        drawn[name] = [f"{name[0]}{i}" for i in range(count)]
    cases = []
    for layer, token in ((drawn, 1), (LayerStepper().layer, 3)):
        for order in ("post", "pre"):
            for residual in (True, False):
                widget = LayerStepper(layer=layer, token=token, order=order, residual=residual)
                given = {"layer": layer, "token": token, "order": order, "residual": residual}
                places = [
                    {"name": p.name, "kind": p.kind, "row": p.row, "parts": p.parts}
                    for p in widget.path()
                ]
                made = {"places": places, "probabilities": widget.numbers()["probabilities"]}
                cases.append({**given, **made})
    return cases


@golden
def notation_decoder() -> list[dict[str, Any]]:
    """Every array of the layer, by use and head; and the names of the symbols."""
    cases: list[dict[str, Any]] = [{"names": NAMES}]
    for use in USES:
        for head in range(3):
            widget = NotationDecoder(use=use, head=head)
            given = {"inputs": widget.inputs, "weights": widget.weights}
            cases.append({**given, "use": use, "head": head, "arrays": widget.arrays()})
    return cases


@golden
def scale_lab() -> list[dict[str, Any]]:
    """Random numbers by row and column, and what the lab shows for several sizes."""
    cases = []
    for d_k, n_k, seed in [(1, 2, 0), (3, 5, 7), (64, 16, 0), (1024, 4, 2**31 - 2), (32, 256, 1)]:
        for factor in FACTORS:
            made = ScaleLab(d_k=d_k, n_k=n_k, factor=factor, seed=seed).numbers()
            entries = normals(np.array([0, 31, 32 + n_k - 1]), d_k, seed)[:, -1]
            given = {"d_k": d_k, "n_k": n_k, "factor": factor, "seed": seed}
            cases.append({**given, "entries": entries, **made})
    return cases


@golden
def learn_one_head() -> list[dict[str, Any]]:
    """Train at the round table from several starts: losses, gradients, one table, two maps."""
    cases = []
    for seed, rate, steps in [(7, 0.5, 0), (7, 0.5, 1), (7, 0.5, 12), (3, 0.25, 17), (5, 1.0, 9)]:
        start = round_table().start(seed)
        numbers = LearnOneHead(
            **dict(zip(("W_Q", "W_K", "W_V", "W_O"), start, strict=True)), rate=rate, steps=steps
        ).numbers()
        _, gradients = loss_and_gradients(*(numbers[name] for name in ("W_Q", "W_K", "W_V", "W_O")))
        given = {"start": list(start), "rate": rate, "steps": steps}
        cases.append({**given, **numbers, "gradients": list(gradients)})
    return cases


@golden
def soft_lookup() -> list[dict[str, Any]]:
    """One query on lines of pairs, by both scores, soft and hard, at several bandwidths."""
    rng = np.random.default_rng(4)
    cases = []
    for n, size in [(2, 1.0), (5, 3.0), (17, 30.0), (7, 400.0)]:
        pairs = np.stack([size * rng.normal(size=n), 100 * rng.normal(size=n)], axis=1)
        for bandwidth in (0.125, 1.0, 8.0):
            for score in ("distance", "dot"):
                query = float(size * rng.normal())
                given = {"pairs": pairs, "query": query, "bandwidth": bandwidth, "score": score}
                for hard in (False, True):
                    made = SoftLookup(**given, hard=hard).numbers()
                    cases.append({**given, "hard": hard, **made})
    return cases


@golden
def why_three() -> list[dict[str, Any]]:
    """Tables of scores, tied and not: eigenvalues on differences, asymmetry, margins, weights."""
    rng = np.random.default_rng(8)
    u = rng.normal(size=(5, 3))
    A = rng.normal(size=(7, 7))
    tables = [u @ u.T, A, A + A.T, np.array([[1.0, 2.0], [2.0, 5.0]]), np.diag([1.0, 2.0, 3.0])]
    tables += [30 * rng.normal(size=(12, 12)), np.ones((3, 3)), np.zeros((4, 4))]

    def case(S: np.ndarray, i: int, j: int) -> dict[str, Any]:
        total = float((S**2).sum())
        return {
            "scores": S,
            "eigenvalues": np.round(difference_eigenvalues(S), 13) + 0.0,
            "asymmetry": float((((S - S.T) / 2) ** 2).sum()) / total if total else 0.0,
            "pair": [i, j],
            "margins": [S[i, j] - S[i, i], S[j, i] - S[j, j]],
            "weights": core.softmax(S),
            "masked": core.softmax(np.where(np.eye(len(S), dtype=bool), -np.inf, S)),
        }

    return [case(S, 0, len(S) - 1) for S in tables]


@golden
def tokens_to_rows() -> list[dict[str, Any]]:
    """Texts of all kinds, cut at spaces and by word pieces: tokens, ids and rows."""
    texts = [
        *("", "The bank by the river bank", "she ate an apple .", "she ate  an orange ."),
        *("a A Á", "Kangaroos love embeddings!", "Don't stop: 3.14 > e^1?", "crème brûlée"),
        *("ΟΔΟΣ Σίσυφος", "Ångström İstanbul ß", "我爱北京天安门", "日本語のテスト", "한국어"),
        *("a\u200bb\u00a0c\td", "x" * 100, "x" * 101, "☃ 🦘 [SEP] ##s", "fi ﬁ ½ ²"),
        "sie hat einen Apfel gegessen .",
    ]

    def case(text: str, mode: str, special: bool) -> dict[str, Any]:
        found = TokensToRows(text=text, mode=mode, special=special).numbers()
        return {"text": text, "mode": mode, "special": special, **found}

    kinds = [("wordpiece", False), ("wordpiece", True), ("whitespace", False)]
    return [{"small": small_list()}, *(case(text, *kind) for text in texts for kind in kinds)]


@golden
def parameter_map() -> list[dict[str, Any]]:
    """Models of the paper and others: every part, the sums, the rows that fit, the fields."""
    models: list[dict[str, Any]] = []
    for row in paper_table():
        s = row.sizes
        sizes = [s.d_model, s.d_ff, s.n_heads, s.d_k, s.d_v]
        models.append({"sizes": sizes, "layers": [row.n_layers] * 2, "rows": 41_100})
    models += [
        {"tables": 3},
        {"tables": 2, "biases": True},
        {"sizes": [768, 3072, 12, 64, 64], "layers": [12, 0], "rows": 30_522, "biases": True},
        {"sizes": [8, 16, 3, 4, 2], "layers": [2, 3], "rows": 13},
        {"sizes": [1, 1, 1, 1, 1], "layers": [0, 0], "rows": 1},
        {"sizes": [16384, 65536, 128, 1024, 1024], "layers": [128, 128], "rows": 1_000_000},
        {"sizes": [7, 11, 3, 5, 2], "layers": [0, 4], "rows": 13, "tables": 2},
    ]
    cases = []
    for given in models:
        widget = ParameterMap(**given)
        parts = widget.parts()
        model = {name: value for name, value in widget.state().items() if name != "at"}
        names = [[part.id, part.shape, part.each, part.layers] for part in parts]
        fields = layout(parts, 390.0, 320.0)
        cases.append({"model": model, "names": names, "fields": fields, **widget.numbers()})
    return cases


def plain(value: Any) -> Any:
    """Return arrays as lists and infinities as words (JSON has neither)."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def text(name: str) -> str:
    """Return the text of a golden file as the numbers are now."""
    cases = ",\n".join(json.dumps(plain(case)) for case in GOLDENS[name]())
    return f"[\n{cases}\n]\n"


def stale() -> list[str]:
    """Return the names of files that differ from what core says now.

    Numbers may differ by 1e-14 relative, for another machine's last bit; all else is exact.
    """
    return [name for name in GOLDENS if not _same(FOLDER / f"{name}.json", text(name))]


def _same(path: Path, now: str) -> bool:
    return path.exists() and _close(json.loads(path.read_text(encoding="utf-8")), json.loads(now))


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-14, abs_tol=1e-15)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def main() -> int:
    """Write or check every golden file."""
    if "--check" in sys.argv:
        for name in stale():
            print(f"js/test/golden/{name}.json is stale: run python tools/goldens.py")
        return 1 if stale() else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in GOLDENS:
        if not _same(FOLDER / f"{name}.json", text(name)):
            (FOLDER / f"{name}.json").write_text(text(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
