"""Train small models on digits of 8 by 8 pixels; take pieces of the Transformer away (chapter 17).

The first 1,300 images train, the last 497 test. Settings were chosen on images 1,100 to 1,299 with
a training on the first 1,100, before any test. The page loads the weights that
``python -m qkv.experiments weights images`` writes.
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from qkv import core, twins
from qkv.data.digits import N_TRAIN, digits
from qkv.data.image_model import PATH
from qkv.data.safetensors import write_safetensors
from qkv.experiments.why_three import one_thread

SIZES = core.LayerSizes(d_model=24, d_ff=40, n_heads=3, d_k=7, d_v=9)
N_LAYERS, SIZE, N_PATCHES, N_CLASSES = 3, 2, 16, 10
MODELS = (
    "class token", "mean", "no positions", "class without position", "one way", "permuted",
    "attention uniform", "logistic regression", "CNN",
)  # fmt: skip
SHIPPED_SEED = 0
RATE, LINEAR_RATE, DECAY, BATCH = 4e-3, 2e-2, 0.1, 100


@dataclass(frozen=True)
class Config:
    """One training.

    Attributes
    ----------
    seed : int
        Of the weights and of the order of the images.
    model : str
        One of `MODELS`.
    epochs : int
        How often each image is seen.
    n_train : int
        How many images are trained on, counted from the first.
    """

    seed: int = 0
    model: str = "class token"
    epochs: int = 40
    n_train: int = N_TRAIN


def new_parameters(rng: np.random.Generator) -> core.VisionTransformerParameters:
    """Draw a Vision Transformer: small embeddings, Xavier's layers, a read-out of zeros."""
    d_model = SIZES.d_model
    norm = core.LayerNormParameters(np.ones(d_model), np.zeros(d_model))
    return core.VisionTransformerParameters(
        W_E=core.xavier_uniform(rng, SIZE**2, d_model),
        b_E=np.zeros(d_model),
        x_class=0.1 * rng.normal(size=d_model),
        P=0.1 * rng.normal(size=(1 + N_PATCHES, d_model)),
        layers=tuple(core.initial_encoder_layer(rng, SIZES) for _ in range(N_LAYERS)),
        norm=norm,
        W_R=np.zeros((d_model, N_CLASSES)),
        b_R=np.zeros(N_CLASSES),
    )


class Vision(nn.Module):
    """The Vision Transformer, or the same with one piece taken away."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.kind = config.model
        rng = np.random.default_rng([17, config.seed])
        self.twin = twins.VisionTransformer(new_parameters(rng)).float()
        with torch.no_grad():
            if self.kind == "no positions":
                self.twin.P.zero_()
                self.twin.P.requires_grad_(False)
            elif self.kind == "class without position":
                self.twin.P[0] = 0
                self.twin.P.register_hook(_without_first)
            elif self.kind == "attention uniform":
                for name, parameter in self.twin.named_parameters():
                    if name.endswith(".W_Q"):
                        parameter.zero_()
                        parameter.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        """Return scores (batch, classes)."""
        twin = self.twin
        if self.kind == "mean":  # no class token: the patches' rows are averaged
            X = twins.image_tokens(images, twin)[..., 1:, :]
            output, _ = twin.layers(X)
            return twins.project(twins.layer_norm(output, twin.norm).mean(-2), twin.W_R, twin.b_R)
        mask = one_way() if self.kind == "one way" else None
        return twin(images, mask)[0]


def _without_first(gradient: Tensor) -> Tensor:
    gradient = gradient.clone()
    gradient[0] = 0
    return gradient


def one_way() -> Tensor:
    """Return a mask under which the class token sees the patches and they do not see it."""
    mask = torch.ones(1 + N_PATCHES, 1 + N_PATCHES, dtype=torch.bool)
    mask[1:, 0] = False
    return mask


class Convolutions(nn.Module):
    """A small convolutional network: two layers of 3 by 3, pooled, one linear read-out."""

    def __init__(self, seed: int, wide: int = 26, wider: int = 50) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(
            nn.Conv2d(1, wide, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(wide, wider, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(4 * wider, N_CLASSES),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Tensor:
        """Return scores (batch, classes)."""
        return self.body(images[:, None])


class Linear(nn.Module):
    """Multinomial logistic regression on the 64 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, N_CLASSES)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Return scores (batch, classes)."""
        return self.linear(images.flatten(1))


def new_model(config: Config) -> nn.Module:
    """Return the untrained model."""
    if config.model == "CNN":
        return Convolutions(config.seed)
    return Linear() if config.model == "logistic regression" else Vision(config)


@cache
def the_order() -> np.ndarray:
    """Return the order in which patches stand for the model "permuted": one for all images."""
    return np.random.default_rng(17).permutation(N_PATCHES)


def permute_patches(images: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return images whose patches stand in another order."""
    n = len(images)
    patches = core.cut_patches(images, SIZE)[:, order]
    return patches.reshape(n, 4, 4, SIZE, SIZE).swapaxes(2, 3).reshape(n, 8, 8)


def train(config: Config) -> nn.Module:
    """Train one model with AdamW; the rate rises for a tenth of the steps, then falls to zero."""
    images, labels = (torch.tensor(x[: config.n_train]) for x in inputs(config))
    model, rng = new_model(config), np.random.default_rng([18, config.seed])
    learned = [p for p in model.parameters() if p.requires_grad]
    steps = config.epochs * (config.n_train // BATCH)
    optimiser = torch.optim.AdamW(learned, weight_decay=DECAY)
    highest = LINEAR_RATE if config.model == "logistic regression" else RATE
    step = 0
    for _ in range(config.epochs):
        order = torch.tensor(rng.permutation(config.n_train))
        for chosen in order[: config.n_train // BATCH * BATCH].split(BATCH):
            warm = min(1.0, (step + 1) / (0.1 * steps))
            rate = highest * warm * 0.5 * (1 + math.cos(math.pi * step / steps))
            optimiser.param_groups[0]["lr"] = rate
            optimiser.zero_grad()
            cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimiser.step()
            step += 1
    return model.eval()


def inputs(config: Config) -> tuple[np.ndarray, np.ndarray]:
    """Return all images, float32, and labels, as this model sees them."""
    found = digits()
    images = found.images
    if config.model == "permuted":
        images = permute_patches(images, the_order())
    return images.astype(np.float32), found.labels


def n_learned(model: nn.Module) -> int:
    """Return how many numbers the model learns; what a piece taken away leaves unused is none."""
    unused = {"mean": 2, "class without position": 1}.get(getattr(model, "kind", ""), 0)
    total = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return total - unused * SIZES.d_model


@torch.no_grad()
def accuracy(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images that the model names rightly."""
    said = model(torch.tensor(images)).argmax(-1).numpy()
    return round(float((said == labels).mean()), 4)


RANKINGS = ("rollout", "last row", "gradient", "ink", "random")
REMOVED = (0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16)  # patches


def rank_patches(
    model: twins.VisionTransformer, images: np.ndarray, ranking: str, seed: int = 0
) -> np.ndarray:
    """Return the patches of each image in order, the one taken for the most important first.

    Parameters
    ----------
    model : VisionTransformer
        Read by three of the rankings.
    images : array, shape (batch, 8, 8)
    ranking : str
        ``rollout``, the class token's row of it; ``last row``, the class token's weights in the
        last layer, averaged over heads; ``gradient``, the size of pixel times gradient of the
        winning score, summed over a patch; ``ink``, which no model needs; ``random``.
    seed : int
        Of the random ranking.

    Returns
    -------
    order : array, shape (batch, 16)
    """
    value = patch_values(model, images, ranking, seed)
    return np.argsort(-value, axis=-1, kind="stable")


def patch_values(
    model: twins.VisionTransformer, images: np.ndarray, ranking: str, seed: int = 0
) -> np.ndarray:
    """Return the number by which `rank_patches` ranks, shape (batch, 16)."""
    if ranking == "ink":
        return core.cut_patches(images, SIZE).sum(-1)
    if ranking == "random":
        return np.random.default_rng([19, seed]).random((len(images), N_PATCHES))
    pixels = torch.tensor(images, dtype=model.W_E.dtype, requires_grad=True)
    scores, weights = model(pixels)
    if ranking == "gradient":
        scores.max(-1).values.sum().backward()
        product = (pixels * pixels.grad).detach().numpy()  # type: ignore[operator]
        return np.abs(core.cut_patches(product, SIZE)).sum(-1)
    seen = [w.detach().numpy() for w in weights]
    if ranking == "last row":
        return seen[-1].mean(axis=-3)[:, 0, 1:]
    return core.attention_rollout(seen)[:, 0, 1:]


def without_patches(images: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """Return images whose first `count` patches in `order` are blank."""
    patches = core.cut_patches(images, SIZE)
    np.put_along_axis(patches, order[:, :count, None], 0.0, axis=1)
    return patches.reshape(-1, 4, 4, SIZE, SIZE).swapaxes(2, 3).reshape(-1, 8, 8)


@torch.no_grad()
def accuracy_unseen(
    model: twins.VisionTransformer,
    images: np.ndarray,
    labels: np.ndarray,
    order: np.ndarray,
    count: int,
) -> float:
    """Return the accuracy if nobody may look at the first `count` patches in `order`."""
    visible = np.ones((len(images), 1, 1 + N_PATCHES), dtype=bool)
    np.put_along_axis(visible, 1 + order[:, None, :count], False, axis=-1)
    mask = torch.tensor(visible).expand(-1, 1 + N_PATCHES, -1)
    said = model(torch.tensor(images, dtype=model.W_E.dtype), mask)[0].argmax(-1).numpy()
    return round(float((said == labels).mean()), 4)


def deletion(
    model: twins.VisionTransformer, images: np.ndarray, labels: np.ndarray, ranking: str, seed: int
) -> tuple[list[float], list[float]]:
    """Return the accuracies with more and more patches blank, and with them out of sight."""
    order = rank_patches(model, images, ranking, seed)
    blank = [
        accuracy_unseen(model, without_patches(images, order, count), labels, order, 0)
        for count in REMOVED
    ]
    unseen = [accuracy_unseen(model, images, labels, order, count) for count in REMOVED]
    return blank, unseen


def run(config: Config) -> list[dict[str, Any]]:
    """Train one model and test it; of the Transformer, its explanations too."""
    with one_thread():
        model = train(config)
        images, labels = (x[N_TRAIN:] for x in inputs(config))
        name = {"model": config.model, "seed": config.seed}
        row: dict[str, Any] = {
            **name,
            "part": "accuracy",
            "learned": n_learned(model),
            "trained": accuracy(model, *(x[: config.n_train] for x in inputs(config))),
            "accuracy": accuracy(model, images, labels),
        }
        if config.model in ("class token", "no positions", "CNN", "logistic regression"):
            moved = permute_patches(images, the_order())
            row["moved"] = accuracy(model, moved, labels)  # the patches of the test images only
        rows = [row]
        if config.model == "class token":
            assert isinstance(model, Vision)
            twin = model.twin
            for ranking in RANKINGS:
                blank, unseen = deletion(twin, images, labels, ranking, config.seed)
                seen = {"part": "deletion", "ranking": ranking, "blank": blank, "unseen": unseen}
                rows.append(name | seen)
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every model for each seed; logistic regression has no seed that matters but one."""
    return [
        Config(seed=seed, model=model)
        for model in MODELS
        for seed in (seeds[:1] if model == "logistic regression" else seeds)
    ]


def write_weights() -> list[Path]:
    """Train the model that the book ships; write it for Python and as a script for pages."""
    with one_thread():
        model = train(Config(seed=SHIPPED_SEED))
    assert isinstance(model, Vision)
    state = {name: p.detach().numpy() for name, p in model.twin.state_dict().items()}
    data = write_safetensors(state)
    PATH.write_bytes(data)
    script = Path(str(files("qkv.widgets").joinpath("static", "image-model.js")))
    text = json.dumps(base64.b64encode(data).decode())
    script.write_text(f"(globalThis.qkvBook??={{}}).imageModel={text};\n", encoding="utf-8")
    return [PATH, script]
