from .catalogue import PAPERS as PAPERS, Paper as Paper
from .clark2019 import Clark2019 as Clark2019
from .jo2020 import Jo2020 as Jo2020
from .kovaleva2019 import Kovaleva2019 as Kovaleva2019
from .pande2021 import Pande2021 as Pande2021
from .portrait import Portrait as Portrait, portrait as portrait
from .recipe import Recipe as Recipe
from .report import PaperReport as PaperReport
