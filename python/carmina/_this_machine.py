"""What the library found of the machine it runs on."""

from typing import Any

from carmina import _core


def describe_machine() -> dict[str, Any]:
    """What the library found of the machine it runs on; measures for a few milliseconds.

    Returns
    -------
    dict
        `processor`, as the system calls it; `instructions` of the library's own loops;
        `threads` of a fit that is given no `n_jobs`;
        `quota`, the processors' time that a container leaves (infinite where it leaves all);
        `float_products` and `double_products`, the rate of products of matrices in one thread in 10⁹
        operations a second, beside `float_limit` and `double_limit`, the most that the instructions give.

    Examples
    --------
    >>> import carmina
    >>> carmina.describe_machine()["threads"] >= 1
    True
    """
    return _core.describe_machine()
