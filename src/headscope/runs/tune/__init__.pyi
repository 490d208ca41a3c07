from .checkpoint import CheckpointScores as CheckpointScores, score_checkpoint as score_checkpoint
from .classifier import load_classifier as load_classifier, task_for as task_for
from .pooled.classifier import PooledClassifier as PooledClassifier
from .pooled.files import load_pooled as load_pooled
from .pooled.names import parse_pooling as parse_pooling, pooling_slug as pooling_slug
from .predictions import predict as predict
from .record import Tuned as Tuned, read_record as read_record
from .settings import (
    STARTS as STARTS,
    Precision as Precision,
    Start as Start,
    TuneSettings as TuneSettings,
)
from .several import tune_several as tune_several
from .tuning import tune as tune
