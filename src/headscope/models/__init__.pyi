from .observe import Watch as Watch, watching as watching
from .attach import NAME as NAME
from .loading import ModelLike as ModelLike, as_model as as_model, using_model as using_model
from .loading import load as load, wrap as wrap
from .model import Model as Model
from .names import check_model_name as check_model_name, model_label as model_label
from .pooling import POSITIONS as POSITIONS, Pooling as Pooling
from .replace import Replacement as Replacement
from .shape import Shape as Shape
from .vectors import take as take
from .observe import (
    LayerView as LayerView,
    Listener as Listener,
    OutputListener as OutputListener,
    RowListener as RowListener,
)
