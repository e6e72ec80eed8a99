"""What all modules of the twins share: the way to core's parameters and back."""

from dataclasses import fields
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
import torch
from torch import Tensor, nn

T = TypeVar("T", bound="Twin")


class Twin(nn.Module):
    """A torch module with the same fields as one of core's parameter dataclasses.

    It is made from core's parameters, so all random numbers come from a numpy Generator. Numbers
    keep their precision (float64 as core draws them); ``module.float()`` trains in float32.

    Attributes
    ----------
    core_class : type
        The dataclass in core that holds the same parameters.
    settings : tuple of str
        Fields that are not learned.
    """

    core_class: ClassVar[type]
    settings: ClassVar[tuple[str, ...]] = ()

    def load_from_core(self: T, parameters: Any) -> T:
        """Copy core's numbers into the parameters that are here; an optimizer keeps its hold."""
        fresh = type(self)(parameters)  # type: ignore[call-arg]
        self.load_state_dict(fresh.state_dict())
        for module, other in zip(self.modules(), fresh.modules(), strict=True):
            for name in getattr(other, "settings", ()):
                setattr(module, name, getattr(other, name))
        return self

    def to_core(self) -> Any:
        """Return core's dataclass with copies of the numbers."""
        values = {field.name: getattr(self, field.name) for field in fields(self.core_class)}
        return self.core_class(**{name: to_core(value) for name, value in values.items()})


@overload
def as_parameter(x: np.ndarray) -> nn.Parameter: ...
@overload
def as_parameter(x: None) -> None: ...
def as_parameter(x: np.ndarray | None) -> nn.Parameter | None:
    """Return a copy of an array as something that learns; an absent bias stays absent."""
    return None if x is None else nn.Parameter(torch.from_numpy(np.array(x)))


def to_core(value: Any) -> Any:
    """Return core's counterpart of one field: an array, a dataclass or a tuple of them."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy().copy()
    if isinstance(value, nn.ModuleList):
        return tuple(to_core(layer) for layer in value)
    return value.to_core() if isinstance(value, Twin) else value
