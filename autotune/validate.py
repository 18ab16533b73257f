"""A test of the user's own for what candidates compute, beside the comparison with the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# Takes the inputs and the outputs; what is wrong with these, or False; None or True if nothing is.
Validate = Callable[[Sequence[Array], Sequence[Array]], "bool | str | None"]


def rejection(validate: Validate, inputs: Sequence[Array], outputs: Sequence[Array]) -> str | None:
    """Why the user rejects outputs, in one line; None if they do not. An exception is a reason, too.

    Example:
        >>> total = lambda inputs, outputs: abs(outputs[0].sum() - 1) < 1e-6 or "does not sum to 1"
        >>> rejection(total, [], [np.array([0.5, 0.5])]), rejection(total, [], [np.array([0.5])])
        (None, 'does not sum to 1')
    """
    try:
        answer = validate(inputs, outputs)
    except (
        Exception
    ) as error:  # whatever the user's function raises speaks against the candidate, not against the run
        return f"validate raised {type(error).__name__}: {error}".splitlines()[0]
    if isinstance(answer, str):
        return answer.splitlines()[0] if answer else "validate returned an empty text"
    # NumPy's truth values are none of Python's.
    return None if answer is None or bool(answer) else "validate returned False"
