"""The library, with the types of its functions."""
import ctypes
import os

from . import _abi

LIBRARY = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libipt.so"))
for _name, (_result, _arguments) in _abi.FUNCTIONS.items():
    _function = getattr(LIBRARY, _name)
    _function.restype = _result
    _function.argtypes = _arguments
