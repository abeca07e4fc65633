"""The derivative table, one module for each kind of operator."""

from deltic.calculus.derivatives.table import DERIVATIVES, Derivative, NodeViews, Rule, derivative_of
from deltic.discovery import import_files

import_files(__name__, __path__)
