from .catalogue import PAPERS as PAPERS, Paper as Paper, Part as Part, find_paper as find_paper
from .clark2019 import Clark2019Options as Clark2019Options
from .clark2019.recipe import Clark2019 as Clark2019
from .jo2020 import Jo2020Options as Jo2020Options
from .jo2020.recipe import Jo2020 as Jo2020
from .kovaleva2019 import Kovaleva2019Options as Kovaleva2019Options
from .kovaleva2019.recipe import Kovaleva2019 as Kovaleva2019
from .pande2021 import Pande2021Options as Pande2021Options
from .pande2021.recipe import Pande2021 as Pande2021
from .portrait import PortraitOptions as PortraitOptions, portrait as portrait
from .recipe import Recipe as Recipe
from .report import PaperReport as PaperReport
