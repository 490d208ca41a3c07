"""Valid files of every format, which the fuzzers change."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import numpy as np

ROW = "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t_\t{}"
TREE = "\n".join(
    [
        "# newdoc id = d1",
        "# global.Entity = eid-etype-head-other",
        "# sent_id = s1",
        "# text = Dogs don't bark",
        ROW.format(1, "Dogs", "dog", "NOUN", "NNS", "Number=Plur", 4, "nsubj", "Entity=(e1-x-1-_)"),
        ROW.format("2-3", "don't", "_", "_", "_", "_", "_", "_", "_"),
        ROW.format(2, "do", "do", "AUX", "VBP", "_", 4, "aux", "_"),
        ROW.format(3, "n't", "not", "PART", "RB", "_", 4, "advmod", "SpaceAfter=No|Entity=(e2-y-1"),
        ROW.format("3.1", "_", "_", "_", "_", "_", "_", "_", "Entity=(e1[1/2])"),
        ROW.format(4, "bark", "bark", "VERB", "VBP", "_", 0, "root", "Entity=e2)"),
        "",
        "# sent_id = s2",
        ROW.format(1, "They", "they", "PRON", "PRP", "_", 2, "nsubj", "Entity=(e1)"),
        ROW.format(2, "sleep", "sleep", "VERB", "VBP", "_", 0, "root", "_"),
        "",
    ]
)
PART = "d 0 {} {} {} * - - - - * {}"
CONLL2012 = "\n".join(
    [
        "#begin document (bc/cctv/00); part 000",
        PART.format(0, "Ann", "NNP", "(1)"),
        PART.format(1, "saw", "VBD", "-"),
        PART.format(2, "her", "PRP$", "(2|(1)"),
        PART.format(3, "dog", "NN", "2)"),
        "",
        PART.format(0, "It", "PRP", "(2)"),
        "",
        "#end document",
        "",
    ]
)
COREF = {
    "doc": "d1",
    "sentences": [["Ann", "saw", "a", "dog"], ["It", "barked"]],
    "mentions": [
        {"sent": 0, "start": 2, "end": 3, "head": 3, "cluster": "1", "type": "nominal"},
        {"sent": 1, "start": 0, "end": 0, "head": 0, "cluster": 1},
    ],
}
FRAME = {
    "id": "7",
    "sentence": "He was becoming agitated .",
    "target": [16, 24],
    "target_text": "agitated",
    "links": [{"start": 0, "end": 2, "fe": "Experiencer", "text": "He"}],
    "frame": "Emotion_directed",
}
TEXT = "One dog barks.\nIt is loud.\n\nTwo cats sleep.\n\nThree “birds” sing — café.\n"
BRACKETS = (
    "( (S (NP-SBJ (NNP Ann) (-NONE- *T*-1)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .)) )\n"
    "(ROOT (FRAG (-LRB- -LRB-) (NN dog\\/cat) (-RRB- -RRB-)))\n"
)
SENTEVAL = "tr\tPAST\tIt barked .\ntr\tPRES\tIt barks .\nva\tPAST\tIt sat .\nte\tPRES\tIt sits .\n"
RTE = (
    "index\tsentence1\tsentence2\tlabel\n0\tDogs bark .\tA dog .\tentailment\n"
    "1\tCats .\tDogs .\tnot_entailment\n"
)
JSON = (
    '{"a": "Who?", "b": "Me.", "label": 1, "group": "d1"}\n'
    '{"a": "caf\\u00e9", "b": "\\ud83d\\ude00", "label": 0.5, "group": null}\n'
)


def lines_of(*values: object) -> bytes:
    """Values as JSON lines."""
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def archive(**files: bytes) -> bytes:
    """A gzipped tar of files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(f"gum/{name}.conllu")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def matrix() -> bytes:
    """An ``.npy`` file of two vectors."""
    file = io.BytesIO()
    np.save(file, np.arange(6, dtype=np.float32).reshape(2, 3))
    return file.getvalue()


def packed(data: bytes) -> bytes:
    """The same bytes gzipped, always the same way."""
    return gzip.compress(data, mtime=0)


TABLE = b"sentence1\tsentence2\tlabel\nDogs bark.\tA dog.\t1\nCats.\tDogs.\t0\n"
CLASSES = b"text\tlabel\nDogs bark.\tyes\nCats.\tno\nDogs.\tyes\nBirds.\tno\n"
SCORES = b"text\tlabel\nDogs bark.\t0.5\nCats.\t-1e-3\n"
CSV = b'text,label,group\n"Fine, ""really"".",1,d1\n"two\nlines",0,d2\n'
VECTORS = b"3 2\ndog 0.5 -1e-3\ncat 1 2\n. . . 3 4\n"
