from .alignment import Alignment as Alignment
from .base import Context as Context, Measure as Measure, Together as Together
from .change import Change as Change, Difference as Difference
from .confidence import Confidence as Confidence
from .coreference import Coreference as Coreference
from .dependency import Dependency as Dependency
from .distance import (
    Distance as Distance,
    exact_divergence as exact_divergence,
    fast_divergence as fast_divergence,
)
from .entropy import Entropy as Entropy, row_entropy as row_entropy
from .feature import Feature as Feature
from .frame import Frame as Frame
from .gradient import Gradient as Gradient
from .kinds import (
    Columns as Columns,
    Dense as Dense,
    Diagonals as Diagonals,
    Groups as Groups,
    Pairs as Pairs,
    Relation as Relation,
    Weighted as Weighted,
    bias_weights as bias_weights,
    mass_weights as mass_weights,
)
from .link import Link as Link
from .logit_attribution import LogitAttribution as LogitAttribution
from .patterns.measure import Pattern as Pattern
from .peak import Peak as Peak
from .position import Position as Position
from .profile import Arc as Arc, ArcOffset as ArcOffset, Profile as Profile
from .reach import Reach as Reach
from .registry import (
    MEASURES as MEASURES,
    choose as choose,
    load_measure_file as load_measure_file,
    offered_measures as offered_measures,
)
from .relation import Linear as Linear
from .repetition import Repetition as Repetition
from .role import Role as Role
from .row_mean import RowMean as RowMean
from .sieves.base import (
    SIEVES as SIEVES,
    Sieve as Sieve,
    known_sieves as known_sieves,
    load_sieves as load_sieves,
    sieve as sieve,
)
from .sink import Sink as Sink, SinkPlaces as SinkPlaces
from .special import Special as Special
from .spread import Spread as Spread
from .streaming import Streaming as Streaming
from .strongest import Strongest as Strongest
from .sums import Kept as Kept, Sums as Sums
from .words import WordMap as WordMap, WordMeasure as WordMeasure, word_map as word_map
from .work import Activity as Activity, Work as Work
