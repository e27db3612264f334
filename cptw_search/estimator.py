"""scikit-learn's manners without importing scikit-learn: it takes longer to import than all of this package."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from cptw_search.errors import NotFittedError, check_choice

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Estimator"]


class Estimator:
    """Parameters that can be listed, set and printed.

    A subclass stores each argument of its constructor under the argument's name and computes nothing there.
    """

    @classmethod
    def _parameter_defaults(cls) -> dict[str, object]:
        return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the constructor's parameters.

        Parameters
        ----------
        deep : bool, default True
            Ignored; there are no nested estimators.

        Returns
        -------
        dict
            Names to values.
        """
        return {name: getattr(self, name) for name in self._parameter_defaults()}

    def set_params(self, **params: object) -> Self:
        """Set parameters; they take effect with the next ``fit``.

        Parameters
        ----------
        **params : object
            Names to values.

        Returns
        -------
        Estimator
            Itself.

        Raises
        ------
        UnknownNameError
            If there is no such parameter.
        """
        for name, value in params.items():
            check_choice("parameter", name, self._parameter_defaults())
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted_with")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} must be fitted before it is used. It is not: call fit with some texts first."
            )

    def __repr__(self) -> str:
        defaults = self._parameter_defaults()
        changed = (f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k] and v != defaults[k])
        return f"{type(self).__name__}({', '.join(changed)})"
