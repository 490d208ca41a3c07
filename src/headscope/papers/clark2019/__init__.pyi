from . import parse as parse
from .recipe import Clark2019 as Clark2019
