from . import (
    cli as cli,
    corpus as corpus,
    encode as encode,
    errors as errors,
    figures as figures,
    files as files,
    heads as heads,
    labelling as labelling,
    labels as labels,
    limits as limits,
    measures as measures,
    models as models,
    numbers as numbers,
    page as page,
    papers as papers,
    progress as progress,
    registry as registry,
    results as results,
    runs as runs,
    sentences as sentences,
    stats as stats,
    tasks as tasks,
)
from .corpus import Corpus as Corpus, Example as Example, read as read
from .errors import UserError as UserError
from .figures import figure as figure
from .heads import Head as Head
from .measures import (
    Activity as Activity,
    Confidence as Confidence,
    Coreference as Coreference,
    Dependency as Dependency,
    Distance as Distance,
    Entropy as Entropy,
    Feature as Feature,
    Frame as Frame,
    Gradient as Gradient,
    Linear as Linear,
    Link as Link,
    LogitAttribution as LogitAttribution,
    Measure as Measure,
    Pattern as Pattern,
    Peak as Peak,
    Position as Position,
    Reach as Reach,
    Receiver as Receiver,
    Repetition as Repetition,
    Role as Role,
    Sink as Sink,
    SinkPlaces as SinkPlaces,
    Special as Special,
    Spread as Spread,
    Streaming as Streaming,
    Work as Work,
    sieve as sieve,
)
from .models import (
    LayerView as LayerView,
    Model as Model,
    Pooling as Pooling,
    Replacement as Replacement,
    load as load,
    wrap as wrap,
)
from .page.explorer import explore as explore
from .page.show import show as show
from .papers.portrait import portrait as portrait
from .results import Atlas as Atlas, TextAttention as TextAttention, merge as merge, open as open
from .runs.ablate import ablate as ablate, group_losses as group_losses
from .runs.ablate.cache import cache as cache
from .runs.ablate.prune import prune as prune
from .runs.looking import (
    attention as attention,
    check as check,
    circuits as circuits,
    examples as examples,
    logit_parts as logit_parts,
    stream as stream,
)
from .runs.probe import probe as probe
from .runs.retrieval import Needle as Needle, retrieval as retrieval
from .runs.survey import compare as compare, survey as survey, track as track
from .runs.synthetic import synthetic as synthetic
from .runs.tune import tune as tune

__version__: str
