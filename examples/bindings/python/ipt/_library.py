"""The library, with the types of its functions."""
import ctypes
import os

from . import _abi

try:
    LIBRARY = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libipt.so"))
except OSError as _error:
    raise ImportError("%s (the library is in the wheel: install it, and start "
                      "Python in another folder than the source's)"
                      % _error) from None
for _name, (_result, _arguments) in _abi.FUNCTIONS.items():
    _function = getattr(LIBRARY, _name)
    _function.restype = _result
    _function.argtypes = _arguments
