"""What a wrong argument is answered with: one sentence, before any arithmetic.

A wrong shape raises `ShapeError`; anything else that is wrong with an argument raises
`ValueError`, its parent. So ``except ValueError`` catches both.
"""


class ShapeError(ValueError):
    """An array has the wrong shape; the message names the axis, the sizes and the likely slip.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> qkv.dot_product_scores(np.ones((2, 3)), np.ones((3, 5)))
    Traceback (most recent call last):
        ...
    qkv.core.errors.ShapeError: k must have d_k=3 columns as q has, got 5: \
q is (2, 3), k is (3, 5); it looks transposed
    """
