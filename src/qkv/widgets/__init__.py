"""Interactive figures that run in JupyterLab, in Colab and on the static page without a kernel.

`import qkv.widgets` costs nothing; anywidget is imported when a widget class is first named.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "BookWidget": "base",
    "CacheStepper": "cache_stepper",
    "CrossAttention": "cross_attention",
    "DotProduct": "dot_product",
    "HeadSplitter": "head_splitter",
    "InductionTrace": "induction_trace",
    "LayerStepper": "layer_stepper",
    "LearnOneHead": "learn_one_head",
    "MaskLab": "mask_lab",
    "PatchAttention": "patch_attention",
    "PositionLab": "position_lab",
    "ParameterMap": "parameter_map",
    "NotationDecoder": "notation_decoder",
    "QKVTracer": "qkv_tracer",
    "RealHeads": "real_heads",
    "ScaleLab": "scale_lab",
    "SoftLookup": "soft_lookup",
    "SoftmaxBench": "softmax_bench",
    "TokensToRows": "tokens_to_rows",
    "TranslatorExplorer": "translator_explorer",
    "WhyThree": "why_three",
}
__all__ = [
    "BookWidget",
    "CacheStepper",
    "CrossAttention",
    "DotProduct",
    "HeadSplitter",
    "InductionTrace",
    "LayerStepper",
    "LearnOneHead",
    "MaskLab",
    "NotationDecoder",
    "ParameterMap",
    "PatchAttention",
    "PositionLab",
    "QKVTracer",
    "RealHeads",
    "ScaleLab",
    "SoftLookup",
    "SoftmaxBench",
    "TokensToRows",
    "TranslatorExplorer",
    "WhyThree",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
