"""The library that the package loads by ctypes is built and put beside it. It
is none of Python's modules: the wheel is for any Python 3 of this platform."""
import os

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class Library(build_ext):
    def get_ext_filename(self, name):
        return name.replace(".", os.sep) + ".so"

    def get_export_symbols(self, extension):
        return extension.export_symbols


class Wheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none") + super().get_tag()[2:]


class Source(sdist):
    """The headers are links into the source of ipt: here they become files."""

    def copy_file(self, source, to, *rest, link=None, **more):
        return super().copy_file(os.path.realpath(source), to, *rest, **more)


setup(
    ext_modules=[Extension(
        "ipt.libipt", ["c/library.c", "c/perfdata.c"], include_dirs=["c"],
        depends=["c/ipt.h", "c/ipt_impl.h", "c/perfdata.h"],
        extra_compile_args=["-std=c99", "-O2", "-g0"])],
    cmdclass={"build_ext": Library, "bdist_wheel": Wheel, "sdist": Source})
