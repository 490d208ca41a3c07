from .probing import probe as probe
