"""The same matrices as torch's ``nn.MultiheadAttention`` stores them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qkv.core.inputs import Array, as_torch_state, check_kind, check_torch_can_hold
from qkv.core.multi_head import MultiHeadParameters, stack_heads, unstack_heads

if TYPE_CHECKING:
    from jaxtyping import Float


def pack_in_proj(parameters: MultiHeadParameters) -> dict[str, Float[Array, " ..."]]:
    r"""Lay out the parameters as the state dict of torch's ``nn.MultiheadAttention``.

    .. math:: \texttt{in\_proj\_weight} = \begin{bmatrix} W_Q^\top \\ W_K^\top \\ W_V^\top
        \end{bmatrix}, \qquad \texttt{out\_proj.weight} = W_O^\top

    Every matrix is turned over, for ``nn.Linear`` stores (out, in). Where the memory has another
    width, torch keeps three separate matrices.

    Parameters
    ----------
    parameters : MultiHeadParameters
        torch can hold them if n_heads * d_k, n_heads * d_v, d_q and d_model are one number.

    Returns
    -------
    state : dict of arrays
        With torch's keys. If any bias is there, the absent ones are zeros, for torch has all or
        none.

    Raises
    ------
    ShapeError
        If torch's module cannot hold these shapes.

    References
    ----------
    PyTorch documentation, ``torch.nn.MultiheadAttention`` (2.13).

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> rng = np.random.default_rng(0)
    >>> W_Q, W_K, W_V = (rng.normal(size=(2, 6, 3)) for _ in range(3))
    >>> state = qkv.pack_in_proj(qkv.MultiHeadParameters(W_Q, W_K, W_V, np.eye(6)))
    >>> for name, array in state.items():
    ...     print(name, array.shape)
    in_proj_weight (18, 6)
    out_proj.weight (6, 6)
    """
    check_kind("parameters", parameters, MultiHeadParameters)
    p = check_torch_can_hold(parameters)
    W_Q, W_K, W_V = (stack_heads(W)[0].T for W in (p.W_Q, p.W_K, p.W_V))
    state = {"q_proj_weight": W_Q, "k_proj_weight": W_K, "v_proj_weight": W_V}
    if p.d_kv == p.d_q:
        state = {"in_proj_weight": np.concatenate([W_Q, W_K, W_V])}
    state["out_proj.weight"] = p.W_O.T.copy()
    if any(b is not None for b in (p.b_Q, p.b_K, p.b_V, p.b_O)):
        zeros = np.zeros(p.d_model, p.W_O.dtype)
        biases = [zeros if b is None else b.reshape(-1) for b in (p.b_Q, p.b_K, p.b_V, p.b_O)]
        state["in_proj_bias"] = np.concatenate(biases[:3])
        state["out_proj.bias"] = biases[3].copy()
    return state


def unpack_in_proj(state: Mapping[str, Any], n_heads: int) -> MultiHeadParameters:
    r"""Read the state dict of torch's ``nn.MultiheadAttention`` as one matrix a head.

    .. math:: W_Q^{(i)} = \texttt{in\_proj\_weight}_{\,i d_k : (i+1) d_k,\; :}^\top

    Parameters
    ----------
    state : mapping from name to array
        ``module.state_dict()``, packed or with separate matrices, on the CPU.
    n_heads : int
        Which the state does not say.

    Returns
    -------
    parameters : MultiHeadParameters

    Raises
    ------
    ShapeError
        If the matrices are not those of one module, or kdim and vdim differ, for then keys and
        values have two sources.
    ValueError
        If the state lacks an entry, or has ``bias_k`` and ``bias_v``.

    References
    ----------
    PyTorch documentation, ``torch.nn.MultiheadAttention`` (2.13).

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> state = {"in_proj_weight": np.arange(108.0).reshape(18, 6), "out_proj.weight": np.eye(6)}
    >>> parameters = qkv.unpack_in_proj(state, n_heads=2)
    >>> print(parameters.W_K.shape, parameters.W_K[0, :, 0])
    (2, 6, 3) [36. 37. 38. 39. 40. 41.]
    """
    W_Q, W_K, W_V, W_O, in_bias, b_O = as_torch_state(state)
    W_Q, W_K, W_V = (unstack_heads(W.T, n_heads) for W in (W_Q, W_K, W_V))
    if in_bias is None:
        return MultiHeadParameters(W_Q, W_K, W_V, W_O.T)
    b_Q, b_K, b_V = (b.reshape(n_heads, -1) for b in np.split(in_bias, 3))
    return MultiHeadParameters(W_Q, W_K, W_V, W_O.T, b_Q, b_K, b_V, b_O)
