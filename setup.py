"""Two packages: byheart, and the independent checker, installed beside it as byheart_checker."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["byheart", "byheart.*"]), "byheart_checker"],
    package_dir={"byheart_checker": "checker"},
)
