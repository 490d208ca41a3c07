import functools

from .arcs import Arc as Arc, ArcOffset as ArcOffset, Profile as Profile
from .attention import (
    Alignment as Alignment,
    Entropy as Entropy,
    Gate as Gate,
    OutputNorm as OutputNorm,
    Peak as Peak,
    Position as Position,
    Special as Special,
    Streaming as Streaming,
    row_entropy as row_entropy,
)
from .base import Context as Context, Measure as Measure, Together as Together
from .combinators import (
    ColumnMean as ColumnMean,
    Linear as Linear,
    RowMean as RowMean,
    Strongest as Strongest,
)
from .coreference import Coreference as Coreference
from .dependency import Dependency as Dependency
from .distance import (
    Change as Change,
    Difference as Difference,
    Distance as Distance,
    exact_divergence as exact_divergence,
    fast_divergence as fast_divergence,
)
from .gradients import Gradient as Gradient, LogitAttribution as LogitAttribution
from .grammar import Feature as Feature, Frame as Frame, Link as Link
from .patterns import Pattern as Pattern
from .plain import measured as measured
from .registry import (
    MEASURES as MEASURES,
    choose as choose,
    load_measure_file as load_measure_file,
    offered_measures as offered_measures,
)
from .relations import (
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
from .sieves import (
    SIEVES as SIEVES,
    Sieve as Sieve,
    known_sieves as known_sieves,
    load_sieves as load_sieves,
    sieve as sieve,
)
from .sums import Kept as Kept, Sums as Sums
from .tokens import (
    Confidence as Confidence,
    Lookback as Lookback,
    Reach as Reach,
    Receiver as Receiver,
    Repetition as Repetition,
    Sink as Sink,
    SinkPlaces as SinkPlaces,
)
from .words import WordMap as WordMap, WordMeasure as WordMeasure, word_map as word_map
from .work import Activity as Activity, Role as Role, Spread as Spread, Work as Work

# By tools/derive.py: measures as functions of plain maps.
position = functools.partial(measured, "position")
special = functools.partial(measured, "special")
entropy = functools.partial(measured, "entropy")
peak = functools.partial(measured, "peak")
streaming = functools.partial(measured, "streaming")
alignment = functools.partial(measured, "alignment")
role = functools.partial(measured, "role")
activity = functools.partial(measured, "activity")
work = functools.partial(measured, "work")
spread = functools.partial(measured, "spread")
repetition = functools.partial(measured, "repetition")
sink = functools.partial(measured, "sink")
sink_places = functools.partial(measured, "sink_places")
reach = functools.partial(measured, "reach")
confidence = functools.partial(measured, "confidence")
receiver = functools.partial(measured, "receiver")
profile = functools.partial(measured, "profile")
pattern = functools.partial(measured, "pattern")
