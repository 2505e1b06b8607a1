"""The coefficients in the table are those that the script derives."""

import numpy as np
import pytest

from tilewright.tools.fit_math import (
    FITS,
    PARTS,
    QUOTIENTS,
    TWO_OVER_PI_BITS,
    Fit,
    Quotient,
    fitted,
    fitted_quotient,
    two_over_pi,
)
from tilewright.xir.vector_math import polynomials

ROUNDED = frozenset({"ERF_F64", "ERFC_F64", "ERFC_FAR_F64"})
"""Fits of what the system's `expl` and `logl` give, whose last digit is not the same everywhere."""
LIBRARY, EXACT = ([fit for fit in FITS if (fit.name in ROUNDED) is rounded] for rounded in (True, False))


@pytest.mark.parametrize("fit", EXACT, ids=lambda fit: fit.name)
def test_the_table_holds_what_the_fit_gives(fit: Fit):
    """Machines without extended precision reproduce the first digits only."""
    tolerance = 0 if np.finfo(np.longdouble).nmant > 52 else 1e-4
    np.testing.assert_allclose(getattr(polynomials, fit.name), fitted(fit), rtol=tolerance)


@pytest.mark.parametrize("fit", LIBRARY, ids=lambda fit: fit.name)
def test_the_table_has_the_values_of_the_fit(fit: Fit):
    """Coefficients that follow roundings of a library differ; the values of the polynomial, weighted as in the fit, do
    not.
    """
    x = np.linspace(fit.low, fit.high, 1000).astype(np.longdouble)
    table, found = (np.polynomial.Polynomial(each)(x) for each in (getattr(polynomials, fit.name), fitted(fit)))
    assert (fit.weight(x) * np.abs(table - found)).max() <= np.finfo(np.float64).eps


@pytest.mark.parametrize("fit", QUOTIENTS, ids=lambda fit: fit.name)
def test_the_table_holds_the_quotients(fit: Quotient):
    tolerance = 0 if np.finfo(np.longdouble).nmant > 52 else 1e-4
    above, below = fitted_quotient(fit)
    np.testing.assert_allclose(getattr(polynomials, fit.name), above, rtol=tolerance)
    np.testing.assert_allclose(getattr(polynomials, f"{fit.name}_BELOW"), below, rtol=tolerance)


def test_constants_are_the_digits_of_ln2_and_pi():
    assert two_over_pi(TWO_OVER_PI_BITS) == polynomials.TWO_OVER_PI
    for name, value in PARTS.items():
        assert getattr(polynomials, name) == value
    assert sum(polynomials.LN2_F64) == np.log(2)
    assert sum(polynomials.HALF_PI_F64) == np.pi / 2
